import {
  isJsonObject,
  isSameJson,
  itemsAt,
  type JsonObject,
  type JsonValue,
  numberAt,
  textAt,
} from "../../../agent/api/json.ts";
import { isLabelValue, keyProblems } from "../objects/names.ts";
import type { ApiObject } from "../objects/object.ts";
import {
  forbiddenField,
  invalidValue,
  type Problem,
  required,
  tooLong,
  unsupportedValue,
} from "../requests/problems.ts";
import type { Rules } from "../served-kind.ts";
import { objectAt } from "./pods.ts";
import { serviceProblems } from "./service-problems.ts";
import { serviceSpec } from "./service-spec.ts";
import { taintEffects } from "./tolerations.ts";

/**
 * The taint of a new Node, as the TaintNodesByCondition admission sets it, so that no pod is scheduled there before a
 * controller has judged the board.
 */
const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

export const nodeRules: Rules = {
  created: (node) => {
    const spec = objectAt(withCidrs(node), "spec");
    const taints = itemsAt(spec, "taints");
    const tainted = taints.some(
      (taint) => textAt(taint, "key") === notReady.key && textAt(taint, "effect") === notReady.effect,
    );
    return {
      ...node,
      spec: tainted ? spec : { ...spec, taints: [...taints, notReady] },
      status: objectAt(node, "status"),
      ...withAllocatable(node),
    };
  },
  updated: (node) => ({ ...withCidrs(node), ...withAllocatable(node) }),
  problems: (node, before) => {
    const taints = itemsAt(node, "spec", "taints");
    const [was, is] = [itemsAt(before, "spec", "podCIDRs"), itemsAt(node, "spec", "podCIDRs")];
    const moved = was.length > 0 && !isSameJson(was, is);
    return [
      ...taints.flatMap((taint, i) => taintProblems(taint, taints.slice(0, i), i)),
      ...(moved ? [forbiddenField("spec.podCIDRs", 'may not change except from "" to valid')] : []),
    ];
  },
};

function taintProblems(taint: JsonValue, others: readonly JsonValue[], i: number): readonly Problem[] {
  // The real server uses this field name.
  const at = `metadata.taints[${i}]`;
  const [key, value, effect] = [textAt(taint, "key"), textAt(taint, "value"), textAt(taint, "effect")];
  if (key === "") return [required(`${at}.key`)];
  if (effect === "") return [required(`${at}.effect`)];
  const twice = others.some((other) => textAt(other, "key") === key && textAt(other, "effect") === effect);
  return [
    ...keyProblems(`${at}.key`, key),
    ...(isLabelValue(value) ? [] : [invalidValue(`${at}.value`, value, "must be the value of a label")]),
    ...(taintEffects.includes(effect) ? [] : [unsupportedValue(`${at}.effect`, effect, taintEffects)]),
    ...(twice
      ? [{ ...invalidValue(at, taint, "taints must be unique by key and effect pair"), reason: "FieldValueDuplicate" }]
      : []),
  ];
}

/** Sets podCIDRs to `[podCIDR]`, unless it already begins with podCIDR or there is none. */
function withCidrs(node: JsonObject): JsonObject {
  const spec = objectAt(node, "spec");
  const [one, all] = [textAt(spec, "podCIDR"), itemsAt(spec, "podCIDRs")];
  return { ...node, spec: one === "" || all[0] === one ? spec : { ...spec, podCIDRs: [one] } };
}

/** The Node with its allocatable resources: its whole capacity, unless a smaller amount is declared. */
function withAllocatable(node: JsonObject): JsonObject {
  const status = objectAt(node, "status");
  const capacity = objectAt(status, "capacity");
  if (Object.keys(capacity).length === 0 || status.allocatable !== undefined) return {};
  return { status: { ...status, allocatable: capacity } };
}

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
  created: (service, { revision }) => ({
    ...service,
    spec: serviceSpec(objectAt(service, "spec"), {}, revision),
    status: { loadBalancer: {} },
  }),
  updated: (service, before) => {
    const revision = Number(textAt(before, "metadata", "resourceVersion"));
    return { ...service, spec: serviceSpec(objectAt(service, "spec"), objectAt(before, "spec"), revision) };
  },
  problems: (service, before) => serviceProblems(objectAt(service, "spec"), objectAt(before, "spec")),
};

/** Limit on an object's data, for all values together, as in the kube-apiserver. */
const maxDataBytes = 1024 * 1024;

export const configMapRules: Rules = {
  problems: (map, before) => {
    const [texts, bytes] = [objectAt(map, "data"), objectAt(map, "binaryData")];
    const twice = Object.keys(bytes).filter((key) => Object.hasOwn(texts, key));
    const size = sizeOf(Object.values(texts)) + (sizeOf(Object.values(bytes)) * 3) / 4;
    return [
      ...frozenProblems(map, before, ["data", "binaryData"]),
      ...dataKeyProblems("data", texts),
      ...dataKeyProblems("binaryData", bytes),
      ...twice.map((key) => invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")),
      ...(size > maxDataBytes ? [tooLong("", maxDataBytes)] : []),
    ];
  },
};

export const secretRules: Rules = {
  created: (secret) => withStringData({ type: "Opaque", ...secret }),
  updated: withStringData,
  problems: (secret, before) => {
    const data = objectAt(secret, "data");
    const size = (sizeOf(Object.values(data)) * 3) / 4;
    return [
      ...frozenProblems(secret, before, ["data"]),
      ...dataKeyProblems("data", data),
      ...(size > maxDataBytes ? [tooLong("data", maxDataBytes)] : []),
    ];
  },
};

/** The problems of a change to an immutable object, which can only be recreated. */
function frozenProblems(
  object: ApiObject,
  before: ApiObject | undefined,
  members: readonly string[],
): readonly Problem[] {
  if (before?.immutable !== true) return [];
  const changed = ["immutable", ...members].filter((name) => !isSameJson(object[name] ?? null, before[name] ?? null));
  return changed.map((name) => forbiddenField(name, "field is immutable when `immutable` is set"));
}

const sizeOf = (texts: readonly JsonValue[]): number =>
  texts.reduce<number>((sum, text) => sum + Buffer.byteLength(String(text)), 0);

/** The problems of data keys, which become file names. */
const dataKeyProblems = (member: string, data: JsonObject): readonly Problem[] =>
  Object.keys(data).flatMap((key) => {
    const fits = /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== "." && !key.startsWith("..");
    return fits
      ? []
      : [invalidValue(`${member}[${key}]`, key, "a key consists of alphanumeric characters, '-', '_' or '.'")];
  });

/** The Secret with its `stringData` merged into `data`, because only `data` is stored. */
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
    // Events about objects without a namespace are stored in "default".
    if (about === own || (about === "" && own === "default")) return [];
    return [invalidValue("involvedObject.namespace", about, "does not match event.namespace")];
  },
};

const withSpec = (lease: ApiObject): JsonObject => ({ ...lease, spec: objectAt(lease, "spec") });

export const leaseRules: Rules = {
  created: withSpec,
  updated: withSpec,
  problems: (lease) => {
    const [duration, transitions] = [
      numberAt(lease, "spec", "leaseDurationSeconds"),
      numberAt(lease, "spec", "leaseTransitions"),
    ];
    return [
      ...(duration === undefined || duration > 0
        ? []
        : [invalidValue("spec.leaseDurationSeconds", duration, "must be greater than 0")]),
      ...(transitions === undefined || transitions >= 0
        ? []
        : [invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]),
    ];
  },
};
