import { isIPv4 } from "node:net";
import { itemsAt, type JsonObject, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import { formProblems } from "../objects/names.ts";
import { forbiddenField, invalidValue, type Problem, required, unsupportedValue } from "../requests/problems.ts";
import { addressProblems, isAddress } from "./addresses.ts";
import { nodePorts } from "./service-spec.ts";
import { duplicateValue, portProblems, protocols } from "./value-problems.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];

/** Problems of a service's spec; `before` is empty for a new one. */
export function serviceProblems(spec: JsonObject, before: JsonObject): readonly Problem[] {
  // As on the real server, the other checks run only once the required fields are present.
  const outside = rangeProblems(spec, before);
  const refused = outside.length > 0 ? outside : nodePortProblems(spec);
  if (refused.length > 0) return refused;
  const [type, affinity] = [textAt(spec, "type"), textAt(spec, "sessionAffinity")];
  const ports = itemsAt(spec, "ports");
  const open = ports.length === 0 && type !== "ExternalName" && textAt(spec, "clusterIP") !== "None";
  return [
    ...(open ? [required("spec.ports")] : []),
    ...addressingProblems(spec, before),
    ...ports.flatMap((port, i) => servicePortProblems(port, ports, i)),
    ...(affinities.includes(affinity) ? [] : [unsupportedValue("spec.sessionAffinity", affinity, affinities)]),
    ...(types.includes(type) ? [] : [unsupportedValue("spec.type", type, types)]),
    ...(type === "ExternalName" ? externalNameProblems(textAt(spec, "externalName")) : []),
    ...(type === "ClusterIP" ? ports.flatMap(unusedPortProblems) : []),
  ];
}

function addressingProblems(spec: JsonObject, before: JsonObject): readonly Problem[] {
  const [was, is, type] = [textAt(before, "clusterIP"), textAt(spec, "clusterIP"), textAt(spec, "type")];
  if (type === "ExternalName") {
    return is === "" ? [] : [forbiddenField("spec.clusterIPs", "may not be set for ExternalName services")];
  }
  const at = "spec.clusterIPs[0]";
  if (was !== "" && is !== was) return [invalidValue(at, [is], "may not change once set")];
  if (is !== "None") return is === "" ? [] : addressProblems(at, is);
  const outside = type === "NodePort" || type === "LoadBalancer";
  return outside ? [invalidValue(at, is, `may not be set to 'None' for ${type} services`)] : [];
}

/**
 * The problems of a new cluster IP: it must be in 10.96.0.0/12, and neither the first nor the last address of that
 * range.
 */
function rangeProblems(spec: JsonObject, before: JsonObject): readonly Problem[] {
  const ip = textAt(spec, "clusterIP");
  if (!isAddress(ip) || textAt(before, "clusterIP") !== "" || textAt(spec, "type") === "ExternalName") return [];
  if (!isIPv4(ip)) return [invalidValue("spec.clusterIPs[0]", [ip], "IPv6 is not configured on this cluster")];
  const [a = 0, b = 0] = ip.split(".").map(Number);
  const within = a === 10 && b >= 96 && b < 112 && ip !== "10.96.0.0" && ip !== "10.111.255.255";
  const why = `failed to allocate IP ${ip}: the provided network does not match the current range`;
  return within ? [] : [invalidValue("spec.clusterIPs", [ip], why)];
}

function nodePortProblems(spec: JsonObject): readonly Problem[] {
  if (!["NodePort", "LoadBalancer"].includes(textAt(spec, "type"))) return [];
  const { first, last } = nodePorts;
  const ports = itemsAt(spec, "ports");
  return ports.flatMap((port, i): readonly Problem[] => {
    const [number, field] = [numberAt(port, "nodePort") ?? 0, `spec.ports[${i}].nodePort`];
    if (number === 0) return [];
    if (number < first || number > last) {
      const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
      return [invalidValue(field, number, why)];
    }
    return ports.slice(0, i).some((other) => listensAlike(port, other))
      ? [invalidValue(field, number, "provided port is already allocated")]
      : [];
  });
}

/**
 * Whether two ports collide on one node port. Different protocols may share it only if they have the same service port.
 */
function listensAlike(one: JsonValue, other: JsonValue): boolean {
  const same = (name: string): boolean => valueAt(one, name) === valueAt(other, name);
  return same("nodePort") && (same("protocol") || !same("port"));
}

function servicePortProblems(port: JsonValue, ports: readonly JsonValue[], i: number): readonly Problem[] {
  const at = `spec.ports[${i}]`;
  const [name, protocol, target] = [textAt(port, "name"), textAt(port, "protocol"), valueAt(port, "targetPort")];
  const earlier = ports.slice(0, i);
  const named = earlier.some((other) => textAt(other, "name") === name);
  const twice = earlier.some(
    (other) => textAt(other, "protocol") === protocol && numberAt(other, "port") === numberAt(port, "port"),
  );
  return [
    ...(name === "" && ports.length > 1 ? [required(`${at}.name`)] : []),
    ...(name === "" ? [] : formProblems(`${at}.name`, name, "label")),
    ...(name !== "" && named ? [duplicateValue(`${at}.name`, name)] : []),
    ...portProblems(`${at}.port`, valueAt(port, "port")),
    ...(protocols.includes(protocol) ? [] : [unsupportedValue(`${at}.protocol`, protocol, protocols)]),
    ...(typeof target === "number" ? portProblems(`${at}.targetPort`, target) : []),
    ...(twice ? [duplicateValue(at, { Protocol: protocol, Port: valueAt(port, "port") ?? 0 })] : []),
  ];
}

const unusedPortProblems = (port: JsonValue, i: number): readonly Problem[] =>
  (numberAt(port, "nodePort") ?? 0) === 0
    ? []
    : [forbiddenField(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'")];

const externalNameProblems = (name: string): readonly Problem[] =>
  name === ""
    ? [required("spec.externalName")]
    : formProblems("spec.externalName", name.replace(/\.$/, ""), "subdomain");
