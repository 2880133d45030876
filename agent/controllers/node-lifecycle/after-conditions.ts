import type { Node } from "../../api/core.ts";
import { taintOf } from "../../api/taints.ts";
import { type Instant, isAfter } from "../../base/clock.ts";
import type { Cause } from "../../execution/actions.ts";
import { sinceAnswer } from "../../judgement/lan-answer.ts";
import type { EarlierSilence } from "../../judgement/lan-silence.ts";
import { isQuarantineActive } from "../../judgement/link.ts";
import { whyNotOnVerdict } from "../../judgement/ruling.ts";
import { type Evidence, isSilent, isWitnessed, unexplainedSilence, type Verdict } from "../../judgement/verdict.ts";
import {
  afterWrite,
  type Examined,
  hasAnsweredSilent,
  lastSignOf,
  type NodeHealth,
  needsUnknownCondition,
} from "./health.ts";
import type { BoardRecord, SiteMemory } from "./memory.ts";
import { confirmedDeadBy } from "./out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { desiredTaintFor, runningTaint } from "./taints.ts";
import type { Budget, RunningTaint } from "./zones/budget.ts";
import { zoneOf } from "./zones/zones.ts";

/** A board after the attempt to write its conditions. */
export interface AfterConditions {
  readonly name: string;
  readonly zone: string;
  /** The Node in its newest known version. */
  readonly node: Node;
  /** resourceVersion of the cached Node. */
  readonly cached: string;
  readonly health: NodeHealth;
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  /** The silence that is passed on to the next leader; undefined if the LAN says nothing of it, or that it is over. */
  readonly silence: EarlierSilence | undefined;
  /** Status of the Ready condition before this pass; undefined if there is none. */
  readonly readyBefore: string | undefined;
  /** Status of the Ready condition after this pass; undefined if there is none. */
  readonly ready: string | undefined;
  /** The board's conditions should have been written but were not, so this pass does not act on the board. */
  readonly lacksConditions: boolean;
  /**
   * The conditions were not even sent, so the board counts in its zone as silent. A board whose conditions the API
   * refused is not counted.
   */
  readonly unwritten: boolean;
  /** The operator who confirmed the board dead (`confirmedDeadBy`); undefined if none did. */
  readonly confirmedBy: string | undefined;
  /** Neither a quarantine nor the policy forbids harmful acts because of the verdict. */
  readonly permitted: boolean;
}

/**
 * The board after the attempt to write its conditions. `written`: the Node after the write; undefined if no write was
 * needed, or it failed. `tried`: the write was sent.
 */
export function afterConditions(
  examined: Examined,
  { written, tried }: { readonly written: Node | undefined; readonly tried: boolean },
  memory: SiteMemory,
  { settings, now }: { readonly settings: NodeLifecycleSettings; readonly now: Instant },
): AfterConditions {
  const { sighting, health, evidence, verdict, readyBefore } = examined;
  const conditions = {
    policy: settings.policy,
    ...(isQuarantineActive(memory.quarantine) && { quarantine: true as const }),
  };
  const wrote = written !== undefined;
  const node = wrote ? written : sighting.node;
  const lacksConditions = needsUnknownCondition(examined) && !wrote;
  return {
    name: node.metadata.name,
    zone: zoneOf(node),
    node,
    cached: sighting.cached,
    health: wrote ? afterWrite(health, node, sighting.lease, now) : health,
    evidence,
    verdict,
    silence: silenceToPass(examined, settings, now),
    readyBefore,
    ready: wrote ? "Unknown" : readyBefore,
    lacksConditions,
    unwritten: lacksConditions && !tried,
    confirmedBy: confirmedDeadBy(node, sighting.lease),
    permitted: whyNotOnVerdict(verdict, conditions) === undefined,
  };
}

/**
 * The silence to pass on to the next leader: for how long nothing has shown that the board runs, whether it is lost, and
 * whether it has answered on the LAN meanwhile. A leader that cannot judge the board yet passes on what earlier leaders
 * knew.
 */
function silenceToPass(
  { sighting, health, evidence, verdict }: Examined,
  { gracePeriod }: NodeLifecycleSettings,
  now: Instant,
): EarlierSilence | undefined {
  const { earlier } = health;
  const { asked, heard } = evidence;
  const word = heard && sighting.lan?.word;
  if (!isSilent(verdict) || (word === undefined && asked === undefined)) return earlier;
  const isRunning = word !== undefined && sinceAnswer(word, now) !== undefined;
  const hasAnswered = hasAnsweredSilent(health, sighting.lan?.word, gracePeriod);
  if (isRunning && !hasAnswered) return earlier;
  const isLost = !isRunning && ((asked !== undefined && verdict.verdict === "lost") || earlier?.isLost === true);
  return {
    sign: lastSignOf(sighting.node, sighting.lease),
    silentMs: isRunning ? 0 : unexplainedSilence(evidence),
    isLost,
    // What was found after the answer counts for more than the answer.
    ...(hasAnswered && !isLost && { hasAnswered: true as const }),
  };
}

/**
 * Whether a board may be tainted: because it reports itself not ready, or because the verdict on its silence permits
 * it.
 */
export const mayTaint = ({ ready, lacksConditions, permitted }: AfterConditions): boolean =>
  !lacksConditions && (ready === "False" || (ready === "Unknown" && permitted));

/** The cause of an action: our verdict if the board is Unknown, none if a living kubelet reported the state. */
export function causeOf({
  name,
  ready,
  verdict,
  confirmedBy,
}: Pick<AfterConditions, "name" | "ready" | "verdict" | "confirmedBy">): Cause | undefined {
  if (ready !== "Unknown") return undefined;
  const rule = verdict.verdict === "alive" ? "Ready is Unknown, which is enough for the policy" : verdict.rule;
  return { board: name, verdict: verdict.verdict, rule, ...(confirmedBy !== undefined && { isConfirmed: true }) };
}

export type TaintPlan =
  /** Remove both NoExecute taints and leave the queue. */
  | "clear"
  /** The board has the other of the two taints: swap them immediately, without a token. */
  | "swap"
  /** The board lacks its taint: wait for a turn. */
  | "wait"
  /** The board has its taint: leave the queue. */
  | "leave"
  /** Nothing can be concluded now: a waiting board keeps its place. */
  | "keep";

/** Decides by the status after this pass, so that a board that just became Unknown is queued in the same pass. */
export function taintPlan(board: AfterConditions): TaintPlan {
  if (board.lacksConditions) return "keep";
  if (board.ready === "True") return "clear";
  const deserved = desiredTaintFor(board.ready);
  if (isExonerated(board)) return "clear";
  if (deserved === undefined || !mayTaint(board)) return "keep";
  if (taintOf(board.node, deserved.opposite)) return "swap";
  return taintOf(board.node, deserved.wanted) ? "leave" : "wait";
}

/**
 * Whether the silent board has one of the two taints, although a witness shows that it runs. The taint is then removed.
 * If the witness also falls silent, the board waits for a turn again, and its pods' toleration times start over (D160).
 */
const isExonerated = ({ ready, verdict, node }: AfterConditions): boolean =>
  ready === "Unknown" && isWitnessed(verdict) && runningTaint(node) !== undefined;

/** The board's record after this pass; the same object if nothing changed, as for most boards in most passes. */
export function recordOf(
  board: AfterConditions,
  before: BoardRecord | undefined,
  inherited: Budget | undefined,
  now: Instant,
): BoardRecord {
  const { health, zone, ready, verdict, silence, unwritten, confirmedBy, node, cached } = board;
  const taint = taintRecord(node, before?.taint ?? inherited?.taints.get(board.name), health.returnedAt, now);
  const ahead = node.metadata.resourceVersion === cached ? undefined : { of: cached, node };
  const isCordoned = node.spec?.unschedulable === true;
  const evidence = ready === "Unknown" && taint === undefined ? board.evidence : undefined;
  const seen = { health, zone, ready, verdict, evidence, silence, unwritten, isCordoned, confirmedBy };
  const record = { ...seen, mayTaint: mayTaint(board), taint, ahead };
  return before !== undefined && isSame(before, record) ? before : record;
}

const isSame = (before: BoardRecord, after: BoardRecord): boolean =>
  (Object.keys(after) as readonly (keyof BoardRecord)[]).every((field) => before[field] === after[field]);

/**
 * The record of a board's taint. It starts over if the taint was removed and added again with another timeAdded, or if the
 * board reported again (`returnedAt`) without becoming ready: the next leader must not count the silence before that.
 */
export function taintRecord(
  node: Node,
  before: RunningTaint | undefined,
  returnedAt: Instant | undefined,
  now: Instant,
): RunningTaint | undefined {
  const taint = runningTaint(node);
  if (taint === undefined) return undefined;
  if (before !== undefined && before.added === taint.timeAdded)
    return returnedAt && isAfter(returnedAt, before.since) ? { ...before, since: returnedAt, isBack: true } : before;
  return { added: taint.timeAdded, since: now, foreign: {} };
}
