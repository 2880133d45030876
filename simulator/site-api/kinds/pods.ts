import {
  isJsonObject,
  isSameJson,
  itemsAt,
  type JsonObject,
  type JsonValue,
  numberAt,
  textAt,
  valueAt,
  withMember,
} from "../../../agent/api/json.ts";
import type { ApiObject } from "../objects/object.ts";
import { forbiddenField, type Problem } from "../requests/problems.ts";
import type { Rules } from "../served-kind.ts";
import { podSpecDefaults, runDefaults } from "./pod-defaults.ts";
import { podSpecProblems } from "./pod-problems.ts";

/** Fields of pods that pod templates do not have. */
const ownDefaults = { enableServiceLinks: true, priority: 0, preemptionPolicy: "PreemptLowerPriority" };

/** How long a pod tolerates an unready or unreachable board, unless it declares its own tolerations. */
const defaultTolerationSeconds = 300;

export const podRules: Rules = {
  created: (pod) => ({
    ...pod,
    spec: completeSpec(pod),
    status: { phase: "Pending", qosClass: qosClass(pod) },
  }),
  updated: (pod) => ({ ...pod, spec: completeSpec(pod) }),
  problems: (pod, before) => {
    if (before === undefined) return podSpecProblems(pod.spec, "spec");
    // Objects stored by an older version with fewer defaults and checks remain valid, because they are completed before
    // the comparison.
    const was = { ...before, spec: completeSpec(before) };
    if (isSameJson(pod.spec, was.spec)) return [];
    return [...podSpecProblems(pod.spec, "spec"), ...frozenProblems(pod, was)];
  },
};

const completeSpec = (pod: JsonObject): JsonObject => ({
  ...ownDefaults,
  ...withDefaultTolerations(runDefaults(podSpecDefaults(objectAt(pod, "spec")))),
});

/** The grace period of a pod's deletion. An unscheduled or finished pod needs none. */
export function podGracePeriod(pod: ApiObject, asked: number | undefined): number {
  const ended = ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
  if (textAt(pod, "spec", "nodeName") === "" || ended) return 0;
  return asked ?? numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 30;
}

export const objectAt = (value: JsonValue | undefined, ...path: readonly string[]): JsonObject => {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : {};
};

/**
 * Adds default tolerations as the DefaultTolerationSeconds admission does: one for each of the two taints that the pod
 * does not itself tolerate.
 */
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

/** The problems of a change to a pod's spec, in which only these fields may change. Binding sets the node name. */
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
      "only images, activeDeadlineSeconds and added tolerations of a pod may be changed (a binding sets its node)",
    ),
  ];
}
