import type { Millis } from "../base/clock.ts";
import type { Rejected } from "./rejections.ts";

/** For the status: how well one resource is mirrored. */
export interface InformerStats {
  readonly resource: string;
  readonly synced: boolean;
  readonly live: boolean;
  /** Ages; undefined: never so far. */
  readonly heardAgo: Millis | undefined;
  readonly provenAgo: Millis | undefined;
  /** How often the collection was listed; a restart that found its position adds none. */
  readonly lists: number;
  /** How often a watch was opened. */
  readonly watches: number;
  readonly rejected: Rejected;
  /** Why nothing comes at present, and what to do about it. */
  readonly problem: string | undefined;
  /** Deltas that wait to be handled. */
  readonly depth: number;
  /** Deltas that were merged into newer ones because too many of one object waited. */
  readonly merged: number;
  readonly objects: number;
  /** Where the watch would resume; undefined where there are several. */
  readonly position: string | undefined;
}

/** Several watches that stand for one. `boards`: of the watch that says which there are. */
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
    merged: sum(({ merged }) => merged),
    objects: sum(({ objects }) => objects),
    position: undefined,
  };
}
