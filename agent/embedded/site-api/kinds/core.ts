import { isJsonObject, itemsAt, type JsonObject, textAt, valueAt } from "../../../api/json.ts";
import { invalidValue, type Problem, required, unsupportedValue } from "../problems.ts";
import type { Rules } from "../served-kind.ts";
import { objectAt } from "./pods.ts";

/** As the TaintNodesByCondition admission does: nothing is scheduled there before somebody has judged the board. */
const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export const nodeRules: Rules = {
  created: (node) => {
    const spec = objectAt(node, "spec");
    const taints = itemsAt(spec, "taints");
    const tainted = taints.some(
      (taint) => textAt(taint, "key") === notReady.key && textAt(taint, "effect") === notReady.effect,
    );
    return {
      ...node,
      spec: tainted ? spec : { ...spec, taints: [...taints, notReady] },
      status: objectAt(node, "status"),
    };
  },
  updated: (node) => ({ ...node, spec: objectAt(node, "spec") }),
  problems: (node) =>
    itemsAt(node, "spec", "taints").flatMap((taint, i): readonly Problem[] => {
      // The real server names the field so.
      const at = `metadata.taints[${i}]`;
      if (textAt(taint, "key") === "") return [required(`${at}.key`)];
      const effect = textAt(taint, "effect");
      if (effect === "") return [required(`${at}.effect`)];
      return taintEffects.includes(effect) ? [] : [unsupportedValue(`${at}.effect`, effect, taintEffects)];
    }),
};

export const namespaceRules: Rules = {
  created: (namespace) => ({
    ...namespace,
    metadata: {
      ...namespace.metadata,
      labels: { ...objectAt(namespace.metadata, "labels"), "kubernetes.io/metadata.name": namespace.metadata.name },
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  }),
  updated: (namespace) => ({
    ...namespace,
    metadata: {
      ...namespace.metadata,
      labels: { ...objectAt(namespace.metadata, "labels"), "kubernetes.io/metadata.name": namespace.metadata.name },
    },
  }),
};

export const serviceRules: Rules = {
  created: (service, { revision }) => {
    const spec = objectAt(service, "spec");
    const clusterIP = textAt(spec, "type") === "ExternalName" ? "" : textAt(spec, "clusterIP") || clusterIpOf(revision);
    return { ...service, spec: serviceSpec(spec, clusterIP), status: { loadBalancer: {} } };
  },
  updated: (service, before) => {
    const spec = objectAt(service, "spec");
    return { ...service, spec: serviceSpec(spec, textAt(spec, "clusterIP") || textAt(before, "spec", "clusterIP")) };
  },
  problems: (service, before) => {
    const was = textAt(before, "spec", "clusterIP");
    const is = textAt(service, "spec", "clusterIP");
    const moved = was !== "" && is !== was && textAt(service, "spec", "type") !== "ExternalName";
    const ports = itemsAt(service, "spec", "ports").flatMap((port, i): readonly Problem[] => {
      const number = valueAt(port, "port");
      const fits = typeof number === "number" && Number.isInteger(number) && number > 0 && number < 65_536;
      return fits ? [] : [invalidValue(`spec.ports[${i}].port`, number, "must be between 1 and 65535")];
    });
    return [...ports, ...(moved ? [invalidValue("spec.clusterIPs[0]", is, "may not change once set")] : [])];
  },
};

/** An address of 10.96.0.0/12 that no other service of this site got: revisions are never used twice. */
function clusterIpOf(revision: number): string {
  const offset = 2 + (revision % (2 ** 20 - 3));
  return `10.${96 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`;
}

function serviceSpec(spec: JsonObject, clusterIP: string): JsonObject {
  const ports = itemsAt(spec, "ports").map((port) =>
    isJsonObject(port) ? { protocol: "TCP", targetPort: port.port ?? 0, ...port } : port,
  );
  return {
    type: "ClusterIP",
    sessionAffinity: "None",
    ...spec,
    ...(ports.length > 0 && { ports }),
    ...(clusterIP !== "" && {
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: spec.ipFamilies ?? ["IPv4"],
      ipFamilyPolicy: spec.ipFamilyPolicy ?? "SingleStack",
      internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster",
    }),
  };
}

export const configMapRules: Rules = {
  problems: (map) => [...textProblems(map, "data"), ...textProblems(map, "binaryData")],
};

export const secretRules: Rules = {
  created: (secret) => withStringData({ type: "Opaque", ...secret }),
  updated: withStringData,
  problems: (secret) => textProblems(secret, "data"),
};

/** Programs read these as texts by name, and would fail at the whole list because of one that is not. */
function textProblems(object: JsonObject, member: string): readonly Problem[] {
  const data = object[member] ?? {};
  if (!isJsonObject(data)) return [invalidValue(member, data, "must be texts by name")];
  return Object.entries(data).flatMap(([name, value]) =>
    typeof value === "string" ? [] : [invalidValue(`${member}[${name}]`, value, "must be a text")],
  );
}

/** `stringData` is a convenience for writing; what is stored is `data`. */
function withStringData({ stringData, ...secret }: JsonObject): JsonObject {
  if (!isJsonObject(stringData)) return secret;
  const encoded = Object.entries(stringData).map(([name, text]) => [
    name,
    Buffer.from(String(text)).toString("base64"),
  ]);
  return { ...secret, data: { ...objectAt(secret, "data"), ...Object.fromEntries(encoded) } };
}

export const eventRules: Rules = {
  problems: (event) => {
    const about = textAt(event, "involvedObject", "namespace");
    const own = event.metadata.namespace;
    // Events about objects without a namespace lie in "default".
    if (about === own || (about === "" && own === "default")) return [];
    return [invalidValue("involvedObject.namespace", about, "does not match event.namespace")];
  },
};

export const leaseRules: Rules = {
  problems: (lease) => {
    const spec = objectAt(lease, "spec");
    const duration = spec.leaseDurationSeconds ?? 1;
    const positive = typeof duration === "number" && Number.isInteger(duration) && duration > 0;
    const times = ["acquireTime", "renewTime"].flatMap((name) => {
      const time = spec[name] ?? null;
      const fits = time === null || (typeof time === "string" && isMicroTime(time));
      return fits ? [] : [invalidValue(`spec.${name}`, time, "is not an RFC 3339 time with microseconds")];
    });
    return [
      ...(positive ? [] : [invalidValue("spec.leaseDurationSeconds", duration, "must be greater than 0")]),
      ...times,
    ];
  },
};

const isMicroTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
