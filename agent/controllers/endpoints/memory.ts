import { type Expectations, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** Memory of a service between syncs. */
export interface EndpointsMemory {
  /** Trigger times already written; after a failed write the next one reports the same change. */
  readonly told: TriggerTimes | undefined;
  /** Trigger times of the current decision. */
  readonly telling: TriggerTimes | undefined;
  /** Our writes that the cache does not show yet; until it does, no decision is based on it. */
  readonly expected: Expectations;
  /** How often in a row the cache was behind. */
  readonly waits: number;
}

export const noMemory: EndpointsMemory = { told: undefined, telling: undefined, expected: nothingExpected, waits: 0 };
