import type { Node } from "../../api/core.ts";
import { taintOf } from "../../api/taints.ts";
import type { Instant } from "../../base/clock.ts";
import type { Cause } from "../../execution/actions.ts";
import { isHeld } from "../../judgement/link.ts";
import { permitsHarm, type Verdict } from "../../judgement/verdict.ts";
import type { Budget } from "./budget.ts";
import { afterWrite, type BoardHealth, deservesUnknown, type Examined } from "./health.ts";
import type { BoardRecord, RunningTaint, SiteMemory } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { deservedBy, runningTaint } from "./taints.ts";
import { zoneOf } from "./zones.ts";

/** A board after the attempt to write its conditions. */
export interface Judged {
  readonly name: string;
  readonly zone: string;
  /** Newest known version. */
  readonly node: Node;
  readonly cached: string;
  readonly health: BoardHealth;
  readonly verdict: Verdict;
  /** Status of its Ready condition before (`observed`) and after (`ready`) this pass. */
  readonly observed: string | undefined;
  readonly ready: string | undefined;
  /** Its conditions could not be written: this pass does not act on it. */
  readonly unsettled: boolean;
  /**
   * Its conditions were not even sent: it counts in its zone by its real state. After a refusal by the API it is not
   * counted.
   */
  readonly unwritten: boolean;
  /** No quarantine and no policy holds back actions caused by our verdict. */
  readonly permitted: boolean;
}

/** `written`: the Node after its conditions were written; `undefined`: no write was needed, or it failed. */
export function judgeBoard(
  examined: Examined,
  { written, tried }: { readonly written: Node | undefined; readonly tried: boolean },
  memory: SiteMemory,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): Judged {
  const { sighting, health, verdict, observed } = examined;
  const wrote = written !== undefined;
  const node = wrote ? written : sighting.node;
  const unsettled = deservesUnknown(examined) && !wrote;
  return {
    name: node.metadata.name,
    zone: zoneOf(node),
    node,
    cached: sighting.cached,
    health: wrote ? afterWrite(health, node, sighting.lease, now) : health,
    verdict,
    observed,
    ready: wrote ? "Unknown" : observed,
    unsettled,
    unwritten: unsettled && !tried,
    permitted: !isHeld(memory.quarantine) && permitsHarm(verdict, settings.policy),
  };
}

/** A board that reports itself not ready is tainted on its own report; silence needs a verdict that permits it. */
export const mayTaint = ({ ready, unsettled, permitted }: Judged): boolean =>
  !unsettled && (ready === "False" || (ready === "Unknown" && permitted));

/** The cause of an action: our verdict if the board is Unknown, none if a living kubelet reported the state. */
export function causeOf({ name, ready, verdict }: Pick<Judged, "name" | "ready" | "verdict">): Cause | undefined {
  if (ready !== "Unknown") return undefined;
  const rule = verdict.verdict === "alive" ? "Ready is Unknown, and the policy asks for no more" : verdict.rule;
  return { board: name, verdict: verdict.verdict, rule };
}

export type TaintPlan =
  /** Remove both NoExecute taints and leave the queue. */
  | "clear"
  /** Carries the opposite of the taint it deserves: swap at once, without a token. */
  | "swap"
  /** Lacks the taint it deserves: wait for a turn. */
  | "wait"
  /** Carries the taint it deserves: leave the queue. */
  | "settled"
  /** No conclusion: a waiting board keeps its place. */
  | "held";

/** Decides by the status after this pass: a board that just became Unknown is queued in the same pass. */
export function taintPlan(board: Judged): TaintPlan {
  if (board.unsettled) return "held";
  if (board.ready === "True") return "clear";
  const deserved = deservedBy(board.ready);
  if (deserved === undefined || !mayTaint(board)) return "held";
  if (taintOf(board.node, deserved.opposite)) return "swap";
  return taintOf(board.node, deserved.wanted) ? "settled" : "wait";
}

/** The record after this pass; the same object if nothing changed, as for most boards in most passes. */
export function recordOf(
  board: Judged,
  before: BoardRecord | undefined,
  inherited: Budget | undefined,
  now: Instant,
): BoardRecord {
  const { health, zone, ready, verdict, unwritten, node, cached } = board;
  const taint = taintRecord(node, before?.taint ?? inherited?.taints.get(board.name), now);
  const ahead = node.metadata.resourceVersion === cached ? undefined : { of: cached, node };
  const isCordoned = node.spec?.unschedulable === true;
  const record = { health, zone, ready, verdict, unwritten, isCordoned, mayTaint: mayTaint(board), taint, ahead };
  return before !== undefined && isSame(before, record) ? before : record;
}

const isSame = (before: BoardRecord, after: BoardRecord): boolean =>
  (Object.keys(after) as readonly (keyof BoardRecord)[]).every((field) => before[field] === after[field]);

/** A taint that was removed and added again (another timeAdded) starts over. */
export function taintRecord(node: Node, before: RunningTaint | undefined, now: Instant): RunningTaint | undefined {
  const taint = runningTaint(node);
  if (taint === undefined) return undefined;
  if (before !== undefined && before.added === taint.timeAdded) return before;
  return { added: taint.timeAdded, since: now, foreign: {} };
}
