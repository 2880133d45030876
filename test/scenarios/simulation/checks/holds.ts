import type { History, OrderedHold } from "../history.ts";
import { type Act, actText } from "./acts.ts";

/**
 * Once the operator has the answer, no leader begins a harmful act in a frozen scope before its end, and a paused
 * controller begins no pass after the current one. Deleting the Lease deletes the holds.
 */
export function checkHolds(history: History, acts: readonly Act[]): readonly string[] {
  return history.holds.flatMap((hold) =>
    acts
      .filter((act) => act.sentAt > hold.from + slack(hold) && act.sentAt < hold.until && isHeld(act, hold))
      .map((act) => `holds: ${actText(act)}, while ${JSON.stringify(hold)}`),
  );
}

/** A running pass completes; its request may take up to the request timeout. */
const slack = ({ what }: OrderedHold): number => ("pause" in what ? 60_000 : 0);

function isHeld({ is, board, zone }: Act, { what }: OrderedHold): boolean {
  if ("freeze" in what) {
    const { scope, target } = what.freeze;
    const isInScope = scope === "site" || target === (scope === "zone" ? zone : board);
    return isInScope && (is === "taint" || is === "evict");
  }
  return (is === "evict" && what.pause === "taint-eviction") || (is === "taint" && what.pause === "node-lifecycle");
}
