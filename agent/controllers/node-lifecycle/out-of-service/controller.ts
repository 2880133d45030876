import type { Node } from "../../../api/core.ts";
import { boardLeaseKey, leases, nodes } from "../../../api/resources.ts";
import { changeTaints, taintsOf } from "../../../api/taints.ts";
import type { Millis } from "../../../base/clock.ts";
import type { JsonRecord } from "../../../base/json.ts";
import { refTo } from "../../../execution/actions.ts";
import { type Controller, enqueueOn } from "../../../loop/controller.ts";
import type { NodeLifecycleDeps } from "../controller.ts";
import { nodeEvent } from "../pass.ts";
import {
  authorOf,
  hasOwnTaint,
  markInForce,
  markOf,
  mayBeUndone,
  outOfService,
  outOfServiceAnnotation,
  sinceMark,
} from "./mark.ts";

export interface OutOfService {
  readonly node: Node;
  /** The content of our annotation. */
  readonly mark: JsonRecord;
  /**
   * Why the taint is removed; undefined if it stays. reported: the board gave a sign of life after the confirmation.
   * restored: a restore of the API server may have brought the confirmation back, and undone a later sign of life.
   */
  readonly over: "reported" | "restored" | undefined;
}

/** Interval between checks of a board out of service, because a heartbeat alone enqueues nothing. */
const checkPeriod: Millis = 5000;

/**
 * Removes the mark, and our taint, once a board that an operator confirmed to be dead gives a sign of life. After a
 * restore of the API server, removes those that may be from before it: operators confirm again what still holds. No pod
 * is deleted because of them in the meantime, because a leader judges a board only after a grace period.
 */
export const outOfServiceBoards = ({
  undoneUntil = () => undefined,
}: Pick<NodeLifecycleDeps, "undoneUntil">): Controller<OutOfService, undefined> => ({
  name: "out-of-service",
  reads: [nodes, leases],
  // The mark has the last Lease that the former leader knew. An earlier one in the cache would look like a later sign.
  restsOn: [nodes, leases],
  mappings: [enqueueOn(nodes, ({ key, after }) => (after && markFor(after) ? [key] : []))],
  initialMemory: undefined,
  observe(name, site) {
    const node = site.lister(nodes).get(name);
    const mark = node && markFor(node);
    if (node === undefined || mark === undefined) return undefined;
    const lease = site.lister(leases).get(boardLeaseKey(name));
    const hasReported = sinceMark(mark, node, lease?.metadata.resourceVersion) === "heard";
    const over = hasReported ? "reported" : mayBeUndone(mark, undoneUntil()) ? "restored" : undefined;
    return { node, mark, over };
  },
  decide({ node, mark, over }, memory) {
    if (over === undefined) return { actions: [], memory, requeueAfter: checkPeriod };
    const patch = {
      metadata: { annotations: { [outOfServiceAnnotation]: null } },
      ...(hasOwnTaint(node) && { spec: { taints: changeTaints(taintsOf(node), { remove: [outOfService] }) } }),
    };
    const { name, uid } = node.metadata;
    const who = authorOf(mark);
    const [reason, message] =
      over === "reported"
        ? [
            "BoardBackInService",
            `Node ${name} sends heartbeats again although ${who} had confirmed it to be dead, so it is back in service`,
          ]
        : [
            "ConfirmationWithdrawn",
            `The API server was restored, and ${who} may have confirmed Node ${name} to be dead before that: if it still is, confirm it again`,
          ];
    return {
      actions: [
        { do: "patch", target: refTo(nodes, node), type: "merge", patch },
        // Without our taint, no operator has confirmed the board dead. One that was set by hand stays.
        ...(hasOwnTaint(node) ? [nodeEvent({ name, uid }, reason, message)] : []),
      ],
      memory,
    };
  },
});

/** The mark of a board that has ours, our taint, or both; undefined for all others. */
const markFor = (node: Node): JsonRecord | undefined => markOf(node) ?? markInForce(node);
