import type { DaemonSet, Node } from "../../api/core.ts";
import { isSelected } from "../../api/node-affinity.ts";
import { taintsOf, tolerates } from "../../api/taints.ts";
import { daemonTolerations } from "./tolerations.ts";

/** run: a pod of the set belongs on the board. stay: one that is there already may go on. */
export interface Eligibility {
  readonly run: boolean;
  readonly stay: boolean;
}

const neither: Eligibility = { run: false, stay: false };

/**
 * docs/kubernetes-rules.md#daemon-eligibility. Whether the board has room, is ready or is cordoned does not matter: a
 * daemon pod is made for it all the same.
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
