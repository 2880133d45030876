import type { Instant } from "../base/clock.ts";

export interface Sickness {
  /** "undervolted", "throttled by heat": in the words of the status. */
  readonly why: string;
  readonly since: Instant;
}

/** How the board itself is, as far as it matters to whether it should lead. */
export interface BoardHealth {
  /**
   * Why this board should not lead now (docs/judgement.md#terms): undervolted, throttled, storage read-only, clock not
   * trusted.
   */
  sickness(): Sickness | undefined;
}
