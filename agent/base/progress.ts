import type { Instant } from "./clock.ts";

/** The progress of a loop, for the watchdog. */
export interface Progress {
  readonly name: string;
  /**
   * The last progress, or the future instant until which the loop is waiting deliberately. "idle": the loop has no
   * work.
   */
  readonly at: Instant | "idle";
}
