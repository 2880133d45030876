import { elapsed, type Instant, type Millis } from "../../../base/clock.ts";
import type { UnknownFields } from "../../../base/json.ts";
import type { EarlierSilence } from "../../../judgement/lan-silence.ts";
import type { ZoneState } from "./zones.ts";

/**
 * The state that a leader passes to its successor in an annotation of the site's Lease, because eviction limits belong
 * to the site, not to a process. In the annotation, it has durations instead of times, because no two boards share a
 * clock.
 */
export interface Budget {
  readonly zones: ReadonlyMap<string, ZoneBudget>;
  /** Our taints, by board; `since` is by the reader's clock. */
  readonly taints: ReadonlyMap<string, RunningTaint>;
  /** The silences of boards that do not answer on the LAN, or answer that they run no pods. */
  readonly silences: ReadonlyMap<string, EarlierSilence>;
  /** The term of the leader that wrote it; undefined if it was an earlier version. */
  readonly term?: number | undefined;
  readonly readAt: Instant;
  /** Unknown fields, written by a newer program; passed on unchanged. */
  readonly foreign: UnknownFields;
}

export interface ZoneBudget {
  readonly state: ZoneState;
  /** Level of the token bucket, between 0 and 1. */
  readonly level: number;
  /** Boards tainted within the last hour. */
  readonly evictions: number;
  readonly foreign: UnknownFields;
}

/** One of our NoExecute taints. */
export interface RunningTaint {
  /** timeAdded of the taint, which identifies it among taints of the same name; only compared, never read as a time. */
  readonly added: string | undefined;
  /** When the taint was added, or the silent board reported again that it is not ready, on our clock. */
  readonly since: Instant;
  /** Whether the board reported again at that time. */
  readonly isBack?: true;
  readonly foreign: UnknownFields;
}

/**
 * For how long after the start of a term the budget applies to what its caches show: at first they may lack what the
 * previous leader saw last.
 */
const inheritWithin: Millis = 60_000;

/** The budget, as long as it applies. */
export const budgetNow = (budget: Budget | undefined, now: Instant): Budget | undefined =>
  budget !== undefined && elapsed(budget.readAt, now) <= inheritWithin ? budget : undefined;
