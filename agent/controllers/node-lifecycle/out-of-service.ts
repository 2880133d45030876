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
 * Its pods are deleted, and by force: an operator says that nobody runs them any more
 * (docs/kubernetes-rules.md#out-of-service-taint).
 */
export const outOfService: TaintName = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

/** Says that the taint is ours, and what the board had said last before it: whatever it says next takes both away. */
export const outOfServiceAnnotation = "siteward.dev/out-of-service";

/** The whole change, in one write: a taint that nobody knows to be ours would stay for good. */
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

/** A board is looked at so often. Heartbeats wake nobody: few boards are ever out of service. */
const look: Millis = 5000;

/** Takes the taint off a board that an operator confirmed to be dead, when it is heard again. */
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

/** A mark that cannot be read is one of a board that was heard: the taint rather goes too early than never. */
function markOf({ metadata: { annotations } }: Node): JsonRecord | undefined {
  const text = annotations?.[outOfServiceAnnotation];
  return text === undefined ? undefined : (recordIn(text) ?? {});
}

/** Compared for change only. */
const signsOf = (node: Node, lease: Lease | undefined) => ({
  lease: lease?.metadata.resourceVersion ?? "",
  heartbeat: String(readyOf(node)?.lastHeartbeatTime ?? ""),
});
