import type { Lease, Node } from "../../api/core.ts";
import { leases, nodes } from "../../api/resources.ts";
import { changeTaints, type TaintName, taintOf, taintsOf } from "../../api/taints.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { type JsonRecord, recordIn } from "../../base/json.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { type Controller, wake } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import { tell } from "./pass.ts";

/**
 * The board's pods are deleted by force, because an operator confirms that they no longer run
 * (docs/kubernetes-rules.md#out-of-service-taint).
 */
export const outOfService: TaintName = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

/** Marks the taint as ours and records the board's last signs of life: any later one removes both. */
export const outOfServiceAnnotation = "siteward.dev/out-of-service";

/** Writes taint and annotation in one patch: a taint not marked as ours would stay for good. */
export function takeOutOfService(node: Node, lease: Lease | undefined, by: string, now: Instant): Action {
  const taints = changeTaints(taintsOf(node), { add: [{ ...outOfService, timeAdded: timestamp(now) }] });
  const annotations = { [outOfServiceAnnotation]: JSON.stringify({ v: 1, by, ...signsOf(node, lease) }) };
  return {
    do: "patch",
    target: refTo(nodes, node),
    type: "merge",
    patch: { metadata: { annotations }, spec: { taints } },
  };
}

export interface OutOfService {
  readonly node: Node;
  readonly mark: JsonRecord;
  readonly wasHeard: boolean;
}

/** How often a board is checked. Heartbeats enqueue nothing: few boards are ever out of service. */
const look: Millis = 5000;

/** Removes the taint from a board that an operator confirmed to be dead once it gives a sign of life. */
export const outOfServiceBoards: Controller<OutOfService, undefined> = {
  name: "out-of-service",
  reads: [nodes, leases],
  wakes: [wake(nodes, ({ key, after }) => (after && markOf(after) ? [key] : []))],
  initialMemory: undefined,
  observe(name, site) {
    const node = site.lister(nodes).get(name);
    const mark = node && markOf(node);
    if (node === undefined || mark === undefined) return undefined;
    const { lease, heartbeat } = signsOf(node, site.lister(leases).get(`kube-node-lease/${name}`));
    return { node, mark, wasHeard: mark.lease !== lease || mark.heartbeat !== heartbeat };
  },
  decide({ node, mark, wasHeard }, memory) {
    if (!wasHeard) return { actions: [], memory, requeueAfter: look };
    const patch = {
      metadata: { annotations: { [outOfServiceAnnotation]: null } },
      ...(taintOf(node, outOfService) && {
        spec: { taints: changeTaints(taintsOf(node), { remove: [outOfService] }) },
      }),
    };
    const { name, uid } = node.metadata;
    const by = typeof mark.by === "string" ? mark.by : "somebody";
    const story = `Node ${name} is heard again, although ${by} had confirmed it to be dead: it is in service`;
    return {
      actions: [
        { do: "patch", target: refTo(nodes, node), type: "merge", patch },
        tell({ name, uid }, "BoardBackInService", story),
      ],
      memory,
    };
  },
};

/** An unreadable mark counts as a sign of life: better to remove the taint too early than never. */
function markOf({ metadata: { annotations } }: Node): JsonRecord | undefined {
  const text = annotations?.[outOfServiceAnnotation];
  return text === undefined ? undefined : (recordIn(text) ?? {});
}

/** Only compared for change. */
const signsOf = (node: Node, lease: Lease | undefined) => ({
  lease: lease?.metadata.resourceVersion ?? "",
  heartbeat: String(readyOf(node)?.lastHeartbeatTime ?? ""),
});
