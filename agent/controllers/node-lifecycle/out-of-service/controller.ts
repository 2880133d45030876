import type { Node } from "../../../api/core.ts";
import { boardLeaseKey, leases, nodes } from "../../../api/resources.ts";
import { changeTaints, taintOf, taintsOf } from "../../../api/taints.ts";
import type { Millis } from "../../../base/clock.ts";
import type { JsonRecord } from "../../../base/json.ts";
import { refTo } from "../../../execution/actions.ts";
import { type Controller, enqueueOn } from "../../../loop/controller.ts";
import { nodeEvent } from "../pass.ts";
import { authorOf, markOf, outOfService, outOfServiceAnnotation, sinceConfirmed } from "./mark.ts";

export interface OutOfService {
  readonly node: Node;
  /** The content of our annotation. */
  readonly mark: JsonRecord;
  /** The board gave a sign of life after the confirmation. */
  readonly hasReported: boolean;
}

/** Interval between checks of a board out of service, because a heartbeat alone enqueues nothing. */
const checkPeriod: Millis = 5000;

/** Once a board that an operator confirmed to be dead gives a sign of life, removes the taint. */
export const outOfServiceBoards: Controller<OutOfService, undefined> = {
  name: "out-of-service",
  reads: [nodes, leases],
  // The mark has the last Lease that the former leader knew. An earlier one in the cache would look like a later sign.
  restsOn: [nodes, leases],
  mappings: [enqueueOn(nodes, ({ key, after }) => (after && markOf(after) ? [key] : []))],
  initialMemory: undefined,
  observe(name, site) {
    const node = site.lister(nodes).get(name);
    const mark = node && markOf(node);
    if (node === undefined || mark === undefined) return undefined;
    const lease = site.lister(leases).get(boardLeaseKey(name));
    return { node, mark, hasReported: sinceConfirmed(node, lease) === "heard" };
  },
  decide({ node, mark, hasReported }, memory) {
    if (!hasReported) return { actions: [], memory, requeueAfter: checkPeriod };
    const patch = {
      metadata: { annotations: { [outOfServiceAnnotation]: null } },
      ...(taintOf(node, outOfService) && {
        spec: { taints: changeTaints(taintsOf(node), { remove: [outOfService] }) },
      }),
    };
    const { name, uid } = node.metadata;
    const message = `Node ${name} sends heartbeats again although ${authorOf(mark)} had confirmed it to be dead, so it is back in service`;
    return {
      actions: [
        { do: "patch", target: refTo(nodes, node), type: "merge", patch },
        nodeEvent({ name, uid }, "BoardBackInService", message),
      ],
      memory,
    };
  },
};
