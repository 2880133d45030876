import type { Node } from "../../api/core.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import type { Foreign } from "../../base/json.ts";
import { noQuarantine, type Quarantine } from "../../judgement/link.ts";
import type { Verdict } from "../../judgement/verdict.ts";
import type { EvictionQueue } from "./eviction-queue.ts";
import type { BoardHealth } from "./health.ts";
import type { Pass } from "./pass.ts";
import type { ZoneState } from "./zones.ts";

export interface BoardRecord {
  readonly health: BoardHealth;
  readonly zone: string;
  /** Status of its Ready condition as the last monitor pass left it. */
  readonly ready: string | undefined;
  readonly verdict: Verdict;
  /** It is silent and counts as lost in its zone, and its conditions wait for their turn to say so. */
  readonly unwritten: boolean;
  /** An operator took it out of use. */
  readonly isCordoned: boolean;
  /** Whether the last look at it found nothing that holds its NoExecute taint back. */
  readonly mayTaint: boolean;
  readonly taint: RunningTaint | undefined;
  /** What we wrote or read past the cache, as long as the cache still shows the version `of` before it. */
  readonly ahead: { readonly of: string; readonly node: Node } | undefined;
}

/** `added` tells one taint from another of the same name. It is compared, never read as time. */
export interface RunningTaint {
  readonly added: string | undefined;
  readonly since: Instant;
  readonly foreign: Foreign;
}

export interface ZoneRecord {
  readonly state: ZoneState;
  readonly queue: EvictionQueue;
  /** What the state allows, in boards per second; the queue's own rate is lower while the site recovers. */
  readonly rate: number;
  readonly paid: ReadonlyMap<string, PaidTurn>;
  /** Boards tainted within the last hour, by the minute. */
  readonly evictions: readonly Evictions[];
  readonly foreign: Foreign;
}

export interface Evictions {
  readonly at: Instant;
  readonly count: number;
}

/**
 * A turn whose write met a newer version of the Node. It costs no further token (kube-controller-manager repeats such a
 * write on the spot) and goes again as soon as the cache has moved on from `version`, until it is too late or the board
 * may not have a turn any more.
 */
export interface PaidTurn {
  readonly version: string;
  readonly until: Instant;
}

/** All that the judging of boards remembers from pass to pass. */
export interface SiteMemory {
  readonly boards: ReadonlyMap<string, BoardRecord>;
  readonly zones: ReadonlyMap<string, ZoneRecord>;
  readonly quarantine: Quarantine;
  /** Boards whose pods still have to be marked not ready. */
  readonly unmarked: ReadonlySet<string>;
  /** Boards whose NoExecute taint was to go, and did not: in a dark site nobody asks for it a second time. */
  readonly uncleared: ReadonlySet<string>;
  readonly monitorAt: Instant | undefined;
  /** When the last monitor pass that came to its end looked at the site: so old is what is known of boards and zones. */
  readonly judgedAt: Instant | undefined;
  /** Since when there has been a silent board whose conditions wait for their turn. */
  readonly behindSince: Instant | undefined;
  /** Fields of the inherited budget that a newer program wrote; they are handed on. */
  readonly foreign: Foreign;
  /** A pass that waits for the outcomes of its writes. */
  readonly pass: Pass | undefined;
}

export const firstMemory: SiteMemory = {
  boards: new Map(),
  zones: new Map(),
  quarantine: noQuarantine,
  unmarked: new Set(),
  uncleared: new Set(),
  monitorAt: undefined,
  judgedAt: undefined,
  behindSince: undefined,
  foreign: {},
  pass: undefined,
};

const minute: Millis = 60_000;
const hour: Millis = 3_600_000;

/** One more board was tainted. At most one entry for each minute of the last hour. */
export function withEviction(evictions: readonly Evictions[], now: Instant): readonly Evictions[] {
  const recent = evictions.filter(({ at }) => now.mono - at.mono < hour);
  const last = recent.at(-1);
  if (last === undefined || now.mono - last.at.mono >= minute) return [...recent, { at: now, count: 1 }];
  return [...recent.slice(0, -1), { at: last.at, count: last.count + 1 }];
}

export const evictionsWithin = (evictions: readonly Evictions[], now: Instant): number =>
  evictions.reduce((sum, { at, count }) => (now.mono - at.mono < hour ? sum + count : sum), 0);
