import type { DaemonSet, Pod } from "../../api/core.ts";
import type { Millis } from "../../base/clock.ts";
import type { Action } from "../../execution/actions.ts";
import type { Expectations } from "../expectations.ts";
import type { Board } from "./board.ts";
import type { History } from "./history.ts";

/** The observation of a set. */
export type SetState =
  /** The set is being deleted or cannot be processed; `told`: events to emit. */
  | { readonly kind: "idle"; readonly set: DaemonSet; readonly told: readonly Action[] }
  /** The cache is stale: no decision may be based on it. */
  | { readonly kind: "stale" }
  /** Another revision has the name that one of the present template would get. `live`: the set as read from the API. */
  | { readonly kind: "collision"; readonly live: DaemonSet }
  | SetWork;

export interface SetWork {
  readonly kind: "work";
  readonly set: DaemonSet;
  readonly boards: readonly Board[];
  /** Boards that pods are meant for and that neither the cache nor the API has. */
  readonly vanished: readonly string[];
  readonly pods: readonly Pod[];
  readonly history: History;
  /** Adoptions and releases; they are written before anything else. */
  readonly claims: readonly Action[];
  /** Our own writes that the cache does not show yet. */
  readonly expected: Expectations;
}

/** The rounds of writes of a pass in order; each depends on the one before (docs/kubernetes-rules.md#daemon-sync). */
export const stages = ["claims", "history", "duplicates", "pods", "status"] as const;
export type Stage = (typeof stages)[number];

/** A pass between two rounds. */
export interface Pass {
  readonly work: SetWork;
  readonly stage: Stage;
  /**
   * Pods are neither created nor deleted: earlier writes do not show in the cache yet, or the namespace is terminating.
   */
  readonly waits: boolean;
  /** The round of pod writes had something to write. */
  readonly wrote: boolean;
  /** At least one pod could not be created or deleted. */
  readonly failed: boolean;
  /** The API refused a write for a lasting reason, such as a quota or a missing permission. */
  readonly refused: boolean;
  /** Events about the pod writes, emitted with the status. */
  readonly told: readonly Action[];
  /** When to run again at the latest. */
  readonly recheck: Millis | undefined;
}

export const sooner = (a: Millis | undefined, b: Millis | undefined): Millis | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);
