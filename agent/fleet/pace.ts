import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { LinkErrorKind } from "./link.ts";

export interface PaceLimits {
  readonly first: Millis;
  readonly most: Millis;
  /** First pause if only an operator can help. */
  readonly refused: Millis;
}

/** State of the reconnect backoff. */
export interface Pace {
  readonly failures: number;
  /** When connections ended right after they were up. */
  readonly short: readonly Instant[];
}

export const rested: Pace = { failures: 0, short: [] };

export interface Ended {
  readonly kind: LinkErrorKind;
  /** How long it was up; `undefined`: never. */
  readonly upFor: Millis | undefined;
}

/** A connection that lasted this long resets the backoff. */
const stable: Millis = 60_000;

/**
 * Two boards with one certificate disconnect each other: this many ends within the interval, each within `soon` of its
 * start (docs/interfaces.md#session).
 */
const duplicate = { ends: 4, within: 60_000, soon: 5000 } as const;

const needsPerson: ReadonlySet<LinkErrorKind> = new Set(["refused", "protocol", "credentials"]);

/**
 * Decides the pause after a connection ended. `chance` is uniform in [0, 1): after a broker's restart its boards
 * reconnect spread over a doubling interval.
 */
export function afterEnd(
  pace: Pace,
  { kind, upFor }: Ended,
  now: Instant,
  limits: PaceLimits,
  chance: number,
): { readonly pace: Pace; readonly pause: Millis; readonly isDuplicate: boolean } {
  const failures = (upFor !== undefined && upFor >= stable ? 0 : pace.failures) + 1;
  // Counts only ends without a reason: neither the broker's DISCONNECT nor our own reaction to a malformed packet.
  const isShort = kind === "taken" || (kind === "lost" && upFor !== undefined && upFor < duplicate.soon);
  const recent = pace.short.filter((at) => elapsed(at, now) < duplicate.within);
  const short = isShort ? [...recent, now] : recent;
  if (short.length >= duplicate.ends) return { pace: { failures, short: [] }, pause: limits.most, isDuplicate: true };
  const first = needsPerson.has(kind) ? limits.refused : limits.first;
  const longest = backoff(failures, { first, most: limits.most });
  const pause = needsPerson.has(kind) ? Math.min(limits.most, longest * (1 + chance)) : longest * chance;
  return { pace: { failures, short }, pause, isDuplicate: false };
}
