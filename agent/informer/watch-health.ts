import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * What is known of one watch, as a value that the Reflector replaces (judgement: silence counts only while we listen).
 *
 * heard: an event or a bookmark, any sign that the stream moves. proof: an event of a stream that flows, once it can be
 * read, or a bookmark whose resourceVersion moved; a server that lost its etcd keeps sending bookmarks with an old one.
 */
export interface WatchHealth {
  readonly connected: boolean;
  readonly lastHeard: Instant | undefined;
  readonly lastProof: Instant | undefined;
  /** When the watch became live again after it had not been live for longer than `blip`. Undefined: never so far. */
  readonly restoredAt: Instant | undefined;
  /** Since when it is not live, while that is so; the start of listening counts from the first attempt. */
  readonly deafSince: Instant | undefined;
  /** Since when it speaks without a pause longer than `blip`. */
  readonly flowsSince?: Instant | undefined;
}

export interface WatchLimits {
  /** A connected watch that says nothing for so long is not live. */
  readonly stall: Millis;
  /** An interruption up to here is no outage. */
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
  // The first connection ends no outage: nothing was known before it, and nothing could be concluded from silence.
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

/** A proof came, and what it says can be read: whatever happened before that instant has been heard. */
export const proven = (health: WatchHealth, at: Instant): WatchHealth => ({ ...health, lastProof: at });

const isPaused = ({ lastHeard }: WatchHealth, { blip }: WatchLimits, now: Instant): boolean =>
  lastHeard === undefined || elapsed(lastHeard, now) > blip;

/**
 * Whether an event that comes now is one of now. After a pause it may be the first of many that were held up on the way:
 * the next one may be the renewal of the very board that seems to be silent.
 */
export const isFlowing = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  !isPaused(health, limits, now) && health.flowsSince !== undefined && elapsed(health.flowsSince, now) >= limits.blip;

/**
 * The connection is gone. Where it was torn down because it stalled, deafness began when something was last heard; of one
 * that ended by itself nothing says that it had been deaf before.
 */
export function closed(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  const { lastHeard } = health;
  const stalled = health.connected && lastHeard !== undefined && elapsed(lastHeard, now) >= limits.stall;
  return { ...health, connected: false, deafSince: health.deafSince ?? (stalled ? lastHeard : now) };
}

/**
 * Its run was ended on purpose at `since`. Where it was live until then, the pause that follows is no outage: the next run
 * begins as the first one did, and knows of the outages before.
 */
export function paused(health: WatchHealth, since: Instant): WatchHealth {
  const { connected, deafSince, restoredAt } = health;
  const wasLive = !connected && deafSince !== undefined && elapsed(since, deafSince) >= 0;
  return wasLive ? { ...unheard, restoredAt } : health;
}

/** Several watches that stand for one: as good as the worst of them, and restored when the last of them was. */
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
