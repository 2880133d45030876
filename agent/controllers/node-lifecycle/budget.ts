import { elapsed, type Instant, shifted } from "../../base/clock.ts";
import { asRecord, type Foreign, recordIn } from "../../base/json.ts";
import { filled } from "../../base/token-bucket.ts";
import { evictionsWithin, type RunningTaint, type SiteMemory } from "./memory.ts";
import type { ZoneState } from "./zones.ts";

/**
 * What a leader leaves to its successor, in an annotation of the site's Lease: the allowances belong to the site, not to
 * a process. It says how long things have been going on, never since when: no two boards share a clock.
 */
export interface Budget {
  readonly zones: ReadonlyMap<string, ZoneBudget>;
  /** By board, on the reader's own clock. */
  readonly taints: ReadonlyMap<string, RunningTaint>;
  readonly readAt: Instant;
  readonly foreign: Foreign;
}

export interface ZoneBudget {
  readonly state: ZoneState;
  /** Of its bucket, between 0 and 1. */
  readonly level: number;
  /** Within the last hour. */
  readonly evictions: number;
  readonly foreign: Foreign;
}

/**
 * All annotations of an object together may have 256 KiB, or no renewal goes through any more. A board that is left out
 * gets its toleration times anew, a zone that is left out begins like a new one, and a text that is too long is none.
 */
const mostBoards = 500;
const mostOfEach = 48 * 1024;
const longestText = 96 * 1024;

/** How long the taint of a board runs already is told in seconds, rounded down. */
export function encodeBudget({ zones, boards, foreign }: SiteMemory, now: Instant): string {
  const running = [...boards]
    .flatMap(([name, { taint }]) => (taint === undefined ? [] : [{ name, ...taint }]))
    .sort((a, b) => a.since.mono - b.since.mono)
    .slice(0, mostBoards);
  return JSON.stringify({
    ...foreign,
    v: 1,
    zones: fitting(
      [...zones].map(([name, { state, queue, evictions, foreign }]) => [
        name,
        {
          ...foreign,
          state,
          level: Math.round(filled(queue.bucket, queue.rate, now).level * 1000) / 1000,
          evictions: evictionsWithin(evictions, now),
        },
      ]),
    ),
    boards: fitting(
      running.map(({ name, since, added, foreign }) => [
        name,
        { ...foreign, s: Math.floor(elapsed(since, now) / 1000), ...(added !== undefined && { added }) },
      ]),
    ),
  });
}

function fitting(entries: readonly (readonly [name: string, value: object])[]): Foreign {
  let rest = mostOfEach;
  return Object.fromEntries(
    entries.filter((entry) => {
      rest -= Buffer.byteLength(JSON.stringify(entry));
      return rest >= 0;
    }),
  );
}

/** `undefined`: there is none, or none that we understand. Single entries that make no sense are left out. */
export function decodeBudget(text: string | undefined, now: Instant): Budget | undefined {
  const { v: version, zones, boards, ...foreign } = recordIn(text ?? "", longestText) ?? {};
  if (version !== 1) return undefined;
  return {
    zones: new Map(
      Object.entries(asRecord(zones)).flatMap(([name, zone]) => {
        const budget = zoneBudget(asRecord(zone));
        return budget ? [[name, budget] as const] : [];
      }),
    ),
    taints: new Map(
      Object.entries(asRecord(boards)).flatMap(([name, board]) => {
        const taint = runningTaint(asRecord(board), now);
        return taint ? [[name, taint] as const] : [];
      }),
    ),
    readAt: now,
    foreign,
  };
}

function zoneBudget({ state, level, evictions, ...foreign }: Foreign): ZoneBudget | undefined {
  if (!isState(state) || !isAmount(level)) return undefined;
  return { state, level: Math.min(1, level), evictions: isAmount(evictions) ? Math.floor(evictions) : 0, foreign };
}

function runningTaint({ s, added, ...foreign }: Foreign, now: Instant): RunningTaint | undefined {
  if (!isAmount(s)) return undefined;
  return { added: typeof added === "string" ? added : undefined, since: shifted(now, -s * 1000), foreign };
}

const isState = (value: unknown): value is ZoneState =>
  value === "initial" || value === "normal" || value === "partial" || value === "full";

const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1e12;
