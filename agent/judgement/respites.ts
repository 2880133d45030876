import { elapsed, type Instant, isAfter, laterOf, type Millis } from "../base/clock.ts";
import type { Link } from "./link.ts";

/**
 * The time between two outages, in which heartbeats can arrive. Only the part that falls into one term counts: an
 * outage may end the term, and a process that is then a standby may receive no heartbeats.
 */
export interface Respite {
  /** When the outage before it ended, or the term's first pass began, whichever was later. */
  readonly since: Instant;
  /** How long it had lasted when a pass last found the link live. */
  readonly length: Millis;
  /**
   * How long heartbeats arrived in this respite: from its start to the last one received. 0 if fewer than half of the
   * boards not counted as lost have sent one.
   */
  readonly heard: Millis;
}

/** The time that a board missed in the respites before the current one, which began at `since`. */
export interface Missed {
  readonly since: Instant;
  readonly length: Millis;
}

/** Maximum number of respites remembered: at one outage per minute, those of the last half hour. */
const maxRespites = 32;

/** When the present respite began. `judgesSince`: when the first pass of the term began. */
export const respiteSince = ({ restoredAt }: Pick<Link, "restoredAt">, judgesSince: Instant): Instant =>
  laterOf(judgesSince, restoredAt) ?? judgesSince;

/**
 * The respites after another pass. `heardAt`: when the last heartbeat of any board arrived; undefined if too few boards
 * have sent one since the present respite began, at `since`.
 */
export function nextRespites(
  before: readonly Respite[],
  { since, live, heardAt }: { readonly since: Instant; readonly live: boolean; readonly heardAt: Instant | undefined },
  now: Instant,
): readonly Respite[] {
  const isNew = before.at(-1)?.since.mono !== since.mono;
  if (!isNew && !live) return before;
  const past = isNew ? before.slice(1 - maxRespites) : before.slice(0, -1);
  const length = live ? elapsed(since, now) : 0;
  const heard = heardAt === undefined ? 0 : Math.max(0, elapsed(since, heardAt));
  return [...past, { since, length, heard }];
}

/**
 * The shortest time in which a board may be expected to renew its Lease, whatever the grace period is: kubelets do it
 * every 10 s by default.
 */
const minRespite: Millis = 12_500;

/** How long a respite has to last for a board that was silent throughout it to have missed it. */
const longEnough = (gracePeriod: Millis): Millis => Math.max(gracePeriod / 4, minRespite);

/** The grace period of a board that has missed earlier respites. */
export const shortenedGrace = (gracePeriod: Millis): Millis => Math.min(gracePeriod, longEnough(gracePeriod));

/**
 * Whether a board that was silent throughout the respite has missed it. The respite is measured up to the last
 * heartbeat of another board, because an outage may have begun right after it.
 */
const isLongEnough = ({ heard }: Respite, gracePeriod: Millis): boolean => heard >= longEnough(gracePeriod);

/**
 * The time missed by a board whose silence began at `probe`; undefined if it missed none, or if no other boards are
 * heard in the current respite either.
 */
export function missedSince(
  probe: Instant,
  respites: readonly Respite[],
  { link, gracePeriod }: { readonly link: Link; readonly gracePeriod: Millis },
): Missed | undefined {
  const present = respites.at(-1);
  if (present === undefined || present.heard === 0 || !isCurrentRespite(present, link)) return undefined;
  const length = respites
    .slice(0, -1)
    .filter((respite) => isAfter(respite.since, probe) && isLongEnough(respite, gracePeriod))
    .reduce((sum, respite) => sum + respite.heard, 0);
  return length === 0 ? undefined : { since: present.since, length };
}

/** Whether no outage has ended since the respite began. */
export const isCurrentRespite = (
  { since }: Pick<Respite, "since">,
  { restoredAt }: Pick<Link, "restoredAt">,
): boolean => restoredAt === undefined || !isAfter(restoredAt, since);

/** The link flaps if this many of the last respites were all shorter than a grace period. */
const flaps = 4;

/** When the link began to flap, within the remembered respites; undefined if it does not flap. */
export function flappingSince(respites: readonly Respite[], gracePeriod: Millis): Instant | undefined {
  const short = respites.length - 1 - respites.findLastIndex(({ length }) => length > gracePeriod);
  return short < flaps ? undefined : respites.at(-short)?.since;
}
