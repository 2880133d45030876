import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { tolerances } from "../pod-keeper.ts";
import { judging } from "../site-config.ts";
import { type Act, actText, lifecycleTaints } from "./acts.ts";

/** The greatest age of the view behind a deletion, plus the time until it is sent. */
const lookback: Millis = judging.stall + 60_000;
/** Clocks differ, and timestamps are whole seconds. */
const slack: Millis = 2000;

/** A pod is evicted only from a board with a NoExecute taint, and not before its toleration of that taint has elapsed. */
export function checkTolerations({ nodes }: History, acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => {
    if (act.is !== "evict") return [];
    const seconds = tolerances[act.pod?.split("-")[0] ?? ""];
    if (seconds === undefined) return [`tolerations: ${actText(act)}: it tolerates all taints without limit`];
    const spans = taintedSpans(nodes.get(act.board) ?? [], act.triedAt);
    const recent = spans.filter(({ until }) => until >= act.triedAt - lookback);
    if (recent.length === 0) return [`tolerations: ${actText(act)}: the board has no taint`];
    const longest = Math.max(...recent.map(({ from }) => act.triedAt - from));
    if (longest >= 1000 * seconds - slack) return [];
    return [`tolerations: ${actText(act)}: it may stay ${seconds}s, and stayed ${(longest / 1000).toFixed(3)}s`];
  });
}

function taintedSpans(
  states: readonly { readonly at: Millis; readonly taints: readonly string[] }[],
  now: Millis,
): readonly { readonly from: Millis; readonly until: Millis }[] {
  const spans: { from: Millis; until: Millis }[] = [];
  for (const [index, { at, taints }] of states.entries()) {
    if (at > now || !taints.some((taint) => lifecycleTaints.includes(taint))) continue;
    const until = Math.min(now, states[index + 1]?.at ?? now);
    const last = spans.at(-1);
    if (last?.until === at) last.until = until;
    else spans.push({ from: at, until });
  }
  return spans;
}
