import type { Instant } from "../base/clock.ts";

export interface Sickness {
  /** "undervolted", "throttled by heat": in the words of the status. */
  readonly why: string;
  readonly since: Instant;
}

/** The board's own health, as far as it matters for leading. */
export interface BoardHealth {
  /**
   * Why this board should not lead now (docs/judgement.md#terms): undervolted, throttled, storage read-only, clock not
   * trusted.
   */
  sickness(): Sickness | undefined;
}
