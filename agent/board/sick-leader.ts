import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { Sickness } from "./board-health.ts";

/** Each agent writes it on its own Node: `ready` if it could take over. */
export const standbyAnnotation = "siteward.dev/standby";
/** Written along with it: the version that the board runs. */
export const versionAnnotation = "siteward.dev/version";
/** Written along with it: the key of the Lease of the board's site. Tenants cannot write Nodes. */
export const siteAnnotation = "siteward.dev/site";
export const standsBy = "ready";

/** Another board of the site, as the leader's cache shows its Node. */
export interface Peer {
  readonly name: string;
  readonly isReady: boolean;
  /** The value of its standby annotation. */
  readonly standby: string | undefined;
}

/** Why a leader should release the Lease: sick for long enough, and another stands by (docs/judgement.md#terms). */
export function reasonToStepDown(
  sickness: Sickness | undefined,
  peers: Iterable<Peer>,
  { now, sickFor }: { readonly now: Instant; readonly sickFor: Millis },
): string | undefined {
  if (sickness === undefined || elapsed(sickness.since, now) < sickFor) return undefined;
  for (const { name, isReady, standby } of peers) {
    if (isReady && standby === standsBy)
      return `${sickness.why} for ${formatDuration(elapsed(sickness.since, now))}, and ${name} stands by`;
  }
  return undefined;
}

/**
 * Why a sick board does not stand for election. It leaves the others time to; if none of them does, it stands after
 * all: a site with a sick leader is better off than one without, and a site of one board has no other.
 */
export function reasonNotToStand(
  sickness: Sickness | undefined,
  { leaderlessFor, patience }: { readonly leaderlessFor: Millis; readonly patience: Millis },
): string | undefined {
  return sickness === undefined || leaderlessFor >= patience ? undefined : sickness.why;
}
