import type { DaemonSet, Toleration } from "../../api/core.ts";
import { taintKeys } from "../../api/taints.ts";

type PodSpec = NonNullable<DaemonSet["spec"]>["template"]["spec"];

const forGood = (key: string, effect: "NoExecute" | "NoSchedule"): Toleration => ({ key, operator: "Exists", effect });

/** docs/kubernetes-rules.md#daemon-tolerations: a daemon pod stays on its board in any state of the board. */
const always: readonly Toleration[] = [
  forGood(taintKeys.notReady, "NoExecute"),
  forGood(taintKeys.unreachable, "NoExecute"),
  forGood(taintKeys.diskPressure, "NoSchedule"),
  forGood(taintKeys.memoryPressure, "NoSchedule"),
  forGood(taintKeys.pidPressure, "NoSchedule"),
  forGood(taintKeys.unschedulable, "NoSchedule"),
];
const withoutPodNetwork: readonly Toleration[] = [forGood(taintKeys.networkUnavailable, "NoSchedule")];

/** The template's tolerations, and those of every daemon pod. */
export function daemonTolerations(spec: PodSpec): readonly Toleration[] {
  const added = spec?.hostNetwork === true ? [...always, ...withoutPodNetwork] : always;
  return added.reduce(withToleration, spec?.tolerations ?? []);
}

/** Replaces an equal toleration in place, dropping its tolerationSeconds: the pod stays for good. */
function withToleration(before: readonly Toleration[], added: Toleration): readonly Toleration[] {
  return before.some((one) => isSame(one, added))
    ? before.map((one) => (isSame(one, added) ? added : one))
    : [...before, added];
}

const isSame = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
