import type { DaemonSet, Pod } from "../../api/core.ts";
import type { Millis } from "../../base/clock.ts";
import type { Action } from "../../execution/actions.ts";
import type { Expectations } from "../expectations.ts";
import type { Board } from "./board.ts";
import type { History } from "./history.ts";

/** The observation of a set. */
export type SetState =
  /** The set is being deleted or cannot be processed; `events` say why. */
  | { readonly kind: "idle"; readonly set: DaemonSet; readonly events: readonly Action[] }
  /** The cache is stale, so no decision may be based on it. */
  | { readonly kind: "stale" }
  /** A revision of another template already has the new revision's name. `live`: the set as read from the API. */
  | { readonly kind: "collision"; readonly live: DaemonSet }
  | SetWork;

export interface SetWork {
  readonly kind: "work";
  readonly set: DaemonSet;
  readonly boards: readonly Board[];
  /** Boards for which pods were created, but whose Node is in neither the cache nor the API. */
  readonly vanished: readonly string[];
  readonly pods: readonly Pod[];
  readonly history: History;
  /** Adoptions and releases; they are written before anything else. */
  readonly claims: readonly Action[];
  /** Our own writes that the cache does not show yet. */
  readonly expected: Expectations;
}

/** The rounds of writes of a pass in order; each depends on the previous one (docs/kubernetes-rules.md#daemon-sync). */
export const stages = ["claims", "history", "duplicates", "pods", "status"] as const;
export type Stage = (typeof stages)[number];

/** The state that a pass over a set keeps between two rounds. */
export interface SetPass {
  readonly work: SetWork;
  readonly stage: Stage;
  /**
   * Whether no pods are created or deleted, because the cache does not show earlier writes yet, or the namespace is
   * terminating.
   */
  readonly waits: boolean;
  /** Whether the round of pod writes had something to write. */
  readonly wrote: boolean;
  /** Whether at least one pod could not be created or deleted. */
  readonly failed: boolean;
  /** Whether the API refused a write for a lasting reason, such as a quota or a missing permission. */
  readonly refused: boolean;
  /** Events about the pod writes, emitted with the status. */
  readonly events: readonly Action[];
  /** After how long to run again, even without a change; undefined if only a change requires it. */
  readonly recheck: Millis | undefined;
}

/** The shorter of two times; undefined means that there is no time limit. */
export function sooner(a: Millis | undefined, b: Millis | undefined): Millis | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
