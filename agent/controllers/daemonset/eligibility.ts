import type { DaemonSet, Node } from "../../api/core.ts";
import { isSelected } from "../../api/node-affinity.ts";
import { isSameTaint, taintsOf } from "../../api/taints.ts";
import { hasOwnTaint, outOfService } from "../node-lifecycle/out-of-service/mark.ts";
import { isTolerated } from "./tolerations.ts";

/** run: whether the board should have a pod of the set. stay: whether an existing pod may stay. */
export interface Eligibility {
  readonly run: boolean;
  readonly stay: boolean;
}

const neither: Eligibility = { run: false, stay: false };

/**
 * Whether a set's pods belong on a board (docs/kubernetes-rules.md#daemon-eligibility). Free capacity, readiness and
 * cordons do not matter: daemon pods are created regardless. Our own out-of-service taint keeps new pods away, and
 * leaves those that exist to taint eviction, which checks whether the board is still silent.
 */
export function eligibilityOf({ spec }: DaemonSet, node: Node): Eligibility {
  const template = spec?.template.spec;
  if (template?.nodeName && template.nodeName !== node.metadata.name) return neither;
  if (!isSelected(template ?? {}, node)) return neither;
  const refusing = taintsOf(node)
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .filter((taint) => !isTolerated(template, taint));
  const evicting = refusing.filter(({ effect }) => effect === "NoExecute");
  return {
    run: refusing.length === 0,
    stay: evicting.every((taint) => hasOwnTaint(node) && isSameTaint(taint, outOfService)),
  };
}
