import type { Instant } from "./clock.ts";

/** The progress of a loop, for the watchdog. */
export interface Progress {
  readonly name: string;
  /** When it last moved, or will move by itself; idle: it has no work. */
  readonly at: Instant | "idle";
}
