import type { Millis } from "../base/clock.ts";
import type { Rejected } from "./reflector/rejections.ts";

/** The state of one resource's cache and watch, for the status. */
export interface InformerStats {
  readonly resource: string;
  /** Whether the cache holds at least the first list. */
  readonly synced: boolean;
  /** Whether the watch is live: see `isLive`. */
  readonly live: boolean;
  /** Time since the last event or bookmark; undefined if there was none. */
  readonly receivedAgo: Millis | undefined;
  /** Time since the last proof: see WatchHealth. Undefined if there was none. */
  readonly provenAgo: Millis | undefined;
  /** Number of lists since the start of the process; 0 if the watch resumed at the stored position. */
  readonly lists: number;
  /** Number of watches opened since the start of the process. */
  readonly watches: number;
  /** Objects that could not be used. */
  readonly rejected: Rejected;
  /** Why nothing is arriving, and what to do about it; undefined if the last list or watch worked. */
  readonly problem: string | undefined;
  /** Number of keys with pending deltas. */
  readonly depth: number;
  /** Lower bound of the age of the oldest pending delta; undefined if none is pending. */
  readonly behind: Millis | undefined;
  /** Number of deltas merged into newer ones because too many deltas of one object were pending. */
  readonly merged: number;
  /** Number of stored objects. */
  readonly objects: number;
  /** The resourceVersion at which the watch would resume; undefined before the first list, or with several watches. */
  readonly position: string | undefined;
}

/**
 * Combines the stats of several watches of one resource. `boards`: the stats of the watch on Nodes, on which the others
 * depend.
 */
export function sumOf(
  resource: string,
  boards: InformerStats,
  parts: readonly InformerStats[],
  synced: boolean,
): InformerStats {
  const sum = (of: (stats: InformerStats) => number): number => parts.reduce((total, stats) => total + of(stats), 0);
  const oldest = (of: (stats: InformerStats) => Millis | undefined): Millis | undefined => {
    const ages = [boards, ...parts].map(of);
    return ages.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b)));
  };
  return {
    resource,
    synced,
    live: [boards, ...parts].every(({ live }) => live),
    receivedAgo: oldest(({ receivedAgo }) => receivedAgo),
    provenAgo: oldest(({ provenAgo }) => provenAgo),
    lists: sum(({ lists }) => lists),
    watches: sum(({ watches }) => watches),
    rejected: {
      count: sum(({ rejected }) => rejected.count),
      last: parts.flatMap(({ rejected }) => rejected.last).slice(0, 5),
    },
    problem: parts.find(({ problem }) => problem !== undefined)?.problem,
    depth: sum(({ depth }) => depth),
    behind: Math.max(0, ...parts.map(({ behind = 0 }) => behind)) || undefined,
    merged: sum(({ merged }) => merged),
    objects: sum(({ objects }) => objects),
    position: undefined,
  };
}
