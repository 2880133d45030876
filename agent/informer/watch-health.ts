import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * What is known of one watch, as a value that the Reflector replaces (judgement: silence counts only while we listen).
 *
 * heard: an event or a bookmark, any sign that the stream moves. proof: an event, or a bookmark whose resourceVersion
 * moved; a server that lost its etcd keeps sending bookmarks with an old one.
 */
export interface WatchHealth {
  readonly connected: boolean;
  readonly lastHeard: Instant | undefined;
  readonly lastProof: Instant | undefined;
  /** When the watch became live again after it had not been live for longer than `blip`. Undefined: never so far. */
  readonly restoredAt: Instant | undefined;
  /** Since when it is not live, while that is so; the start of listening counts from the first attempt. */
  readonly deafSince: Instant | undefined;
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
  return heard({ ...health, connected: true }, limits, now, false);
}

export function heard(health: WatchHealth, limits: WatchLimits, now: Instant, proof: boolean): WatchHealth {
  const stalled = health.lastHeard !== undefined && elapsed(health.lastHeard, now) >= limits.stall;
  const deafSince = health.deafSince ?? (stalled ? health.lastHeard : undefined);
  // The first connection ends no outage: nothing was known before it, and nothing could be concluded from silence.
  const outage = deafSince !== undefined && health.lastHeard !== undefined && elapsed(deafSince, now) > limits.blip;
  return {
    connected: health.connected,
    lastHeard: now,
    lastProof: proof ? now : health.lastProof,
    restoredAt: outage ? now : health.restoredAt,
    deafSince: undefined,
  };
}

/** The connection is gone, or was torn down because it stalled. What was last heard marks the beginning of deafness. */
export function closed(health: WatchHealth, now: Instant): WatchHealth {
  return { ...health, connected: false, deafSince: health.deafSince ?? now };
}
