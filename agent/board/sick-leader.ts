import { elapsed, type Instant, isAfter, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/time/duration.ts";
import type { Sickness } from "./board-health.ts";

/*
 * Annotations that each agent writes on its own board's Node. They can be trusted, because tenants cannot write Nodes.
 */
/** The value is `standsBy` if the agent could take over as leader. */
export const standbyAnnotation = "siteward.dev/standby";
/** The version of siteward that the board runs. */
export const versionAnnotation = "siteward.dev/version";
/** The site that the board belongs to: namespace and name of its Lease. */
export const siteAnnotation = "siteward.dev/site";
export const standsBy = "ready";

/** Another board of the site, according to its Node in the leader's cache. */
export interface Peer {
  readonly name: string;
  /** Whether the Node's condition Ready is True. */
  readonly isReady: boolean;
  /** The value of the Node's standby annotation. */
  readonly standby: string | undefined;
}

/**
 * Why a leader should release the Lease: it has been unwell for `sickFor`, and another board is ready to take over
 * (docs/judgement.md#terms). Undefined if it should keep the Lease.
 */
export function reasonToStepDown(
  sickness: Sickness | undefined,
  peers: Iterable<Peer>,
  { now, sickFor }: { readonly now: Instant; readonly sickFor: Millis },
): string | undefined {
  if (sickness === undefined || elapsed(sickness.since, now) < sickFor) return undefined;
  const other = standingBy(peers);
  return other && `${sickness.why} for ${formatDuration(elapsed(sickness.since, now))}, and ${other} is a standby`;
}

/** The sickness that has lasted longest; undefined if there is none. */
export const longestOf = (all: readonly (Sickness | undefined)[]): Sickness | undefined =>
  all.reduce(
    (longest, other) => (other && !(longest && !isAfter(longest.since, other.since)) ? other : longest),
    undefined,
  );

/**
 * Why a leader that has been unwell for `sickFor` and has never listed the boards should release the Lease: it judges
 * none of them, and does not know whether another board is a standby.
 */
export const reasonToLeaveUnseen = (
  sickness: Sickness | undefined,
  { now, sickFor }: { readonly now: Instant; readonly sickFor: Millis },
): string | undefined =>
  sickness === undefined || elapsed(sickness.since, now) < sickFor
    ? undefined
    : `${sickness.why} for ${formatDuration(elapsed(sickness.since, now))}, and it has never listed the boards`;

/** A term that lasted this long, or ended cleanly before that, is not broken. */
export const termHolds: Millis = 300_000;

/** A board is unwell after this many broken terms in a row. */
const maxBrokenTerms = 3;

/**
 * Why a board with this many broken terms in a row is unwell: its agent wins the Lease again after each restart, but
 * never leads for long (docs/judgement.md#unwell-boards). Undefined if it is not unwell.
 */
export const reasonOfBrokenTerms = (count: number): string | undefined =>
  count < maxBrokenTerms
    ? undefined
    : `its last ${count} terms ended with a crash or a power cut within ${formatDuration(termHolds)}`;

/** The name of a board that could take over as leader; undefined if there is none. */
export function standingBy(peers: Iterable<Peer>): string | undefined {
  for (const { name, isReady, standby } of peers) if (isReady && standby === standsBy) return name;
  return undefined;
}

/**
 * Why a board that is unwell for the reason `why` does not compete for the Lease; undefined if it may. It waits for
 * `patience` so that another board can take over. After that, it competes anyway, because an unwell leader is better
 * for a site than none.
 */
export function reasonNotToStand(
  why: string | undefined,
  { leaderlessFor, patience }: { readonly leaderlessFor: Millis; readonly patience: Millis },
): string | undefined {
  return leaderlessFor >= patience ? undefined : why;
}
