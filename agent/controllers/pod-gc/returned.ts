import type { Lease, Node } from "../../api/core.ts";
import { isOutOfService } from "../../api/taints.ts";
import type { Grounds } from "../../decisions/grounds.ts";
import { sinceConfirmed } from "../node-lifecycle/out-of-service/mark.ts";

/** Whether the board for whose loss a pod is collected is back, according to its Node and Lease in the cache. */
export function isBoardBack({ because }: Grounds, node: Node | undefined, lease: Lease | undefined): boolean {
  if (node === undefined) return false;
  if (because.kind === "node-deleted") return true;
  return because.kind === "out-of-service" && (!isOutOfService(node) || sinceConfirmed(node, lease) === "heard");
}
