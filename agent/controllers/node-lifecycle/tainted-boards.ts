import { isLimitedOn, maxTaintedBoards, type ValveNow, type ValveRestraint } from "../safety-valve.ts";
import type { BoardRecord } from "./memory.ts";

/** The number of boards that have our taint because of our verdict. */
export function taintedBoards(records: ReadonlyMap<string, BoardRecord>): number {
  let count = 0;
  for (const record of records.values()) if (record.taint !== undefined && isLimitedOn(record)) count++;
  return count;
}

/** How many more boards the safety valve permits to be tainted. */
export const roomForTaints = (records: ReadonlyMap<string, BoardRecord>, valve: ValveNow): number =>
  maxTaintedBoards(valve, records.size) - taintedBoards(records);

/** Why the safety valve permits no more taints; undefined if it does. */
export function restraintOfValve(
  records: ReadonlyMap<string, BoardRecord>,
  valve: ValveNow,
): ValveRestraint | undefined {
  if (valve.shut) return valve.shut.restraint;
  const [count, limit] = [taintedBoards(records), maxTaintedBoards(valve, records.size)];
  return count < limit ? undefined : { why: "valve", of: "boards", count, limit };
}
