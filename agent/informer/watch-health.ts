import { elapsed, type Instant, isAfter, laterOf, type Millis } from "../base/clock.ts";

/**
 * The health of one watch, as a value that the Reflector replaces. A board's silence is real only while this shows that
 * its heartbeats would have been received: see docs/judgement.md.
 */
export interface WatchHealth {
  readonly connected: boolean;
  /**
   * When the last event or bookmark arrived, or the server responded to a check of the silence; undefined if neither
   * has happened.
   */
  readonly lastReceived: Instant | undefined;
  /**
   * The moment up to which everything is known to have been received: when the last proof arrived or, if it arrived
   * late, the earlier moment that it proves (see OwnRenewals); undefined if no proof has arrived. An event of a flowing
   * stream is a proof once it is in the cache, and so is a bookmark whose resourceVersion moved. A bookmark that
   * repeats the previous resourceVersion proves nothing, because a server that has lost its etcd keeps sending such
   * bookmarks.
   */
  readonly lastProof: Instant | undefined;
  /** When the watch last became live again after an interruption longer than `blip`; undefined if it never has. */
  readonly restoredAt: Instant | undefined;
  /** When the watch stopped being live; undefined while it is live. Initially, this is the first failed attempt. */
  readonly notLiveSince: Instant | undefined;
  /** When the current delivery without a pause longer than `blip` began; undefined before the first event. */
  readonly flowingSince?: Instant | undefined;
  /** When the watch last resumed delivery after more than a second without a connection; undefined if it never has. */
  readonly resumedAt?: Instant | undefined;
  /** When the last news arrived: an event, or a bookmark whose resourceVersion moved; undefined if none has. */
  readonly lastNews?: Instant | undefined;
  /** When a watch was first opened after the last news; undefined once a watch opened since then has delivered news. */
  readonly newslessSince?: Instant | undefined;
  /** Since when received changes have been waiting to be applied to the cache; undefined if none are waiting. */
  readonly behindSince?: Instant | undefined;
}

export interface WatchLimits {
  /** A connected watch that is silent for this long is not live. */
  readonly stall: Millis;
  /** An interruption up to this long is not an outage. */
  readonly blip: Millis;
}

/** Longest normal interruption: after the server ends a watch, the next one is opened immediately. */
const moment: Millis = 1000;
/** Within this time, a resumed watch delivers the events of the interruption. */
const catchUp: Millis = 10_000;

/** The health of a watch that has never been connected. */
export const neverConnected: WatchHealth = {
  connected: false,
  lastReceived: undefined,
  lastProof: undefined,
  restoredAt: undefined,
  notLiveSince: undefined,
};

/**
 * A watch is live while it is connected and an event, a bookmark or a response about its silence has arrived within
 * `stall`.
 */
export const isLive = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  health.connected && health.lastReceived !== undefined && elapsed(health.lastReceived, now) < limits.stall;

/**
 * Whether the cache shows the server's state with a delay of at most a second. False while the cache cannot be written,
 * because a watch whose events cannot be stored is closed and reopened.
 */
export const isInStep = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  isLive(health, limits, now) &&
  (health.resumedAt === undefined || elapsed(health.resumedAt, now) >= catchUp) &&
  (health.behindSince === undefined || elapsed(health.behindSince, now) < moment);

/**
 * The health after the watch was opened. The server has responded, which counts as received, but is neither a proof nor
 * news.
 */
export function recordOpen(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  return recordReceipt({ ...health, connected: true, newslessSince: health.newslessSince ?? now }, limits, now);
}

/** The health once a first list delivers objects, which makes earlier failed attempts irrelevant. */
export const recordDelivery = (health: WatchHealth): WatchHealth =>
  health.lastReceived === undefined && health.notLiveSince !== undefined
    ? { ...health, notLiveSince: undefined }
    : health;

/** The health after an event or a bookmark arrived. */
export function recordReceipt(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  const stalled = health.lastReceived !== undefined && elapsed(health.lastReceived, now) >= limits.stall;
  const notLiveSince = health.notLiveSince ?? (stalled ? health.lastReceived : undefined);
  // The first connection does not end an outage.
  const outage =
    notLiveSince !== undefined && health.lastReceived !== undefined && elapsed(notLiveSince, now) > limits.blip;
  const isResumed =
    notLiveSince !== undefined && health.lastReceived !== undefined && elapsed(notLiveSince, now) > moment;
  return {
    connected: health.connected,
    lastReceived: now,
    lastProof: health.lastProof,
    restoredAt: outage ? now : health.restoredAt,
    notLiveSince: undefined,
    flowingSince: isPaused(health, limits, now) ? now : health.flowingSince,
    resumedAt: isResumed ? now : health.resumedAt,
    lastNews: health.lastNews,
    newslessSince: health.newslessSince,
  };
}

/** The health after an event, or a bookmark whose resourceVersion moved. */
export const recordNews = (health: WatchHealth, now: Instant): WatchHealth => ({
  ...health,
  lastNews: now,
  newslessSince: undefined,
});

/** The health after everything up to this instant was proven to be in the cache. */
export const recordProof = (health: WatchHealth, upTo: Instant): WatchHealth => ({
  ...health,
  lastProof: laterOf(health.lastProof, upTo),
});

const isPaused = ({ lastReceived }: WatchHealth, { blip }: WatchLimits, now: Instant): boolean =>
  lastReceived === undefined || elapsed(lastReceived, now) > blip;

/**
 * Whether an event received now is a proof. After a pause it may be the first of many delayed events, and a later one
 * may be the renewal of a board that appears silent.
 */
export const isFlowing = (health: WatchHealth, limits: WatchLimits, now: Instant): boolean =>
  !isPaused(health, limits, now) &&
  health.flowingSince !== undefined &&
  elapsed(health.flowingSince, now) >= limits.blip;

/**
 * The health after the watch ended. If it was closed because it stalled, it stopped being live at its last delivery;
 * otherwise, it stops now.
 */
export function recordClose(health: WatchHealth, limits: WatchLimits, now: Instant): WatchHealth {
  const { lastReceived } = health;
  const stalled = health.connected && lastReceived !== undefined && elapsed(lastReceived, now) >= limits.stall;
  return { ...health, connected: false, notLiveSince: health.notLiveSince ?? (stalled ? lastReceived : now) };
}

/**
 * The health after the run was ended deliberately at `since`. If the watch was live until then, or has never been live,
 * the time until the next run is not an outage, and the next run begins like the first one, but `restoredAt` is kept.
 */
export function recordPause(health: WatchHealth, since: Instant): WatchHealth {
  const { connected, lastReceived, notLiveSince, restoredAt } = health;
  if (connected) return health;
  const wasLive = notLiveSince !== undefined && elapsed(since, notLiveSince) >= 0;
  if (wasLive || lastReceived === undefined) return { ...neverConnected, restoredAt };
  return { ...health, lastNews: undefined, newslessSince: undefined };
}

/** Several watches as one: as healthy as the worst of them, and restored when the last of them is restored. */
export function worstOf(healths: readonly WatchHealth[]): WatchHealth {
  const earliest = (instants: readonly (Instant | undefined)[]): Instant | undefined =>
    instants.reduce((a, b) => (a && b ? (isAfter(a, b) ? b : a) : undefined));
  const known = (instants: readonly (Instant | undefined)[]): readonly Instant[] =>
    instants.filter((instant) => instant !== undefined).sort((a, b) => a.mono - b.mono);
  return {
    connected: healths.every(({ connected }) => connected),
    lastReceived: earliest(healths.map(({ lastReceived }) => lastReceived)),
    lastProof: earliest(healths.map(({ lastProof }) => lastProof)),
    restoredAt: known(healths.map(({ restoredAt }) => restoredAt)).at(-1),
    notLiveSince: known(healths.map(({ notLiveSince }) => notLiveSince))[0],
    flowingSince: known(healths.map(({ flowingSince }) => flowingSince)).at(-1),
    lastNews: earliest(healths.map(({ lastNews }) => lastNews)),
    newslessSince: known(healths.map(({ newslessSince }) => newslessSince))[0],
    resumedAt: known(healths.map(({ resumedAt }) => resumedAt)).at(-1),
    behindSince: known(healths.map(({ behindSince }) => behindSince))[0],
  };
}
