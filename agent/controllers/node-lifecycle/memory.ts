import type { Node } from "../../api/core.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import type { UnknownFields } from "../../base/json.ts";
import type { EarlierSilence } from "../../judgement/lan-silence.ts";
import { noQuarantine, type Quarantine } from "../../judgement/link.ts";
import { noPastSilences, type PastSilences } from "../../judgement/past-silence.ts";
import type { Respite } from "../../judgement/respites.ts";
import type { Evidence, Verdict } from "../../judgement/verdict.ts";
import type { NodeHealth } from "./health.ts";
import type { Pass } from "./pass.ts";
import type { RunningTaint } from "./zones/budget.ts";
import type { EvictionQueue } from "./zones/eviction-queue.ts";
import type { ZoneState } from "./zones/zones.ts";

export interface BoardRecord {
  readonly health: NodeHealth;
  readonly zone: string;
  /** Status of the Ready condition after the last monitor pass; undefined if there was none. */
  readonly ready: string | undefined;
  readonly verdict: Verdict;
  /** The evidence of the verdict, kept while a taint for the board's silence is due; undefined if none is. */
  readonly evidence: Evidence | undefined;
  /** The silence that is passed on to the next leader; undefined if the LAN says nothing about the board. */
  readonly silence: EarlierSilence | undefined;
  /** The board is silent and counts as lost in its zone, but its conditions still wait to be written. */
  readonly unwritten: boolean;
  /** spec.unschedulable is set. */
  readonly isCordoned: boolean;
  /** Whether the board was allowed to be tainted NoExecute when it was last examined. */
  readonly mayTaint: boolean;
  /** The operator who confirmed the board dead (`confirmedDeadBy`); undefined if none did. */
  readonly confirmedBy: string | undefined;
  /** Our NoExecute taint on the board; undefined if it has none. */
  readonly taint: RunningTaint | undefined;
  /** The Node as we wrote it or read it from the API, while the cache still shows its older resourceVersion `of`. */
  readonly ahead: { readonly of: string; readonly node: Node } | undefined;
}

export interface ZoneRecord {
  readonly state: ZoneState;
  /** How long the zone is held because its boards were lost together (`zoneHolds`); undefined if it is not. */
  readonly heldMs: Millis | undefined;
  readonly queue: EvictionQueue;
  /** Boards per second that the zone's state allows; during recovery the queue's own rate is lower. */
  readonly rate: number;
  /** Turns that are repeated without another token, by board. */
  readonly paid: ReadonlyMap<string, PaidTurn>;
  /** Boards tainted within the last hour, in buckets of a minute. */
  readonly evictions: readonly Evictions[];
  /** Unknown fields of the inherited budget, passed on unchanged. */
  readonly foreign: UnknownFields;
}

/** The number of boards tainted in the minute that begins at `at`. */
export interface Evictions {
  readonly at: Instant;
  readonly count: number;
}

/**
 * A turn whose write met a conflict. It is repeated without another token, because kube-controller-manager repeats such
 * a write immediately. It is repeated as soon as the cache shows another resourceVersion of the Node than `version`,
 * but not after `until`, nor once the board may no longer have a turn.
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
  /** The latest respites, oldest first, including those of earlier terms of this process. */
  readonly respites: readonly Respite[];
  /** The silences of an earlier term; empty once this term has completed a monitor pass. */
  readonly silences: PastSilences;
  /** When the first monitor pass of the term began; undefined if none has. */
  readonly judgesSince: Instant | undefined;
  /** Boards whose pods still have to be marked not ready. */
  readonly unmarked: ReadonlySet<string>;
  /**
   * Boards whose NoExecute taint could not be removed. While no board of the site is ready, nothing else would retry
   * the removal.
   */
  readonly uncleared: ReadonlySet<string>;
  /** When the next monitor pass is due; undefined if none has begun. */
  readonly monitorAt: Instant | undefined;
  /** When the last completed monitor pass judged boards and zones; undefined if none has. */
  readonly judgedAt: Instant | undefined;
  /** When the oldest pending condition write became due; undefined if none is pending. */
  readonly behindSince: Instant | undefined;
  /** Unknown fields of the inherited budget, written by a newer program; passed on unchanged. */
  readonly foreign: UnknownFields;
  /** The pass that is waiting for the outcomes of its writes; undefined if there is none. */
  readonly pass: Pass | undefined;
}

export const firstMemory: SiteMemory = {
  boards: new Map(),
  zones: new Map(),
  quarantine: noQuarantine,
  respites: [],
  silences: noPastSilences,
  judgesSince: undefined,
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
