import type { DaemonSet, Taint, Toleration } from "../../api/core.ts";
import { taintKeys, tolerates } from "../../api/taints.ts";

type PodSpec = NonNullable<DaemonSet["spec"]>["template"]["spec"];

const forGood = (key: string, effect: "NoExecute" | "NoSchedule"): Toleration => ({ key, operator: "Exists", effect });

/**
 * The tolerations of every daemon pod (docs/kubernetes-rules.md#daemon-tolerations): it stays on its board regardless
 * of the board's condition.
 */
const always: readonly Toleration[] = [
  forGood(taintKeys.notReady, "NoExecute"),
  forGood(taintKeys.unreachable, "NoExecute"),
  forGood(taintKeys.diskPressure, "NoSchedule"),
  forGood(taintKeys.memoryPressure, "NoSchedule"),
  forGood(taintKeys.pidPressure, "NoSchedule"),
  forGood(taintKeys.unschedulable, "NoSchedule"),
];
const withoutPodNetwork: readonly Toleration[] = [forGood(taintKeys.networkUnavailable, "NoSchedule")];

/**
 * The template's tolerations, and those of every daemon pod. A toleration of every daemon pod replaces an equal one in
 * the template and has no tolerationSeconds, so the pod stays permanently.
 */
export function daemonTolerations(spec: PodSpec): readonly Toleration[] {
  const added = new Map(addedTo(spec).map((one) => [one.key, one]));
  const placed = new Set<Toleration>();
  // One pass over the template's tolerations, because a tenant may write tens of thousands.
  const kept = (spec?.tolerations ?? []).map((one) => {
    const other = added.get(one.key);
    if (other === undefined || !isSame(one, other)) return one;
    placed.add(other);
    return other;
  });
  return [...kept, ...[...added.values()].filter((one) => !placed.has(one))];
}

/** Whether a pod of the template tolerates a taint, without building the list of `daemonTolerations`. */
export const isTolerated = (spec: PodSpec, taint: Taint): boolean =>
  addedTo(spec).some((one) => tolerates(one, taint)) || (spec?.tolerations ?? []).some((one) => tolerates(one, taint));

const addedTo = (spec: PodSpec): readonly Toleration[] =>
  spec?.hostNetwork === true ? [...always, ...withoutPodNetwork] : always;

const isSame = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
