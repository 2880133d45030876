import { elapsed, type Instant, isAfter, type Millis } from "../base/clock.ts";
import type { Link } from "./link.ts";

/** The time between two outages, in which heartbeats can arrive. */
export interface Respite {
  /** When the outage before it ended. */
  readonly since: Instant;
  /** How long it had lasted when a pass last found the link live. */
  readonly length: Millis;
  /** Boards could send heartbeats in it: at least half of those that do not count as lost have. */
  readonly heard: boolean;
}

/** The time that a board missed in the respites before the present one, which began at `since`. */
export interface Missed {
  readonly since: Instant;
  readonly length: Millis;
}

/** Maximum number of respites remembered: at one outage per minute, those of the last half hour. */
const mostRespites = 32;

/** The respites after another pass. `heard`: enough boards have sent a heartbeat since the last outage ended. */
export function nextRespites(
  before: readonly Respite[],
  { link: { live, restoredAt }, heard }: { readonly link: Link; readonly heard: boolean },
  now: Instant,
): readonly Respite[] {
  if (restoredAt === undefined) return before;
  const isNew = before.at(-1)?.since.mono !== restoredAt.mono;
  if (!isNew && !live) return before;
  const past = isNew ? before.slice(1 - mostRespites) : before.slice(0, -1);
  return [...past, { since: restoredAt, length: live ? elapsed(restoredAt, now) : 0, heard }];
}

/**
 * Whether a board that was silent throughout the respite has missed it. After a third of a grace period a living board has
 * tried again, whatever the outage did to its connection and its backoff.
 */
const counts = ({ length, heard }: Respite, gracePeriod: Millis): boolean => heard && length >= gracePeriod / 3;

/**
 * What a board missed whose silence began at `probe`; undefined: nothing, or other boards are not heard in the present
 * respite either.
 */
export function missedSince(
  probe: Instant,
  respites: readonly Respite[],
  { link: { restoredAt }, gracePeriod }: { readonly link: Link; readonly gracePeriod: Millis },
): Missed | undefined {
  const present = respites.at(-1);
  if (restoredAt === undefined || present?.since.mono !== restoredAt.mono || !present.heard) return undefined;
  const length = respites
    .slice(0, -1)
    .filter((respite) => isAfter(respite.since, probe) && counts(respite, gracePeriod))
    .reduce((sum, respite) => sum + respite.length, 0);
  return length === 0 ? undefined : { since: restoredAt, length };
}

/** The link flaps if the last respites, so many of them, were all shorter than a grace period. */
const flaps = 4;

/** When the link began to flap, as far as is remembered; undefined: it does not. */
export function flappingSince(respites: readonly Respite[], gracePeriod: Millis): Instant | undefined {
  const short = respites.length - 1 - respites.findLastIndex(({ length }) => length > gracePeriod);
  return short < flaps ? undefined : respites.at(-short)?.since;
}
