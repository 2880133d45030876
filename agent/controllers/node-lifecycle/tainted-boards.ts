import { isLimited, mostTainted, type ValveNow } from "../safety-valve.ts";
import type { BoardRecord } from "./memory.ts";

/** The number of boards that have our taint because of our verdict. */
export function taintedBoards(records: ReadonlyMap<string, BoardRecord>): number {
  let count = 0;
  for (const record of records.values()) if (record.taint !== undefined && isLimited(record)) count++;
  return count;
}

/** How many further boards the safety valve permits to be tainted. */
export const roomForTaints = (records: ReadonlyMap<string, BoardRecord>, valve: ValveNow): number =>
  mostTainted(valve, records.size) - taintedBoards(records);
