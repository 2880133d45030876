import type { Instant, Millis } from "../base/clock.ts";

/** A control loop's state, for status and metrics. */
export interface ControllerStats {
  readonly name: string;
  /** standby: no term. starting: the sweep over the cached objects is under way. paused: by an operator. */
  readonly state: "standby" | "starting" | "running" | "paused";
  readonly queue: number;
  readonly oldestWait: Millis | undefined;
  readonly syncs: number;
  readonly errorsLastHour: number;
  readonly syncP95: Millis | undefined;
  readonly lastError: { readonly message: string; readonly hint: string | undefined; readonly at: Instant } | undefined;
}
