import {
  isJsonObject,
  isSameJson,
  itemsAt,
  type JsonObject,
  type JsonValue,
  member,
  numberAt,
  textAt,
  valueAt,
  withMember,
} from "../../../api/json.ts";
import { formProblems } from "../names.ts";
import type { ApiObject } from "../object.ts";
import { forbiddenField, invalidValue, type Problem, required, unsupportedValue } from "../problems.ts";
import type { Rules } from "../served-kind.ts";
import { tolerationProblems } from "./tolerations.ts";

/** What pods have and templates of pods do not. */
const ownDefaults = { enableServiceLinks: true, priority: 0, preemptionPolicy: "PreemptLowerPriority" };

/** How long a pod is tolerated on a board that is not ready or unreachable, where it says nothing itself. */
const defaultTolerationSeconds = 300;

export const podRules: Rules = {
  created: (pod) => ({
    ...pod,
    spec: { ...ownDefaults, ...withDefaultTolerations(podSpecDefaults(objectAt(pod, "spec"))) },
    status: { phase: "Pending", qosClass: qosClass(pod) },
  }),
  updated: (pod) => ({ ...pod, spec: withDefaultTolerations(podSpecDefaults(objectAt(pod, "spec"))) }),
  problems: (pod, before) => [
    ...podSpecProblems(pod.spec, "spec"),
    ...(before === undefined ? [] : frozenProblems(pod, before)),
  ],
};

/** A pod that runs nowhere, or no longer, has nothing to finish. */
export function podGracePeriod(pod: ApiObject, asked: number | undefined): number {
  const ended = ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
  if (textAt(pod, "spec", "nodeName") === "" || ended) return 0;
  return asked ?? numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 30;
}

export const objectAt = (value: JsonValue | undefined, ...path: readonly string[]): JsonObject => {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : {};
};

/** What the real server fills in, as far as somebody here looks at it. */
export function podSpecDefaults(spec: JsonObject): JsonObject {
  const period = numberAt(spec, "terminationGracePeriodSeconds");
  return {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    ...spec,
    ...(period !== undefined && period < 0 && { terminationGracePeriodSeconds: 1 }),
    ...(Array.isArray(spec.containers) && { containers: spec.containers.map(containerDefaults) }),
  };
}

function containerDefaults(container: JsonValue): JsonValue {
  if (!isJsonObject(container)) return container;
  const ports = itemsAt(container, "ports").map((port) => (isJsonObject(port) ? { protocol: "TCP", ...port } : port));
  const image = textAt(container, "image");
  const latest = image.endsWith(":latest") || !/[:@][^/]*$/.test(image);
  return {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: latest ? "Always" : "IfNotPresent",
    ...container,
    ...requested(container),
    ...(ports.length > 0 && { ports }),
  };
}

/** What is limited and not asked for is asked for up to the limit. */
function requested(container: JsonObject): JsonObject {
  const limits = objectAt(container, "resources", "limits");
  if (Object.keys(limits).length === 0) return {};
  const resources = objectAt(container, "resources");
  return { resources: { ...resources, requests: { ...limits, ...objectAt(resources, "requests") } } };
}

/** As the DefaultTolerationSeconds admission does: only where the pod tolerates neither by itself. */
function withDefaultTolerations(spec: JsonObject): JsonObject {
  const tolerations = itemsAt(spec, "tolerations");
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some((toleration) => {
        const [itsKey, effect] = [textAt(toleration, "key"), textAt(toleration, "effect")];
        return (itsKey === key || itsKey === "") && (effect === "NoExecute" || effect === "");
      }),
  );
  if (missing.length === 0) return spec;
  const added = missing.map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: defaultTolerationSeconds,
  }));
  return { ...spec, tolerations: [...tolerations, ...added] };
}

function qosClass(pod: JsonObject): string {
  const containers = [...itemsAt(pod, "spec", "containers"), ...itemsAt(pod, "spec", "initContainers")];
  const resources = containers.map((container) => ({
    requests: objectAt(container, "resources", "requests"),
    limits: objectAt(container, "resources", "limits"),
  }));
  const isEmpty = (object: JsonObject): boolean => Object.keys(object).length === 0;
  if (resources.every(({ requests, limits }) => isEmpty(requests) && isEmpty(limits))) return "BestEffort";
  const guaranteed = resources.every(({ requests, limits }) =>
    ["cpu", "memory"].every((name) => {
      const limit = limits[name];
      return limit !== undefined && isSameJson(requests[name] ?? limit, limit);
    }),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

export function podSpecProblems(spec: JsonValue | undefined, field: string): readonly Problem[] {
  const [policy, node] = [textAt(spec, "restartPolicy"), textAt(spec, "nodeName")];
  return [
    ...containerProblems(spec, field),
    ...tolerationProblems(spec, field),
    ...(restartPolicies.includes(policy) ? [] : [unsupportedValue(`${field}.restartPolicy`, policy, restartPolicies)]),
    ...(node === "" ? [] : formProblems(`${field}.nodeName`, node, "subdomain")),
  ];
}

const restartPolicies = ["Always", "OnFailure", "Never"];

function containerProblems(spec: JsonValue | undefined, field: string): readonly Problem[] {
  const containers = itemsAt(spec, "containers");
  if (containers.length === 0) return [required(`${field}.containers`)];
  return containers.flatMap((container, i) => {
    const at = `${field}.containers[${i}]`;
    const name = member(container, "name");
    const unnamed = typeof name !== "string" || name === "";
    const imageless = textAt(container, "image") === "" ? [required(`${at}.image`)] : [];
    if (unnamed) return [required(`${at}.name`), ...imageless];
    const twice = containers.findIndex((other) => textAt(other, "name") === name) < i;
    return [
      ...formProblems(`${at}.name`, name, "label"),
      ...(twice ? [{ ...invalidValue(`${at}.name`, name, "is there twice"), reason: "FieldValueDuplicate" }] : []),
      ...imageless,
    ];
  });
}

/** Of a pod's spec only this may change once it is there; the node name is set by binding. */
function frozenProblems(pod: ApiObject, before: ApiObject): readonly Problem[] {
  const frozen = (object: ApiObject): JsonObject => {
    const images = (name: string): JsonValue =>
      itemsAt(object, "spec", name).map((container) =>
        isJsonObject(container) ? { ...container, image: "" } : container,
      );
    const { tolerations: _t, activeDeadlineSeconds: _a, ...spec } = objectAt(object, "spec");
    return { ...spec, containers: images("containers"), initContainers: images("initContainers") };
  };
  const added = itemsAt(pod, "spec", "tolerations");
  const kept = itemsAt(before, "spec", "tolerations").every((old) =>
    added.some((now) =>
      isSameJson(
        withMember(objectAt(now), "tolerationSeconds", undefined),
        withMember(objectAt(old), "tolerationSeconds", undefined),
      ),
    ),
  );
  if (isSameJson(frozen(pod), frozen(before)) && kept) return [];
  return [
    forbiddenField(
      "spec",
      "of a pod only images, activeDeadlineSeconds and added tolerations may be changed (its node is set by a binding)",
    ),
  ];
}
