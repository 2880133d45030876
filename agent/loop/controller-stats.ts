import type { Instant, Millis } from "../base/clock.ts";

/** A control loop as its board reports it. */
export interface ControllerStats {
  readonly name: string;
  /** standby: no term. starting: the cached objects are being gone through. paused: an operator wants no pass of it. */
  readonly state: "standby" | "starting" | "running" | "paused";
  readonly queue: number;
  readonly oldestWait: Millis | undefined;
  readonly syncs: number;
  readonly errorsLastHour: number;
  readonly syncP95: Millis | undefined;
  readonly lastError: { readonly message: string; readonly hint: string | undefined; readonly at: Instant } | undefined;
}
