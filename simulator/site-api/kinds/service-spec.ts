import {
  isJsonObject,
  isSameJson,
  itemsAt,
  type JsonObject,
  type JsonValue,
  numberAt,
  textAt,
  valueAt,
} from "../../../agent/api/json.ts";

/** The range of node ports. */
export const nodePorts = { first: 30_000, last: 32_767 };
const defaultAffinitySeconds = 10_800;

/** Whether a service with this spec has a cluster IP. */
const hasClusterIp = (spec: JsonObject): boolean => textAt(spec, "type") !== "ExternalName";

/** Whether a service with this spec has node ports. */
const hasNodePorts = (spec: JsonObject): boolean =>
  textAt(spec, "type") === "NodePort" ||
  (textAt(spec, "type") === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);

const isExternal = (spec: JsonObject): boolean =>
  ["NodePort", "LoadBalancer"].includes(textAt(spec, "type")) ||
  (hasClusterIp(spec) && itemsAt(spec, "externalIPs").length > 0);

/** The spec to store. `revision` must be one that no other service has used for an address or port. */
export function serviceSpec(sent: JsonObject, before: JsonObject, revision: number): JsonObject {
  const typed = { ...sent, type: textAt(sent, "type") || "ClusterIP" };
  const spec: JsonObject = { sessionAffinity: "None", ...outgrown(typed, before) };
  const given = textAt(spec, "clusterIP") || (hasClusterIp(spec) ? textAt(before, "clusterIP") : "");
  const clusterIP = given === "" && hasClusterIp(spec) ? clusterIpOf(revision) : given;
  const ports = itemsAt(spec, "ports").map((port) =>
    isJsonObject(port) ? { protocol: "TCP", ...port, targetPort: port.targetPort || (port.port ?? 0) } : port,
  );
  const listening = hasNodePorts(spec) ? withNodePorts(ports, itemsAt(before, "ports"), revision) : ports;
  return {
    ...spec,
    ...(listening.length > 0 && { ports: listening }),
    ...(textAt(spec, "type") === "LoadBalancer" && {
      allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true,
    }),
    ...(isExternal(spec) && { externalTrafficPolicy: spec.externalTrafficPolicy ?? "Cluster" }),
    ...(textAt(spec, "sessionAffinity") === "ClientIP" && {
      sessionAffinityConfig: {
        clientIP: { timeoutSeconds: defaultAffinitySeconds, ...clientIpOf(spec) },
      },
    }),
    ...(clusterIP !== "" && {
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: spec.ipFamilies ?? ["IPv4"],
      ipFamilyPolicy: spec.ipFamilyPolicy ?? "SingleStack",
      internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster",
    }),
  };
}

function clientIpOf(spec: JsonObject): JsonObject {
  const found = valueAt(spec, "sessionAffinityConfig", "clientIP");
  return isJsonObject(found) ? found : {};
}

/** Drops values that the previous type required, unless they apply to the new type or the client changed them. */
function outgrown(spec: JsonObject, before: JsonObject): JsonObject {
  const kept = (name: string): boolean => isSameJson(spec[name], before[name]);
  const addressed = hasClusterIp(before) && !hasClusterIp(spec) && kept("clusterIP");
  const external = isExternal(before) && !isExternal(spec) && kept("externalTrafficPolicy");
  const balanced = textAt(before, "type") === "LoadBalancer" && textAt(spec, "type") !== "LoadBalancer";
  const gone = [
    ...(addressed ? ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] : []),
    ...(external ? ["externalTrafficPolicy"] : []),
    ...(balanced && kept("allocateLoadBalancerNodePorts") ? ["allocateLoadBalancerNodePorts"] : []),
  ];
  const rest = Object.fromEntries(Object.entries(spec).filter(([name]) => !gone.includes(name)));
  const [was, is] = [itemsAt(before, "ports"), itemsAt(spec, "ports")];
  const silent = hasNodePorts(before) && !hasNodePorts(spec) && isSameJson(was.map(nodePortOf), is.map(nodePortOf));
  return silent ? { ...rest, ports: is.map(withoutNodePort) } : rest;
}

const nodePortOf = (port: JsonValue): number => numberAt(port, "nodePort") ?? 0;

function withoutNodePort(port: JsonValue): JsonValue {
  if (!isJsonObject(port)) return port;
  const { nodePort: _, ...rest } = port;
  return rest;
}

/** An address in 10.96.0.0/12 that no other service of this site has had, because revisions are never reused. */
function clusterIpOf(revision: number): string {
  const offset = 2 + (revision % (2 ** 20 - 3));
  return `10.${96 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`;
}

/**
 * The ports with their node ports: a port's own, the previous one of the port with that name, that of the same port
 * with another protocol, or a new one.
 */
function withNodePorts(
  ports: readonly JsonValue[],
  before: readonly JsonValue[],
  revision: number,
): readonly JsonValue[] {
  const kept = withEarlierPorts(ports, before);
  const settled = kept.filter((port) => nodePortOf(port) !== 0);
  const byPort = new Map(settled.map((port) => [numberAt(port, "port"), nodePortOf(port)]));
  const taken = new Set(settled.map(nodePortOf));
  return kept.map((port) => {
    if (!isJsonObject(port) || nodePortOf(port) !== 0) return port;
    const nodePort = byPort.get(numberAt(port, "port")) ?? freePort(revision, taken);
    taken.add(nodePort);
    byPort.set(numberAt(port, "port"), nodePort);
    return { ...port, nodePort };
  });
}

/** Ports without a given node port keep their previous one, unless another port takes it. */
function withEarlierPorts(ports: readonly JsonValue[], before: readonly JsonValue[]): readonly JsonValue[] {
  const known = new Map(before.map((port) => [textAt(port, "name"), nodePortOf(port)]));
  const given = new Set(ports.map(nodePortOf));
  return ports.map((port) => {
    const nodePort = known.get(textAt(port, "name")) ?? 0;
    const open = isJsonObject(port) && nodePortOf(port) === 0 && nodePort !== 0 && !given.has(nodePort);
    return open ? { ...port, nodePort } : port;
  });
}

/** A free node port. Searches for successive revisions start far apart, so that their ports differ. */
function freePort(revision: number, taken: ReadonlySet<number>): number {
  const count = nodePorts.last - nodePorts.first + 1;
  const begin = (revision * 911) % count;
  for (let i = 0; i < count; i++) {
    const port = nodePorts.first + ((begin + i) % count);
    if (!taken.has(port)) return port;
  }
  return nodePorts.first;
}
