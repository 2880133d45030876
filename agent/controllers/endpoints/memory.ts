import { type Expectations, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** What is remembered of a service from sync to sync. */
export interface EndpointsMemory {
  /** As far as they were written down: where a write failed, the next one tells of the same change. */
  readonly told: TriggerTimes | undefined;
  /** What the present decision tells of. */
  readonly telling: TriggerTimes | undefined;
  /** Our writes that the cache does not show yet. Until it does nothing is concluded from it. */
  readonly expected: Expectations;
  /** How often in a row the cache was behind. */
  readonly waits: number;
}

export const noMemory: EndpointsMemory = { told: undefined, telling: undefined, expected: nothingExpected, waits: 0 };
