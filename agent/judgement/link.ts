import { earlierOf, elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../base/clock.ts";
import { isLive, type WatchHealth, type WatchLimits } from "../informer/watch-health.ts";

/** The health of the Node and Lease watches taken together, as a value. */
export interface Link {
  /** Whether both watches are live. */
  readonly live: boolean;
  /** When the first of the watches stopped being live; undefined if both are live, or the time is unknown. */
  readonly notLiveSince: Instant | undefined;
  /** When the last outage, an interruption longer than a blip, ended; undefined if there was none. */
  readonly restoredAt: Instant | undefined;
  /** The times up to which the silence of Nodes, and of Leases, is proven; undefined if it is not proven at all. */
  readonly proof: { readonly nodes: Instant | undefined; readonly leases: Instant | undefined };
  /** When the last change of any Lease arrived; undefined if none has, or if the time is unknown. */
  readonly lastBeat?: Instant | undefined;
}

export function linkOf(watches: { nodes: WatchHealth; leases: WatchHealth }, limits: WatchLimits, now: Instant): Link {
  const both = [watches.nodes, watches.leases];
  const down = both.filter((watch) => !isLive(watch, limits, now));
  return {
    live: down.length === 0,
    notLiveSince: down.map((watch) => watch.notLiveSince ?? watch.lastReceived).reduce(earlierOf, undefined),
    restoredAt: both.map((watch) => watch.restoredAt).reduce(laterOf, undefined),
    proof: { nodes: watches.nodes.lastProof, leases: watches.leases.lastProof },
    lastBeat: watches.leases.lastNews,
  };
}

/**
 * Whether an observation made at `since` is outdated, because an outage ended after it or is still going on. An
 * interruption up to a blip is not an outage.
 */
export const isOutdated = (
  { restoredAt, notLiveSince }: Link,
  since: Instant,
  { blip }: WatchLimits,
  now: Instant,
): boolean =>
  (restoredAt !== undefined && isAfter(restoredAt, since)) ||
  (notLiveSince !== undefined && elapsed(notLiveSince, now) > blip);

/**
 * The quarantine after an outage. Harmful acts are held until every known board has reported, or until the watches have
 * been live for a full grace period, which is enough time for every living board to report. After that, evictions
 * proceed slowly for a while.
 */
export interface Quarantine {
  /** The end of the outage that this quarantine follows; undefined if there was none. */
  readonly restoredAt: Instant | undefined;
  /** How long the watches have been live since that outage ended. */
  readonly liveFor: Millis;
  /** When `liveFor` was last counted; undefined if the watches are not live, or the quarantine has ended. */
  readonly countedAt: Instant | undefined;
  /** When the quarantine ended; undefined if it is still going on, or there is none. */
  readonly releasedAt: Instant | undefined;
}

export const noQuarantine: Quarantine = {
  restoredAt: undefined,
  liveFor: 0,
  countedAt: undefined,
  releasedAt: undefined,
};

/** The quarantine after another pass. `allReported`: every known board has reported since the end of the outage. */
export function nextQuarantine(
  before: Quarantine,
  {
    link,
    gracePeriod,
    allReported,
  }: { readonly link: Link; readonly gracePeriod: Millis; readonly allReported: boolean },
  now: Instant,
): Quarantine {
  if (link.restoredAt === undefined) return before;
  const isNew = before.restoredAt === undefined || link.restoredAt.mono > before.restoredAt.mono;
  const quarantine = isNew ? beginning(link.restoredAt) : before;
  if (quarantine.releasedAt !== undefined || !link.live) return { ...quarantine, countedAt: undefined };
  const liveFor = quarantine.liveFor + (quarantine.countedAt ? elapsed(quarantine.countedAt, now) : 0);
  const ended = { ...quarantine, liveFor, countedAt: now };
  // The quarantine may have ended long ago, because no pass runs while another board leads.
  if (liveFor >= gracePeriod) return { ...ended, releasedAt: shifted(now, gracePeriod - liveFor) };
  return { ...ended, releasedAt: allReported ? now : undefined };
}

const beginning = (restoredAt: Instant): Quarantine => ({
  restoredAt,
  liveFor: 0,
  countedAt: restoredAt,
  releasedAt: undefined,
});

/** The end of a quarantine in which not all boards report; undefined while its time does not run. */
export function endWithoutReports(
  { countedAt, liveFor }: Quarantine,
  gracePeriod: Millis,
  now: Instant,
): Instant | undefined {
  const end = countedAt && shifted(countedAt, gracePeriod - liveFor);
  return end && isAfter(end, now) ? end : undefined;
}

/** Whether the quarantine is still going on. */
export const isQuarantineActive = ({ restoredAt, releasedAt }: Quarantine): boolean =>
  restoredAt !== undefined && releasedAt === undefined;

/** Whether a quarantine ended so recently that evictions proceed at the secondary rate. */
export const isRecovering = ({ releasedAt }: Quarantine, recovery: Millis, now: Instant): boolean =>
  releasedAt !== undefined && elapsed(releasedAt, now) < recovery;

/** The latest possible end of the quarantine, for callers that do not know all boards; undefined if there is none. */
export const latestQuarantineEnd = ({ restoredAt }: Link, gracePeriod: Millis, now: Instant): Instant | undefined =>
  restoredAt !== undefined && elapsed(restoredAt, now) < gracePeriod ? shifted(restoredAt, gracePeriod) : undefined;
