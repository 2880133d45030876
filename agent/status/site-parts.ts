import type { Instant, Millis } from "../base/clock.ts";

export interface ZonePart {
  readonly name: string;
  readonly state: "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";
  readonly nodes: number;
  readonly ready: number;
  /** Boards per second that may be evicted; 0 while the zone is frozen. */
  readonly rate: number;
}

/** Boards not in use, by the leader's verdicts. */
export interface BoardsPart {
  /** Silent beyond their grace period. */
  readonly lost: NamedBoards;
  /** Silent as well, but cordoned: taken out of use by an operator. */
  readonly off: NamedBoards;
  /** Heard from, but their Ready condition is not True: reported not ready, or not reported again yet. */
  readonly notReady: NamedBoards;
  /** Boards with a NoExecute taint set by the agent. */
  readonly tainted: number;
}

/** Progress of judging the boards. */
export interface JudgementPart {
  /** When the current verdicts were reached; `undefined`: none yet. */
  readonly at: Instant | undefined;
  /** Interval between passes over the boards. */
  readonly period: Millis;
  readonly isPaused: boolean;
  /** Silent boards whose conditions in the API have not been updated yet, and since when there have been any. */
  readonly unwritten: number;
  readonly behindSince: Instant | undefined;
  /** Allowed requests per second. */
  readonly qps: number;
}

export interface NamedBoard {
  readonly name: string;
  /** When the board was last heard from, or became not ready. */
  readonly since: Instant;
  /** This leader never heard from the board: `since` is its first check, and the silence began earlier. */
  readonly neverHeard?: boolean | undefined;
}

export interface NamedBoards {
  readonly count: number;
  /** The first few. */
  readonly some: readonly NamedBoard[];
}

export interface EvictionPart {
  /** Boards waiting for their NoExecute taint, and how many of them are held back. */
  readonly queue: number;
  readonly queueHeld?: number | undefined;
  /** Pods whose toleration time is running. */
  readonly pending: number;
  /** Pods whose toleration time is over and that still exist. */
  readonly due?: number | undefined;
  /** Pods evicted in the last hour. */
  readonly evicted1h?: number | undefined;
  readonly acts?: readonly ActPart[] | undefined;
  readonly oldest?: Instant | undefined;
  /** Quarantine after an outage: the reason, and since when. */
  readonly held: { readonly why: string; readonly since: Instant } | undefined;
}

export interface ActPart {
  readonly act: string;
  readonly lastHour: number;
  /** Since the start of this process. */
  readonly total: number;
}
