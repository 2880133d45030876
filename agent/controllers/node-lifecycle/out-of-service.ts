import type { Lease, Node } from "../../api/core.ts";
import { boardLeaseKey, leases, nodes } from "../../api/resources.ts";
import { changeTaints, outOfServiceKey, type TaintName, taintOf, taintsOf } from "../../api/taints.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { type JsonRecord, recordIn } from "../../base/json.ts";
import type { Confirmed } from "../../decisions/grounds.ts";
import { type Action, type Cause, refTo } from "../../execution/actions.ts";
import { maxByLength } from "../../holds/holds.ts";
import { type Controller, enqueueOn } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import { nodeEvent } from "./pass.ts";

/**
 * The taint with which an operator confirms that a board's pods no longer run, so that they are deleted by force
 * (docs/kubernetes-rules.md#out-of-service-taint).
 */
export const outOfService: TaintName = { key: outOfServiceKey, effect: "NoExecute" };

/**
 * Marks the taint as ours, and records the board's last signs of life. After a later sign of life, both the taint and
 * this annotation are removed.
 */
export const outOfServiceAnnotation = "siteward.dev/out-of-service";

/**
 * The operator who confirmed that a board is dead, and the reason given; each is absent if our annotation does not have
 * it.
 */
export interface Confirmer {
  readonly by?: string;
  readonly reason?: string;
}

/** In characters. A longer text in the annotation, which other clients may write, is cut. */
const maxTextLength = 256;

/** The operator whom our annotation names; undefined if there is no annotation. */
export function confirmerOf(node: Node): Confirmer | undefined {
  const mark = markOf(node);
  if (mark === undefined) return undefined;
  const { by, reason } = mark;
  return {
    ...(typeof by === "string" && { by: by.slice(0, maxTextLength) }),
    ...(typeof reason === "string" && { reason: reason.slice(0, maxTextLength) }),
  };
}

/**
 * Writes the taint and the annotation in one patch, because a taint that is not marked as ours would never be removed.
 */
export function takeOutOfService(
  node: Node,
  lease: Lease | undefined,
  { by, reason }: { readonly by: string; readonly reason?: string | undefined },
  now: Instant,
): Action {
  const taints = changeTaints(taintsOf(node), { add: [{ ...outOfService, timeAdded: timestamp(now) }] });
  const annotations = {
    [outOfServiceAnnotation]: JSON.stringify({ v: 1, by, reason, ...signsOf(node, lease?.metadata.resourceVersion) }),
  };
  return {
    do: "patch",
    target: refTo(nodes, node),
    type: "merge",
    patch: { metadata: { annotations }, spec: { taints } },
  };
}

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

/**
 * Our mark on the Node; undefined if there is none. An unreadable mark counts as a sign of life, because it is better
 * to remove the taint too early than never.
 */
function markOf({ metadata: { annotations } }: Node): JsonRecord | undefined {
  const text = annotations?.[outOfServiceAnnotation];
  return text === undefined ? undefined : (recordIn(text) ?? {});
}

/** Whether the out-of-service taint of a Node, if it has one, is ours. */
export const isMarked = ({ metadata: { annotations } }: Node): boolean =>
  annotations?.[outOfServiceAnnotation] !== undefined;

/**
 * Whether the board has given a sign of life since an operator confirmed it dead; undefined if the taint is not ours.
 */
export function sinceConfirmed(node: Node, lease: Lease | undefined): Confirmed | undefined {
  const mark = markOf(node);
  return mark && sinceMark(mark, node, lease?.metadata.resourceVersion);
}

/**
 * The operator who confirmed the board dead with our out-of-service taint; undefined if none did, or it has given a
 * sign of life since. `lease`: the resourceVersion of its Lease.
 */
export function confirmedDeadBy(node: Node, lease: string | undefined): string | undefined {
  const mark = markOf(node);
  const isInForce = mark && taintOf(node, outOfService) && sinceMark(mark, node, lease) === "silent";
  return isInForce ? authorOf(mark) : undefined;
}

function sinceMark(mark: JsonRecord, node: Node, lease: string | undefined): Confirmed {
  const signs = signsOf(node, lease);
  return mark.lease === signs.lease && mark.heartbeat === signs.heartbeat ? "silent" : "heard";
}

const authorOf = ({ by }: JsonRecord): string => (typeof by === "string" ? by.slice(0, maxByLength) : "an operator");

/** The cause of an act that follows from an operator's confirmation that a board is dead. */
export const confirmedCause = (board: string): Cause => ({
  board,
  verdict: "dead",
  rule: "an operator confirmed it dead, and it has given no sign of life since",
  isOrdered: true,
});

/**
 * The board's signs of life, which are only compared for change. A board that never reported gets its creation time as
 * heartbeat when it is marked as silent, so the creation time counts as the same sign.
 */
const signsOf = (node: Node, lease: string | undefined) => ({
  lease: lease ?? "",
  heartbeat: String(readyOf(node)?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? ""),
});
