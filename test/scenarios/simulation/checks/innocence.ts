import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, actText, isTainted } from "./acts.ts";

/** The longest time that a leader does not notice a broken watch, plus the time to send its decision. */
const reaction: Millis = judging.stall + 60_000;

/**
 * A board with power and a working link to the API server is never harmed, whatever happens to that server, the leader or
 * other boards. The trouble of a board ends when its Node shows it.
 */
export function checkInnocence(history: History, acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => {
    const since = innocentSince(history, act.board, act.triedAt);
    if (since === undefined || act.triedAt - since <= reaction) return [];
    return [`innocent: ${actText(act)}: it had no fault since ${(since / 1000).toFixed(3)}s`];
  });
}

/** Undefined if it has a fault at that time. */
function innocentSince({ troubles, nodes }: History, board: string, time: Millis): Millis | undefined {
  const spans = (troubles.get(board) ?? []).filter(({ from }) => from <= time);
  if (spans.length === 0) return 0;
  if (spans.some(({ until }) => until === undefined || until >= time)) return undefined;
  const over = Math.max(...spans.map(({ until = time }) => until));
  const states = nodes.get(board) ?? [];
  const atEnd = states.findLastIndex(({ at }) => at <= over);
  const clean = states.slice(Math.max(0, atEnd)).find(({ ready, taints }) => ready === "True" && !isTainted(taints));
  return clean === undefined || clean.at > time ? undefined : Math.max(over, clean.at);
}
