import { conditionOf } from "../../../api/conditions.ts";
import type { Lease, Node } from "../../../api/core.ts";
import { nodes } from "../../../api/resources.ts";
import { changeTaints, outOfServiceKey, type TaintName, taintOf, taintsOf } from "../../../api/taints.ts";
import { timestamp } from "../../../api/timestamps.ts";
import type { Instant } from "../../../base/clock.ts";
import { type JsonRecord, recordIn } from "../../../base/json.ts";
import type { Confirmed } from "../../../decisions/grounds.ts";
import { type Action, type Cause, refTo } from "../../../execution/actions.ts";
import { maxByLength } from "../../../holds/holds.ts";

/**
 * The taint with which an operator confirms that a board's pods no longer run, so that they are deleted by force
 * (docs/kubernetes-rules.md#out-of-service-taint).
 */
export const outOfService: TaintName = { key: outOfServiceKey, effect: "NoExecute" };

/**
 * The value of the taint where a command set it. Kubelets may annotate their own Nodes, but not change taints: a taint
 * with another value was set by hand, whatever the annotation says, and is never removed.
 */
const ownValue = "siteward";

/**
 * Names the operator who confirmed the board dead, and records the board's last signs of life. It counts only beside our
 * taint, because kubelets may write it. After a later sign of life it is removed, and with it our taint.
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

/** In characters. A longer text in the annotation, which other clients may write, is truncated. */
const maxTextLength = 256;

/** The operator whom our annotation names; undefined if the Node does not have our taint. */
export function confirmerOf(node: Node): Confirmer | undefined {
  const mark = markInForce(node);
  if (mark === undefined) return undefined;
  const { by, reason } = mark;
  return {
    ...(typeof by === "string" && { by: by.slice(0, maxTextLength) }),
    ...(typeof reason === "string" && { reason: reason.slice(0, maxTextLength) }),
  };
}

/**
 * Writes the taint and the annotation in one patch, because a taint that is not marked as ours would never be removed.
 * `term`: that of the leader that carries out the order.
 */
export function takeOutOfService(
  node: Node,
  lease: Lease | undefined,
  { by, reason, term }: { readonly by: string; readonly reason?: string | undefined; readonly term?: number },
  now: Instant,
): Action {
  const taint = { ...outOfService, value: ownValue, timeAdded: timestamp(now) };
  const taints = changeTaints(taintsOf(node), { add: [taint] });
  const annotations = {
    [outOfServiceAnnotation]: JSON.stringify({
      v: 1,
      by,
      reason,
      term,
      ...signsOf(node, lease?.metadata.resourceVersion),
    }),
  };
  return {
    do: "patch",
    target: refTo(nodes, node),
    type: "merge",
    patch: { metadata: { annotations }, spec: { taints } },
  };
}

/** Whether the Node has the taint, and a command set it. */
export const hasOwnTaint = (node: Node): boolean => taintOf(node, outOfService)?.value === ownValue;

/** Whether the Node has the taint, and no command set it. */
export const hasForeignTaint = (node: Node): boolean => taintOf(node, outOfService) !== undefined && !hasOwnTaint(node);

/**
 * Our mark on the Node; undefined if there is none. An unreadable mark counts as a sign of life, because it is better
 * to remove the taint too early than never.
 */
export function markOf({ metadata: { annotations } }: Node): JsonRecord | undefined {
  const text = annotations?.[outOfServiceAnnotation];
  return text === undefined ? undefined : (recordIn(text) ?? {});
}

/**
 * The mark of a board that has our taint; undefined for all others. One that is missing counts like an unreadable one:
 * only the board's own kubelet, which runs, or a person can have removed it.
 */
export const markInForce = (node: Node): JsonRecord | undefined =>
  hasOwnTaint(node) ? (markOf(node) ?? {}) : undefined;

/**
 * Whether the board has given a sign of life since an operator confirmed it dead; undefined if the taint is not ours.
 */
export function sinceConfirmed(node: Node, lease: Lease | undefined): Confirmed | undefined {
  const mark = markInForce(node);
  return mark && sinceMark(mark, node, lease?.metadata.resourceVersion);
}

/**
 * The operator who confirmed the board dead with our out-of-service taint; undefined if none did, or it has given a
 * sign of life since. `lease`: the resourceVersion of its Lease.
 */
export function confirmedDeadBy(node: Node, lease: string | undefined): string | undefined {
  const mark = markInForce(node);
  return mark && sinceMark(mark, node, lease) === "silent" ? authorOf(mark) : undefined;
}

/**
 * Whether a restore of the API server may have brought the mark back: it is from a term no later than `undoneUntil`, the
 * highest one that was known when the restore was noticed, or has no term.
 */
export const mayBeUndone = ({ term }: JsonRecord, undoneUntil: number | undefined): boolean =>
  undoneUntil !== undefined && !(typeof term === "number" && term > undoneUntil);

/** Whether the board has given a sign of life since this mark was written. */
export function sinceMark(mark: JsonRecord, node: Node, lease: string | undefined): Confirmed {
  const signs = signsOf(node, lease);
  return mark.lease === signs.lease && mark.heartbeat === signs.heartbeat ? "silent" : "heard";
}

export const authorOf = ({ by }: JsonRecord): string =>
  typeof by === "string" ? by.slice(0, maxByLength) : "an operator";

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
  heartbeat: String(
    conditionOf(node.status?.conditions, "Ready")?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? "",
  ),
});
