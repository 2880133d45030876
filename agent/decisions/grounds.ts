import type { Millis } from "../base/clock.ts";

/**
 * The acts whose decisions are all recorded. Pods marked not ready and withdrawn endpoints follow from a marked board;
 * they are only counted.
 */
export type RecordedAct = "board-marked" | "board-tainted" | "pod-evicted" | "pod-collected" | "pod-replaced";

/** The facts that an act rests on. Times are ages by our own clock, never timestamps of another machine. */
export interface Grounds {
  readonly act: RecordedAct;
  /** The Node of the board. */
  readonly board: string;
  readonly because: Because;
}

export type Because =
  /** Our verdict about a silent board. */
  | ({ readonly kind: "silence" } & SilenceFacts)
  /** The board's own kubelet reports it as not ready. */
  | { readonly kind: "reported" }
  /**
   * The pod does not tolerate the NoExecute taints with these keys any longer: it tolerated them for `toleratedMs`, and
   * its window has run for `ranMs`.
   */
  | {
      readonly kind: "taints";
      readonly taints: readonly string[];
      readonly toleratedMs: Millis;
      readonly ranMs: Millis;
      /** Our verdict about the board; absent if this agent judges no boards. */
      readonly silence?: SilenceFacts;
    }
  /** The pod's board has no Node any more; the API confirmed that. */
  | { readonly kind: "node-deleted" }
  /** The pod was being deleted on a board that an operator declared out of service. */
  | { readonly kind: "out-of-service" };

/** What the leader knew about a silent board. */
export interface SilenceFacts {
  readonly verdict: string;
  /** The rule that led to the verdict, as a sentence. */
  readonly rule: string;
  /** How long the board has been silent; absent if the controller that decides does not measure it. */
  readonly silentMs?: Millis;
  /** How long a board may be silent. */
  readonly graceMs?: Millis;
  /** The board has sent nothing since this leader began to watch it, and `silentMs` counts from there. */
  readonly unheard?: true;
  /** The age of the last proof that nothing was missed; absent if there is none. */
  readonly provenMs?: Millis;
  readonly zone?: { readonly name: string; readonly state: string };
}

/** Why a due act is held back. */
export type Restraint =
  /** The watches for Nodes and Leases are not live. */
  | { readonly why: "not-live" }
  /** Since the outage, not every board has sent a heartbeat. */
  | { readonly why: "quarantine" }
  /** The verdict on the board permits no harm. */
  | { readonly why: "verdict"; readonly verdict: string; readonly rule: string }
  /** The safety valve is shut: so many acts were done within an hour, or so many boards are tainted. */
  | {
      readonly why: "valve";
      readonly of: "acts" | "boards" | "unknown";
      readonly count: number;
      readonly limit: number;
    }
  /** Too many boards of the zone are not ready: its rate is 0. */
  | { readonly why: "zone"; readonly zone: string; readonly state: string }
  /** An operator froze evictions, or quiet hours are in force. */
  | {
      readonly why: "freeze";
      readonly scope: string;
      readonly target?: string;
      readonly by: string;
      readonly reason?: string;
      readonly leftMs: Millis;
    }
  /** After a freeze, the boards take turns. */
  | { readonly why: "turn"; readonly leftMs: Millis };
