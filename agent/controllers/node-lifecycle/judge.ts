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

/** A board once it is known whether its conditions could be written. */
export interface Judged {
  readonly name: string;
  readonly zone: string;
  /** The newest version that we know. */
  readonly node: Node;
  readonly cached: string;
  readonly health: BoardHealth;
  readonly verdict: Verdict;
  /** Status of its Ready condition before this pass, and after it. */
  readonly observed: string | undefined;
  readonly ready: string | undefined;
  /** Its conditions are not written: nothing is done about it in this pass. */
  readonly unsettled: boolean;
  /** They were not even sent: it counts in its zone as what it is. What the API refused counts as nothing. */
  readonly unwritten: boolean;
  /** Nothing holds back what our verdict would do to it. */
  readonly permitted: boolean;
}

/** `written`: the Node after the write of its conditions; `undefined`: there was none to do, or none that went through. */
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

/** A board that says itself that it is not ready is tainted on its own word; silence needs a verdict that permits it. */
export const mayTaint = ({ ready, unsettled, permitted }: Judged): boolean =>
  !unsettled && (ready === "False" || (ready === "Unknown" && permitted));

/** Silence is our conclusion; what a living kubelet reports is not. */
export function causeOf({ name, ready, verdict }: Pick<Judged, "name" | "ready" | "verdict">): Cause | undefined {
  if (ready !== "Unknown") return undefined;
  const rule = verdict.verdict === "alive" ? "Ready is Unknown, and the policy asks for no more" : verdict.rule;
  return { board: name, verdict: verdict.verdict, rule };
}

export type TaintPlan =
  /** Both NoExecute taints go, and so does the wish to add one. */
  | "clear"
  /** Carries the opposite of what it deserves: exchanged at once, at no price. */
  | "swap"
  /** Deserves a taint that it does not carry: it has to wait for its turn. */
  | "wait"
  /** Carries what it deserves: it need not wait. */
  | "settled"
  /** Nothing is concluded: who waits goes on waiting. */
  | "held";

/** By the status of this pass, not by the one before: what just became Unknown is queued in the same pass. */
export function taintPlan(board: Judged): TaintPlan {
  if (board.unsettled) return "held";
  if (board.ready === "True") return "clear";
  const deserved = deservedBy(board.ready);
  if (deserved === undefined || !mayTaint(board)) return "held";
  if (taintOf(board.node, deserved.opposite)) return "swap";
  return taintOf(board.node, deserved.wanted) ? "settled" : "wait";
}

/** The record one pass later; the same one where nothing changed, as for most boards in most passes. */
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

/** A taint of the same name that was added anew starts from the beginning. */
export function taintRecord(node: Node, before: RunningTaint | undefined, now: Instant): RunningTaint | undefined {
  const taint = runningTaint(node);
  if (taint === undefined) return undefined;
  if (before !== undefined && before.added === taint.timeAdded) return before;
  return { added: taint.timeAdded, since: now, foreign: {} };
}
