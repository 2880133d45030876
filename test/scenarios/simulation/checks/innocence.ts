import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, NodeState } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, actText, isTainted } from "./acts.ts";

/** The longest time for which a leader may fail to notice a broken watch, plus the time to send its decision. */
const reaction: Millis = judging.stall + 60_000;

/**
 * A board with power and a working link to the API server is never harmed, whatever happens to that server, the leader
 * or other boards. A board's trouble ends when its Node shows that it has.
 *
 * Policy `kubernetes`: the trouble is back when a restored Node shows it again. A pod that does not tolerate the taint
 * of its Node goes as soon as a leader sees it, whether the board lives or not, as in kube-controller-manager. Policy
 * `evidence` harms no board whose heartbeats arrive, so a restore excuses nothing there.
 */
export function checkInnocence(history: History, acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => {
    const since = innocentSince(history, act.board, act.triedAt);
    if (since === undefined || act.triedAt - since <= reaction) return [];
    return [`innocent: ${actText(act)}: it had no fault since ${(since / 1000).toFixed(3)}s`];
  });
}

/** Undefined if it has a fault at that time. */
function innocentSince(history: History, board: string, time: Millis): Millis | undefined {
  const spans = (history.troubles.get(board) ?? []).filter(({ from }) => from <= time);
  if (spans.some(({ until }) => until === undefined || until >= time)) return undefined;
  const ends = [...spans.map(({ until = time }) => until), ...restoredTroubles(history, board)];
  const over = Math.max(...ends.filter((at) => at <= time));
  if (over === Number.NEGATIVE_INFINITY) return 0;
  const states = history.nodes.get(board) ?? [];
  const atEnd = states.findLastIndex(({ at }) => at <= over);
  const clean = states.slice(Math.max(0, atEnd)).find(isClean);
  return clean === undefined || clean.at > time ? undefined : Math.max(over, clean.at);
}

/** The restores that brought back a Node in trouble. */
function restoredTroubles({ restores, nodes, setting }: History, board: string): readonly Millis[] {
  if (setting.policy === "evidence") return [];
  return restores.filter((restore) => {
    // The first state at that moment: before it the server serves no client.
    const restored = nodes.get(board)?.find(({ at }) => at === restore);
    return restored !== undefined && !isClean(restored);
  });
}

const isClean = ({ ready, taints }: NodeState): boolean => ready === "True" && !isTainted(taints);
