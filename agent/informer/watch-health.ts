import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * The health of one watch, as a value that the Reflector replaces (judgement: silence counts only while we listen).
 *
 * heard: an event or a bookmark, any sign that the stream moves. proof: an event of a stream that flows, once it can be
 * read, or a bookmark whose resourceVersion moved; a server that lost its etcd keeps sending bookmarks with an old one.
 */
export interface WatchHealth {
  readonly connected: boolean;
  readonly lastHeard: Instant | undefined;
  readonly lastProof: Instant | undefined;
  /** When the watch last became live again after an interruption longer than `blip`. Undefined if never. */
  readonly restoredAt: Instant | undefined;
  /** Since when the watch is not live; undefined while it is. At the start it counts from the first attempt. */
  readonly deafSince: Instant | undefined;
  /** Since when it delivers without a pause longer than `blip`. */
  readonly flowsSince?: Instant | undefined;
}

export interface WatchLimits {
  /** A connected watch that is silent for this long is not live. */
  readonly stall: Millis;
  /** An interruption up to this long is not an outage. */
  readonly blip: Millis;
}

export const unheard: WatchHealth = {
  connected: false,
  lastHeard: undefined,
  lastProof: undefined,
  restoredAt: undefined,
  deafSince: undefined,
};

/** A watch is live while it is connected and an event or bookmark came within `stall`. */
export const isLive = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  health.connected && health.lastHeard !== undefined && elapsed(health.lastHeard, now) < limits.stall;

/** The connection is up. Opening a watch is an answer of the server, so it counts as heard, not as proof. */
export function opened(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  return heard({ ...health, connected: true }, limits, now);
}

export function heard(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  const stalled = health.lastHeard !== undefined && elapsed(health.lastHeard, now) >= limits.stall;
  const deafSince = health.deafSince ?? (stalled ? health.lastHeard : undefined);
  // The first connection ends no outage: before it nothing was known, and silence proved nothing.
  const outage = deafSince !== undefined && health.lastHeard !== undefined && elapsed(deafSince, now) > limits.blip;
  return {
    connected: health.connected,
    lastHeard: now,
    lastProof: health.lastProof,
    restoredAt: outage ? now : health.restoredAt,
    deafSince: undefined,
    flowsSince: isPaused(health, limits, now) ? now : health.flowsSince,
  };
}

/** A proof arrived and can be read: everything before that instant has been received. */
export const proven = (health: WatchHealth, at: Instant): WatchHealth => ({ ...health, lastProof: at });

const isPaused = ({ lastHeard }: WatchHealth, { blip }: WatchLimits, now: Instant): boolean =>
  lastHeard === undefined || elapsed(lastHeard, now) > blip;

/**
 * Whether an event received now is current. After a pause it may be the first of many that were delayed on the way: the
 * next one may be the renewal of the very board that seems silent.
 */
export const isFlowing = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  !isPaused(health, limits, now) && health.flowsSince !== undefined && elapsed(health.flowsSince, now) >= limits.blip;

/**
 * The connection is gone. If it was torn down because it stalled, deafness began when it last delivered; if it ended by
 * itself, nothing shows that it was deaf before.
 */
export function closed(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  const { lastHeard } = health;
  const stalled = health.connected && lastHeard !== undefined && elapsed(lastHeard, now) >= limits.stall;
  return { ...health, connected: false, deafSince: health.deafSince ?? (stalled ? lastHeard : now) };
}

/**
 * The run was ended on purpose at `since`. If the watch was live until then, the pause is not an outage: the next run
 * begins as the first one did, and keeps the record of earlier outages.
 */
export function paused(health: WatchHealth, since: Instant): WatchHealth {
  const { connected, deafSince, restoredAt } = health;
  const wasLive = !connected && deafSince !== undefined && elapsed(since, deafSince) >= 0;
  return wasLive ? { ...unheard, restoredAt } : health;
}

/** Several watches as one: as good as the worst of them, and restored when the last of them was. */
export function worstOf(healths: readonly WatchHealth[]): WatchHealth {
  const earliest = (instants: readonly (Instant | undefined)[]): Instant | undefined =>
    instants.reduce((a, b) => (a && b ? (elapsed(a, b) < 0 ? b : a) : undefined));
  const known = (instants: readonly (Instant | undefined)[]): readonly Instant[] =>
    instants.filter((instant) => instant !== undefined).sort((a, b) => a.mono - b.mono);
  return {
    connected: healths.every(({ connected }) => connected),
    lastHeard: earliest(healths.map(({ lastHeard }) => lastHeard)),
    lastProof: earliest(healths.map(({ lastProof }) => lastProof)),
    restoredAt: known(healths.map(({ restoredAt }) => restoredAt)).at(-1),
    deafSince: known(healths.map(({ deafSince }) => deafSince))[0],
    flowsSince: known(healths.map(({ flowsSince }) => flowsSince)).at(-1),
  };
}
