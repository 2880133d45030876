import type { DaemonSet, Toleration } from "../../api/core.ts";
import { taintKeys } from "../../api/taints.ts";

type PodSpec = NonNullable<DaemonSet["spec"]>["template"]["spec"];

const forGood = (key: string, effect: "NoExecute" | "NoSchedule"): Toleration => ({ key, operator: "Exists", effect });

/** docs/kubernetes-rules.md#daemon-tolerations: a daemon pod belongs to its board, in whatever state the board is. */
const always: readonly Toleration[] = [
  forGood(taintKeys.notReady, "NoExecute"),
  forGood(taintKeys.unreachable, "NoExecute"),
  forGood(taintKeys.diskPressure, "NoSchedule"),
  forGood(taintKeys.memoryPressure, "NoSchedule"),
  forGood(taintKeys.pidPressure, "NoSchedule"),
  forGood(taintKeys.unschedulable, "NoSchedule"),
];
const withoutPodNetwork: readonly Toleration[] = [forGood(taintKeys.networkUnavailable, "NoSchedule")];

/** The tolerations of a daemon pod: those of the template, and those that every daemon pod has. */
export function daemonTolerations(spec: PodSpec): readonly Toleration[] {
  const added = spec?.hostNetwork === true ? [...always, ...withoutPodNetwork] : always;
  return added.reduce(withToleration, spec?.tolerations ?? []);
}

/** One that says the same, but for a while, gives way in its place: the pod stays for good. */
function withToleration(before: readonly Toleration[], added: Toleration): readonly Toleration[] {
  return before.some((one) => isSame(one, added))
    ? before.map((one) => (isSame(one, added) ? added : one))
    : [...before, added];
}

const isSame = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
