import type { Instant, Millis } from "../base/clock.ts";

export interface ZonePart {
  readonly name: string;
  readonly state: "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";
  readonly nodes: number;
  readonly ready: number;
  /** Boards per second that may be evicted; 0 also while the zone is frozen. */
  readonly rate: number;
}

/** Boards that are not in use, as the leader judges them. */
export interface BoardsPart {
  /** Silent beyond their grace period. */
  readonly lost: NamedBoards;
  /** Silent as well, but cordoned: an operator took them out of use. */
  readonly off: NamedBoards;
  /** Heard, but their Ready condition is not True: not ready by their own word, or not reported again yet. */
  readonly notReady: NamedBoards;
  /** Boards that carry a NoExecute taint of ours. */
  readonly tainted: number;
}

/** How far the judging of boards has come. */
export interface JudgementPart {
  /** What is said of boards and zones was true then; `undefined`: nothing is known yet. */
  readonly at: Instant | undefined;
  /** How often boards are judged. */
  readonly period: Millis;
  readonly isPaused: boolean;
  /** Silent boards whose conditions in the API do not say so yet, and since when there have been any. */
  readonly unwritten: number;
  readonly behindSince: Instant | undefined;
  /** The allowance of requests per second. */
  readonly qps: number;
}

export interface NamedBoard {
  readonly name: string;
  /** When the board was last heard, or became not ready. */
  readonly since: Instant;
  /** This leader never heard the board: `since` is its first look, and the silence is older than that. */
  readonly neverHeard?: boolean | undefined;
}

export interface NamedBoards {
  readonly count: number;
  /** The first few. */
  readonly some: readonly NamedBoard[];
}

export interface EvictionPart {
  /** Boards that wait for their NoExecute taint, and those of them whose turn is held back. */
  readonly queue: number;
  readonly queueHeld?: number | undefined;
  /** Pods whose toleration time is running. */
  readonly pending: number;
  /** Pods whose toleration time is over, and which are still there. */
  readonly due?: number | undefined;
  /** Pods. */
  readonly evicted1h?: number | undefined;
  readonly acts?: readonly ActPart[] | undefined;
  readonly oldest?: Instant | undefined;
  /** Quarantine after an outage: why harmful acts are held, and since when. */
  readonly held: { readonly why: string; readonly since: Instant } | undefined;
}

export interface ActPart {
  readonly act: string;
  readonly lastHour: number;
  /** Since this process began. */
  readonly total: number;
}
