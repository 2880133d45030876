import type { Pod, Taint } from "../../api/core.ts";
import type { Confirmed, MoveFacts, SilenceFacts } from "../../decisions/grounds.ts";
import type { ObjectRef } from "../../execution/actions.ts";
import type { Link } from "../../judgement/link.ts";
import type { NodeHealth } from "../node-lifecycle/health.ts";
import type { RunningTaint } from "../node-lifecycle/zones/budget.ts";
import type { ValveNow } from "../safety-valve.ts";
import type { EvictionHold } from "./thaw.ts";

/** A pod and the state of its board. */
export type PodState =
  /** The pod is not in the cache. `released`: it left the site with its board, so another site emits its Events. */
  | { readonly kind: "gone"; readonly pod: ObjectRef; readonly released: boolean }
  | { readonly kind: "unbound"; readonly pod: Pod }
  /**
   * The board's Node is not in the cache. `fate`: whether the API still has it, which is asked only once it matters.
   */
  | {
      readonly kind: "orphan";
      readonly pod: Pod;
      readonly board: string;
      readonly fate: "not asked" | "released" | "deleted";
      readonly link: Link;
      readonly hold: EvictionHold | undefined;
      readonly shut: ValveNow["shut"];
    }
  | {
      readonly kind: "bound";
      readonly pod: Pod;
      readonly board: string;
      /** The NoExecute taints of its board. */
      readonly taints: readonly Taint[];
      /** Whether the pod and taints were read from the API for this pass. */
      readonly isRead: boolean;
      /**
       * Set if the board's out-of-service taint is ours: whether the board has given a sign of life since. Read from
       * the API if the taints were.
       */
      readonly confirmed?: Confirmed;
      /** Whether the API no longer has the pod, which the cache still shows. */
      readonly isGone: boolean;
      /**
       * Whether the cached pod and taints are those of one moment, and the caches are up to date as far as the watches
       * show.
       */
      readonly isInStep: boolean;
      /** Whether the pod and taints may belong to a history that a restore of the server has undone. */
      readonly mayBeFormer: boolean;
      /** Status of the board's Ready condition; undefined if there is none. */
      readonly ready: string | undefined;
      readonly link: Link;
      /** The current verdict on the board, with its evidence; undefined if this agent judges no boards. */
      readonly silence: SilenceFacts | undefined;
      /**
       * When the leader began to watch the board, when its kubelet first reported, and when it last returned from a
       * silence; undefined if the leader has not begun.
       */
      readonly watched: Pick<NodeHealth, "seenAt" | "statusAt" | "returnedAt"> | undefined;
      /**
       * Set if the board missed earlier respites. released: the judge has ended the quarantine after the last outage,
       * because all other boards have reported.
       */
      readonly missed?: "quarantined" | "released" | undefined;
      /** A freeze, or the wait for the board's turn after one; undefined if neither. */
      readonly hold: EvictionHold | undefined;
      /** The safety valve, if it is shut. */
      readonly shut: ValveNow["shut"];
      /**
       * The board's taint as the previous leader recorded it; undefined if it is not recorded, or if it is no longer
       * early in the term.
       */
      readonly inherited: RunningTaint | undefined;
      /** The facts about the gain of the eviction; absent if the ruling does not depend on it. */
      readonly move?: MoveFacts;
    };

export type GonePod = Extract<PodState, { kind: "gone" }>;
export type BoundPod = Extract<PodState, { kind: "bound" }>;
export type OrphanPod = Extract<PodState, { kind: "orphan" }>;
