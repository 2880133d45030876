import type { DaemonSet, Node } from "../../api/core.ts";
import { isSelected } from "../../api/node-affinity.ts";
import { taintsOf, tolerates } from "../../api/taints.ts";
import { daemonTolerations } from "./tolerations.ts";

/** run: the board should have a pod of the set. stay: a pod that is there already may stay. */
export interface Eligibility {
  readonly run: boolean;
  readonly stay: boolean;
}

const neither: Eligibility = { run: false, stay: false };

/**
 * docs/kubernetes-rules.md#daemon-eligibility. Free capacity, readiness and cordon do not matter: a daemon pod is
 * created in any case.
 */
export function eligibilityOf({ spec }: DaemonSet, node: Node): Eligibility {
  const template = spec?.template.spec;
  if (template?.nodeName && template.nodeName !== node.metadata.name) return neither;
  if (!isSelected(template ?? {}, node)) return neither;
  const tolerations = daemonTolerations(template);
  const refusing = taintsOf(node)
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .filter((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
  return { run: refusing.length === 0, stay: refusing.every(({ effect }) => effect === "NoSchedule") };
}
