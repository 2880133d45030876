import type { Instant } from "../base/clock.ts";

/** Why a board should not lead now, and when that began (docs/judgement.md#terms). */
export interface Sickness {
  /** As shown by the status: "undervolted", "throttled". */
  readonly why: string;
  readonly since: Instant;
}

export interface BoardHealth {
  /** Why the board should not lead now; undefined if it is well enough to lead. */
  sickness(): Sickness | undefined;
}
