import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { LinkErrorKind } from "./mqtt/link.ts";

export interface PaceLimits {
  /** Upper bound of the first pause. */
  readonly first: Millis;
  /** Upper bound of every pause. */
  readonly most: Millis;
  /** First pause after a failure that only an operator can repair. */
  readonly refused: Millis;
}

/** State of the reconnect backoff. */
export interface Pace {
  /** Number of failures since the last stable connection. */
  readonly failures: number;
  /** When connections ended soon after they came up. */
  readonly short: readonly Instant[];
}

/** The initial pace, before any failure. */
export const rested: Pace = { failures: 0, short: [] };

export interface EndedLink {
  readonly kind: LinkErrorKind;
  /** How long the connection was up; undefined if it never came up. */
  readonly upFor: Millis | undefined;
}

/** A connection that lasted this long resets the backoff. */
const stable: Millis = 60_000;

/**
 * Two boards with the same certificate disconnect each other. This is detected when `ends` connections have ended
 * within `within` milliseconds, each less than `soon` after it came up (docs/interfaces.md#session).
 */
const duplicate = { ends: 4, within: 60_000, soon: 5000 } as const;

/** Failures that only an operator can repair. */
const needsOperator: ReadonlySet<LinkErrorKind> = new Set(["refused", "protocol", "credentials"]);

/**
 * Decides the pause after a connection ended. `chance` is a random number in [0, 1): after a restart of the broker,
 * each board reconnects at a random moment within an interval that doubles with each failure.
 */
export function afterEnd(
  pace: Pace,
  { kind, upFor }: EndedLink,
  now: Instant,
  limits: PaceLimits,
  chance: number,
): { readonly pace: Pace; readonly pause: Millis; readonly isDuplicate: boolean } {
  const failures = (upFor !== undefined && upFor >= stable ? 0 : pace.failures) + 1;
  // A second board with this certificate can cause only a session takeover, or the loss of a connection soon after it
  // came up.
  const isShort = kind === "taken" || (kind === "lost" && upFor !== undefined && upFor < duplicate.soon);
  const recent = pace.short.filter((at) => elapsed(at, now) < duplicate.within);
  const short = isShort ? [...recent, now] : recent;
  if (short.length >= duplicate.ends) return { pace: { failures, short: [] }, pause: limits.most, isDuplicate: true };
  const first = needsOperator.has(kind) ? limits.refused : limits.first;
  const longest = backoff(failures, { first, max: limits.most });
  const pause = needsOperator.has(kind) ? Math.min(limits.most, longest * (1 + chance)) : longest * chance;
  return { pace: { failures, short }, pause, isDuplicate: false };
}
