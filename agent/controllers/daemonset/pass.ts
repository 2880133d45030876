import type { DaemonSet, Pod } from "../../api/core.ts";
import type { Millis } from "../../base/clock.ts";
import type { Action } from "../../execution/actions.ts";
import type { Expectations } from "../expectations.ts";
import type { Board } from "./board.ts";
import type { History } from "./history.ts";

/** A set as a pass finds it. */
export type SetState =
  /** It is on its way out, or it cannot be worked on; `told` is all that is to be said. */
  | { readonly kind: "idle"; readonly set: DaemonSet; readonly told: readonly Action[] }
  /** The cache is behind: acting on it would be acting on another set. */
  | { readonly kind: "stale" }
  /** The name that a revision of the present template would get belongs to another one. `live`: the set as the API has it. */
  | { readonly kind: "collision"; readonly live: DaemonSet }
  | SetWork;

export interface SetWork {
  readonly kind: "work";
  readonly set: DaemonSet;
  readonly boards: readonly Board[];
  /** Boards that pods are meant for and that nobody knows: not the cache, and not the API itself. */
  readonly vanished: readonly string[];
  readonly pods: readonly Pod[];
  readonly history: History;
  /** What has to be adopted or released before anything else. */
  readonly claims: readonly Action[];
  /** Of our own writes: those that the cache does not show yet. */
  readonly expected: Expectations;
}

/** The rounds of writes of a pass, in order: each rests on the one before (docs/kubernetes-rules.md#daemon-sync). */
export const stages = ["claims", "history", "duplicates", "pods", "status"] as const;
export type Stage = (typeof stages)[number];

/** A pass between two rounds. */
export interface Pass {
  readonly work: SetWork;
  readonly stage: Stage;
  /** Pods are neither made nor removed: what was asked for before does not show yet. */
  readonly waits: boolean;
  /** Pods were made or removed, or should have been. */
  readonly wrote: boolean;
  /** Pods could not be made or removed. */
  readonly failed: boolean;
  /** The API refused something, and will as long as nothing changes: a quota, a right. */
  readonly refused: boolean;
  /** Events of what was done, to go out with the status. */
  readonly told: readonly Action[];
  /** When to look again, whatever happens. */
  readonly recheck: Millis | undefined;
}

export const sooner = (a: Millis | undefined, b: Millis | undefined): Millis | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);
