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
  /** Status of its Ready condition after the last monitor pass. */
  readonly ready: string | undefined;
  readonly verdict: Verdict;
  /** It is silent and counts as lost in its zone, but its conditions are still waiting to be written. */
  readonly unwritten: boolean;
  /** Its spec.unschedulable is set. */
  readonly isCordoned: boolean;
  /** Nothing held back its NoExecute taint when it was last examined. */
  readonly mayTaint: boolean;
  readonly taint: RunningTaint | undefined;
  /** The Node as we wrote it or read it past the cache, while the cache still shows the older version `of`. */
  readonly ahead: { readonly of: string; readonly node: Node } | undefined;
}

/** `added` tells a taint from an earlier one of the same name. It is only compared, never read as time. */
export interface RunningTaint {
  readonly added: string | undefined;
  readonly since: Instant;
  readonly foreign: Foreign;
}

export interface ZoneRecord {
  readonly state: ZoneState;
  readonly queue: EvictionQueue;
  /** Boards per second that the state allows; the queue's own rate is lower during recovery. */
  readonly rate: number;
  readonly paid: ReadonlyMap<string, PaidTurn>;
  /** Boards tainted within the last hour, in buckets of a minute. */
  readonly evictions: readonly Evictions[];
  readonly foreign: Foreign;
}

export interface Evictions {
  readonly at: Instant;
  readonly count: number;
}

/**
 * A turn whose write met a newer version of the Node. It costs no further token (kube-controller-manager repeats such a
 * write at once) and goes again as soon as the cache shows another version than `version`, until `until` or until the
 * board may no longer have a turn.
 */
export interface PaidTurn {
  readonly version: string;
  readonly until: Instant;
}

/** The controller's whole memory between passes. */
export interface SiteMemory {
  readonly boards: ReadonlyMap<string, BoardRecord>;
  readonly zones: ReadonlyMap<string, ZoneRecord>;
  readonly quarantine: Quarantine;
  /** Boards whose pods still have to be marked not ready. */
  readonly unmarked: ReadonlySet<string>;
  /** Boards whose NoExecute taint could not be removed: in a dark site no later pass would retry it otherwise. */
  readonly uncleared: ReadonlySet<string>;
  readonly monitorAt: Instant | undefined;
  /** When the last completed monitor pass judged boards and zones: the age of this knowledge. */
  readonly judgedAt: Instant | undefined;
  /** Since when at least one silent board has been waiting for its conditions to be written. */
  readonly behindSince: Instant | undefined;
  /** Unknown fields of the inherited budget, written by a newer program; passed on unchanged. */
  readonly foreign: Foreign;
  /** A pass waiting for the outcomes of its writes. */
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

/** Counts one more tainted board. Keeps at most one entry for each minute of the last hour. */
export function withEviction(evictions: readonly Evictions[], now: Instant): readonly Evictions[] {
  const recent = evictions.filter(({ at }) => now.mono - at.mono < hour);
  const last = recent.at(-1);
  if (last === undefined || now.mono - last.at.mono >= minute) return [...recent, { at: now, count: 1 }];
  return [...recent.slice(0, -1), { at: last.at, count: last.count + 1 }];
}

export const evictionsWithin = (evictions: readonly Evictions[], now: Instant): number =>
  evictions.reduce((sum, { at, count }) => (now.mono - at.mono < hour ? sum + count : sum), 0);
