import type { Instant, Millis } from "../base/clock.ts";
import type { MissingPermission } from "../client/permissions.ts";

export interface LoopError {
  readonly message: string;
  readonly hint: string | undefined;
  readonly at: Instant;
  /** The permission that a request lacked; undefined if the error has another cause. */
  readonly missing: MissingPermission | undefined;
}

/** A control loop's state, for status and metrics. */
export interface ControllerStats {
  readonly name: string;
  /**
   * standby: another board leads. starting: the first resync is running. paused: by an operator. shadow: it runs, and
   * none of its writes is sent.
   */
  readonly state: "standby" | "starting" | "running" | "paused" | "shadow";
  /** Number of waiting keys. */
  readonly queue: number;
  /** Number of passes since the control loop was built, at the beginning of the term. */
  readonly syncs: number;
  readonly errorsLastHour: number;
  /** 95th percentile of the time that a pass takes; undefined if none has run. */
  readonly syncP95: Millis | undefined;
  readonly lastError: LoopError | undefined;
}
