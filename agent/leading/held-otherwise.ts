import type { HeldGroup } from "../decisions/decision-record.ts";
import type { DueActs } from "../holds/held-acts.ts";

/** The acts of a term that are held, but not by an outage. */
export function heldOtherwise(groups: readonly Pick<HeldGroup, "act" | "board" | "restraint" | "count">[]): DueActs {
  const others = groups.filter(({ restraint: { why } }) => why !== "not-live" && why !== "quarantine");
  return {
    boards: new Set(others.flatMap(({ act, board }) => (act === "board-tainted" ? [board] : []))),
    pods: others.reduce((sum, { act, count }) => sum + (act === "pod-evicted" ? count : 0), 0),
  };
}
