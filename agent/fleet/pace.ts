import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { LinkErrorKind } from "./link.ts";

export interface PaceLimits {
  readonly first: Millis;
  readonly most: Millis;
  /** The first pause where more tries do not help until a person does something. */
  readonly refused: Millis;
}

/** What decides when to try again. */
export interface Pace {
  readonly failures: number;
  /** Connections that ended as soon as they were up: when. */
  readonly short: readonly Instant[];
}

export const rested: Pace = { failures: 0, short: [] };

export interface Ended {
  readonly kind: LinkErrorKind;
  /** How long it was up; `undefined`: it never was. */
  readonly upFor: Millis | undefined;
}

/** A connection that stood for so long was a good one: the next failure is the first. */
const stable: Millis = 60_000;

/**
 * Two boards with one certificate throw each other out: so many ends within so long, each so soon
 * (docs/interfaces.md#session).
 */
const duplicate = { ends: 4, within: 60_000, soon: 5000 } as const;

const needsPerson: ReadonlySet<LinkErrorKind> = new Set(["refused", "protocol", "credentials"]);

/**
 * How long to wait after a connection ended. `chance` is uniform in [0, 1): after a broker's restart its boards come back at
 * any moment of a time that doubles, not all in one second.
 */
export function afterEnd(
  pace: Pace,
  { kind, upFor }: Ended,
  now: Instant,
  limits: PaceLimits,
  chance: number,
): { readonly pace: Pace; readonly pause: Millis; readonly isDuplicate: boolean } {
  const failures = (upFor !== undefined && upFor >= stable ? 0 : pace.failures) + 1;
  // Only an end without a word: not one that the broker gave a reason for, nor one of ours because of what it sent.
  const isShort = kind === "taken" || (kind === "lost" && upFor !== undefined && upFor < duplicate.soon);
  const recent = pace.short.filter((at) => elapsed(at, now) < duplicate.within);
  const short = isShort ? [...recent, now] : recent;
  if (short.length >= duplicate.ends) return { pace: { failures, short: [] }, pause: limits.most, isDuplicate: true };
  const first = needsPerson.has(kind) ? limits.refused : limits.first;
  const longest = backoff(failures, { first, most: limits.most });
  const pause = needsPerson.has(kind) ? Math.min(limits.most, longest * (1 + chance)) : longest * chance;
  return { pace: { failures, short }, pause, isDuplicate: false };
}
