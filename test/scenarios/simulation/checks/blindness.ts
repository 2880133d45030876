import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, isTainted, told } from "./acts.ts";
import type { Hearing } from "./hearing.ts";
import type { TermBegun } from "./terms.ts";

/** From a decision to the moment at which it is sent: a queue, an allowance of requests, writes that go before it. */
const execution: Millis = 60_000;
/** Clocks differ by half a percent, monitor passes look every few seconds. */
const slack: Millis = 2000;

/**
 * Nothing is done to a board while nobody listens, nothing because of a silence that was none, and nothing before a grace
 * period is over in which the boards could be heard again.
 */
export function checkBlindness(
  history: History,
  acts: readonly Act[],
  terms: readonly TermBegun[],
  hearings: ReadonlyMap<number, Hearing>,
): readonly string[] {
  return acts.flatMap((act) => {
    const hearing = hearings.get(act.process);
    if (hearing === undefined) return [`blind: ${told(act)}: nobody knows that process`];
    const wrong: string[] = [];
    if (!hearing.wasLiveWithin(act.triedAt - execution, act.sentAt)) wrong.push(`blind: ${told(act)}: it was deaf`);
    if (!wasSilent(history, act)) wrong.push(`blind: ${told(act)}: the board was not silent for a grace period`);
    const restored = hearing.restoredBefore(act.triedAt);
    if (restored !== undefined && isHeld(history, act, hearing, restored)) {
      wrong.push(`quarantine: ${told(act)}: the outage was over only at ${(restored / 1000).toFixed(3)}s`);
    }
    const began = terms.findLast(({ order }) => order < act.order)?.at ?? 0;
    if (act.is === "unknown" && act.sentAt - Math.max(began, restored ?? 0) < judging.gracePeriod - slack) {
      wrong.push(`grace: ${told(act)}: not a grace period after ${(began / 1000).toFixed(3)}s`);
    }
    return wrong;
  });
}

/**
 * There was a moment, not longer ago than a watch may be deaf without knowing it, at which the API server had heard
 * nothing from the board for a grace period. Policy `kubernetes` asks for no more than Ready=Unknown once that is written,
 * and deletes pods for as long as the taint is there, as its model does: also when the board is back already.
 */
function wasSilent({ signs, nodes, setting }: History, { is, board, triedAt }: Act): boolean {
  const oldest = triedAt - judging.stall - execution;
  const heard = signs.get(board) ?? [];
  const moments = [...heard.filter((at) => at > oldest && at <= triedAt), triedAt];
  const last = heard.filter((at) => at <= oldest).at(-1) ?? Number.NEGATIVE_INFINITY;
  const gaps = moments.map((at, index) => at - (moments[index - 1] ?? last));
  if (gaps.some((gap) => gap > judging.gracePeriod - slack)) return true;
  if (setting.policy === "evidence" || is === "unknown") return false;
  const states = nodes.get(board) ?? [];
  return states.some(({ at, ready, taints }, index) => {
    const until = states[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const asks = ready === "Unknown" || (is === "evict" && isTainted(taints));
    return asks && at <= triedAt && until >= oldest;
  });
}

function isHeld({ nodes }: History, act: Act, hearing: Hearing, restored: Millis): boolean {
  if (act.is === "unknown" || act.sentAt - restored >= judging.gracePeriod - slack) return false;
  const known = [...nodes].filter(([, states]) => (states[0]?.at ?? Number.POSITIVE_INFINITY) < restored);
  return known.some(([board]) => !hearing.heardOf(board, restored, act.sentAt));
}
