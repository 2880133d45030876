import type { Millis } from "../base/clock.ts";
import type { Rejected } from "./rejections.ts";

/** How well one resource is mirrored, for the status. */
export interface InformerStats {
  readonly resource: string;
  readonly synced: boolean;
  readonly live: boolean;
  /** Ages; undefined if it never happened. */
  readonly heardAgo: Millis | undefined;
  readonly provenAgo: Millis | undefined;
  /** Number of lists of the collection; a restart that resumes at its position adds none. */
  readonly lists: number;
  /** Number of watches opened. */
  readonly watches: number;
  readonly rejected: Rejected;
  /** Why nothing arrives at present, and what to do about it. */
  readonly problem: string | undefined;
  /** Pending deltas. */
  readonly depth: number;
  /** How long the oldest of them has been waiting at least. */
  readonly behind: Millis | undefined;
  /** Deltas merged into newer ones because too many of one object were pending. */
  readonly merged: number;
  readonly objects: number;
  /** Where the watch would resume; undefined if there are several watches. */
  readonly position: string | undefined;
}

/** Combines several watches into one. `boards`: the stats of the watch on the boards themselves. */
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
    heardAgo: oldest(({ heardAgo }) => heardAgo),
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
