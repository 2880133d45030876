import type { Instant } from "../../agent/base/clock.ts";
import type { ApiPart, LeaderPart, Parts, WatchPart } from "../../agent/status/parts.ts";

/** An instant this many seconds after the agent's start; the wall clock shows 12:00 at the start. */
export const at = (seconds: number): Instant => ({
  mono: 1_000_000 + seconds * 1000,
  wall: Date.parse("2026-11-20T12:00:00Z") + seconds * 1000,
});

/**
 * The parts of a board that leads a healthy site, an hour after its start; each test changes the ones that matter to
 * it.
 */
export function healthy(changes: Partial<Parts> = {}, now = at(3600)): Parts {
  return {
    now,
    process: {
      pid: 512,
      version: "0.4.1",
      startedAt: at(0),
      bootId: "boot-1",
      writtenBootMs: now.mono + 5000,
      staleAfterMs: 90_000,
      invocationId: undefined,
      writeFailures: 0,
    },
    identity: { site: "plant7", board: "edge-02", node: "edge-02", profile: "raspberry-pi-4" },
    leader: leading(),
    api,
    watches: [nodesWatch()],
    traffic: [{ resource: "nodes", verb: "watch", requests: 2, sentBytes: 400, receivedBytes: 2_000_000 }],
    zones: [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 8, rate: 0.1 }],
    lan: { boards: 7, heard: 6, unheard: { count: 1, some: ["edge-07"] }, mute: { count: 0, some: [] } },
    eviction: { queue: 0, pending: 0, evicted1h: 0, held: undefined },
    controllers: [{ name: "node-lifecycle", state: "running", queue: 1, syncP95Ms: 38, errors1h: 0 }],
    journal: { path: "/var/lib/siteward/cache.db", depth: 3, dbBytes: 4 * 2 ** 20, walBytes: 262_144 },
    memory: { rssBytes: 74_448_896, anonymousBytes: 20_971_520, peakBytes: 80_000_000, heapUsedBytes: 12_582_912 },
    board: { model: "Raspberry Pi 4 Model B Rev 1.5", ramBytes: 1_970_368_512 },
    config: { files: ["/etc/siteward/siteward.yaml"], warnings: [] },
    ...changes,
  };
}

export const leading = (): LeaderPart => ({
  role: "leader",
  holder: "edge-02",
  term: 17,
  since: at(600),
  leaseAgeMs: 2000,
  leaseDurationMs: 60_000,
  renewP95Ms: 180.4,
  missedRenewals: 0,
  ownDuration: 60_000,
  leaderlessSince: undefined,
});

export const api: ApiPart = {
  state: "up",
  since: at(1),
  rttP50Ms: 84,
  rttP95Ms: 410,
  requests1h: 412,
  failed1h: 3,
  restarts1h: 2,
  error: undefined,
};

export const nodesWatch = (): WatchPart => ({
  resource: "nodes",
  state: "live",
  objects: 12,
  heardMs: 4000,
  lists: 1,
  restarts: 1,
  rejected: 0,
  rejectedWhy: [],
});
