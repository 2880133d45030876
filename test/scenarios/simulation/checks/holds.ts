import type { History, OrderedHold } from "../history.ts";
import { type Act, actText } from "./acts.ts";

/**
 * Once the operator has the answer, no leader begins a harmful act in a frozen scope before its end, and a paused
 * controller does nothing. Deleting the Lease deletes the holds.
 */
export function checkHolds(history: History, acts: readonly Act[]): readonly string[] {
  return history.holds.flatMap((hold) =>
    acts
      .filter((act) => act.sentAt > hold.from && act.sentAt < hold.until && isHeld(act, hold))
      .map((act) => `holds: ${actText(act)}, while ${JSON.stringify(hold)}`),
  );
}

function isHeld({ is, board, zone }: Act, { what }: OrderedHold): boolean {
  if ("freeze" in what) {
    const { scope, target } = what.freeze;
    const isInScope = scope === "site" || target === (scope === "zone" ? zone : board);
    return isInScope && (is === "taint" || is === "evict");
  }
  return (is === "evict" && what.pause === "taint-eviction") || (is === "taint" && what.pause === "node-lifecycle");
}
