import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, isTainted, told } from "./acts.ts";

/** A leader may be deaf for so long without knowing it; then it still has to send what it decided. */
const reaction: Millis = judging.stall + 60_000;

/**
 * A board with power, whose own way to the API server is in order, comes to no harm: whatever happens to that server, to the
 * leader, or to the other boards. A board that was in trouble is out of it when its Node says so.
 */
export function checkInnocence(history: History, acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => {
    const since = innocentSince(history, act.board, act.triedAt);
    if (since === undefined || act.triedAt - since <= reaction) return [];
    return [`innocent: ${told(act)}: nothing was wrong with it since ${(since / 1000).toFixed(3)}s`];
  });
}

/** Undefined: something is wrong with it at that time. */
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
