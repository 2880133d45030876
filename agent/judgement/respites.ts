import { elapsed, type Instant, isAfter, type Millis } from "../base/clock.ts";
import type { Link } from "./link.ts";

/** The time between two outages, in which heartbeats can arrive. */
export interface Respite {
  /** When the outage before it ended. */
  readonly since: Instant;
  /** How long it had lasted when a pass last found the link live. */
  readonly length: Millis;
  /**
   * How long any board was heard in this respite: from its start to the last heartbeat received. 0 if fewer than half
   * of the boards not counted as lost have sent one.
   */
  readonly heard: Millis;
}

/** The time that a board missed in the respites before the current one, which began at `since`. */
export interface Missed {
  readonly since: Instant;
  readonly length: Millis;
}

/** Maximum number of respites remembered: at one outage per minute, those of the last half hour. */
const mostRespites = 32;

/**
 * The respites after another pass. `heardAt`: when the last heartbeat of any board arrived; undefined if too few boards
 * have sent one since the last outage ended.
 */
export function nextRespites(
  before: readonly Respite[],
  { link: { live, restoredAt }, heardAt }: { readonly link: Link; readonly heardAt: Instant | undefined },
  now: Instant,
): readonly Respite[] {
  if (restoredAt === undefined) return before;
  const isNew = before.at(-1)?.since.mono !== restoredAt.mono;
  if (!isNew && !live) return before;
  const past = isNew ? before.slice(1 - mostRespites) : before.slice(0, -1);
  const length = live ? elapsed(restoredAt, now) : 0;
  const heard = heardAt === undefined ? 0 : Math.max(0, elapsed(restoredAt, heardAt));
  return [...past, { since: restoredAt, length, heard }];
}

/**
 * Whether the respite counts as missed by a board that was silent throughout. Its length is measured to the last
 * heartbeat of another board, because an outage may begin right after that; it must be at least a quarter of a grace
 * period, which is longer than the renewal interval.
 */
const counts = ({ heard }: Respite, gracePeriod: Millis): boolean => heard >= gracePeriod / 4;

/**
 * What a board missed whose silence began at `probe`; undefined if it missed nothing, or if no other boards are heard
 * in the current respite either.
 */
export function missedSince(
  probe: Instant,
  respites: readonly Respite[],
  { link: { restoredAt }, gracePeriod }: { readonly link: Link; readonly gracePeriod: Millis },
): Missed | undefined {
  const present = respites.at(-1);
  if (restoredAt === undefined || present?.since.mono !== restoredAt.mono || present.heard === 0) return undefined;
  const length = respites
    .slice(0, -1)
    .filter((respite) => isAfter(respite.since, probe) && counts(respite, gracePeriod))
    .reduce((sum, respite) => sum + respite.heard, 0);
  return length === 0 ? undefined : { since: restoredAt, length };
}

/** The link flaps if this many of the last respites were all shorter than a grace period. */
const flaps = 4;

/** When the link began to flap, as far as is remembered; undefined if it does not. */
export function flappingSince(respites: readonly Respite[], gracePeriod: Millis): Instant | undefined {
  const short = respites.length - 1 - respites.findLastIndex(({ length }) => length > gracePeriod);
  return short < flaps ? undefined : respites.at(-short)?.since;
}
