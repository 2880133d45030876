import type { Instant } from "./clock.ts";

/** How far a loop has come: what the watchdog asks for. */
export interface Progress {
  readonly name: string;
  /** When it moved last, or will move by itself; idle: nothing is there for it to do. */
  readonly at: Instant | "idle";
}
