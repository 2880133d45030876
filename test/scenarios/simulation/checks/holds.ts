import type { History, OrderedHold } from "../history.ts";
import { type Act, told } from "./acts.ts";

/**
 * Once an operator was answered, nothing harmful is begun in a frozen scope before its end, whoever leads; nor does a
 * paused controller begin anything after what was under way. A Lease that somebody deletes takes the orders with it.
 */
export function checkHolds(history: History, acts: readonly Act[]): readonly string[] {
  return history.holds.flatMap((hold) =>
    acts
      .filter((act) => act.sentAt > hold.from + slack(hold) && act.sentAt < hold.until && isHeld(act, hold))
      .map((act) => `holds: ${told(act)}, while ${JSON.stringify(hold)}`),
  );
}

/** A pass that is under way comes to its end: a request of it may take as long as one may. */
const slack = ({ what }: OrderedHold): number => ("pause" in what ? 60_000 : 0);

function isHeld({ is, board, zone }: Act, { what }: OrderedHold): boolean {
  if ("freeze" in what) {
    const { scope, target } = what.freeze;
    const isInScope = scope === "site" || target === (scope === "zone" ? zone : board);
    return isInScope && (is === "taint" || is === "evict");
  }
  return (is === "evict" && what.pause === "taint-eviction") || (is === "taint" && what.pause === "node-lifecycle");
}
