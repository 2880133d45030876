import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { isLive, type WatchHealth, type WatchLimits } from "../informer/watch-health.ts";

/** The health of the Node and Lease watches taken together, as a value. */
export interface Link {
  readonly live: boolean;
  /** Since when at least one of the watches is not live; undefined: both are, or it is not known. */
  readonly deafSince: Instant | undefined;
  /** When the last outage, an interruption longer than a blip, was over. */
  readonly restoredAt: Instant | undefined;
  /** Instants up to which the silence of a Node, or of a Lease, is proven. */
  readonly proof: { readonly nodes: Instant | undefined; readonly leases: Instant | undefined };
}

export function linkOf(watches: { nodes: WatchHealth; leases: WatchHealth }, limits: WatchLimits, now: Instant): Link {
  const both = [watches.nodes, watches.leases];
  const deaf = both.filter((watch) => !isLive(watch, limits, now));
  return {
    live: deaf.length === 0,
    deafSince: deaf.map((watch) => watch.deafSince ?? watch.lastHeard).reduce(earlier, undefined),
    restoredAt: both.map((watch) => watch.restoredAt).reduce(later, undefined),
    proof: { nodes: watches.nodes.lastProof, leases: watches.leases.lastProof },
  };
}

/** The later of two instants; `undefined` is earlier than any. */
export const later = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || (b !== undefined && b.mono > a.mono) ? b : a;

const earlier = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || (b !== undefined && b.mono < a.mono) ? b : a;

/**
 * Whether conclusions from the observation at `since` are void: an outage ended after it, or one is going on. An
 * interruption up to a blip is no outage.
 */
export const isOutdated = (
  { restoredAt, deafSince }: Link,
  since: Instant,
  { blip }: WatchLimits,
  now: Instant,
): boolean =>
  (restoredAt !== undefined && elapsed(since, restoredAt) > 0) ||
  (deafSince !== undefined && elapsed(deafSince, now) > blip);

/**
 * Follows an outage: harmful acts are held until every known board was heard again, or until a full grace period of
 * live time is over, in which every living board could report. After that evictions go slowly for a while.
 */
export interface Quarantine {
  /** The end of the outage that this quarantine follows. */
  readonly restoredAt: Instant | undefined;
  /** Live time counted since then, and when it was counted last. */
  readonly liveFor: Millis;
  readonly countedAt: Instant | undefined;
  /** When the quarantine was over. */
  readonly releasedAt: Instant | undefined;
}

export const noQuarantine: Quarantine = {
  restoredAt: undefined,
  liveFor: 0,
  countedAt: undefined,
  releasedAt: undefined,
};

/** The quarantine one pass later. `allHeard`: every known board was heard since the end of the outage. */
export function nextQuarantine(
  before: Quarantine,
  { link, gracePeriod, allHeard }: { readonly link: Link; readonly gracePeriod: Millis; readonly allHeard: boolean },
  now: Instant,
): Quarantine {
  if (link.restoredAt === undefined) return before;
  const isNew = before.restoredAt === undefined || link.restoredAt.mono > before.restoredAt.mono;
  const quarantine = isNew ? beginning(link.restoredAt) : before;
  if (quarantine.releasedAt !== undefined || !link.live) return { ...quarantine, countedAt: undefined };
  const liveFor = quarantine.liveFor + (quarantine.countedAt ? elapsed(quarantine.countedAt, now) : 0);
  // It may have been over for long: no pass runs while another board leads.
  const releasedAt = liveFor >= gracePeriod ? shifted(now, gracePeriod - liveFor) : allHeard ? now : undefined;
  return { ...quarantine, liveFor, countedAt: now, releasedAt };
}

const beginning = (restoredAt: Instant): Quarantine => ({
  restoredAt,
  liveFor: 0,
  countedAt: restoredAt,
  releasedAt: undefined,
});

export const isHeld = ({ restoredAt, releasedAt }: Quarantine): boolean =>
  restoredAt !== undefined && releasedAt === undefined;

/** For a while after a quarantine, evictions go at the reduced rate. */
export const isRecovering = ({ releasedAt }: Quarantine, recovery: Millis, now: Instant): boolean =>
  releasedAt !== undefined && elapsed(releasedAt, now) < recovery;

/** The latest end of a quarantine, for callers that do not know all boards; `undefined`: there is none. */
export const heldUntil = ({ restoredAt }: Link, gracePeriod: Millis, now: Instant): Instant | undefined =>
  restoredAt !== undefined && elapsed(restoredAt, now) < gracePeriod ? shifted(restoredAt, gracePeriod) : undefined;
