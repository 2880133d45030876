import { type Expectations, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** Memory of a service between syncs. */
export interface EndpointsMemory {
  /** Trigger times of the last successful sync; after a failed write, the next sync reports the same change. */
  readonly reported: TriggerTimes | undefined;
  /** Trigger times of the current decision, until its write has succeeded. */
  readonly reporting: TriggerTimes | undefined;
  /** Our writes that the cache does not show yet; until it does, no decision is based on it. */
  readonly expected: Expectations;
  /** Number of passes in a row in which the cache did not show our writes. */
  readonly waits: number;
}

export const noMemory: EndpointsMemory = {
  reported: undefined,
  reporting: undefined,
  expected: nothingExpected,
  waits: 0,
};
