import type { Node, Taint } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import type { Grounds } from "../../decisions/grounds.ts";
import { type Action, type Cause, type ObjectRef, refTo } from "../../execution/actions.ts";
import type { Holds } from "../../holds/holds.ts";
import type { Link } from "../../judgement/link.ts";
import type { ValveNow } from "../safety-valve.ts";
import type { Examined, Sighting } from "./health.ts";
import type { Budget } from "./zones/budget.ts";

/** The observation of a pass. */
export type SiteState = MonitorState | RetryState | TurnsState;

/** The observation of a monitor pass: every board of the site. */
export interface MonitorState {
  readonly kind: "monitor";
  readonly link: Link;
  readonly holds: Holds;
  readonly valve: ValveNow;
  readonly boards: readonly Sighting[];
  /** Boards no longer in the cache, which this pass looked up in the API. */
  readonly missing: ReadonlyMap<string, "deleted" | "released">;
  /** The silent boards whose conditions this pass writes, in this order. */
  readonly next: readonly string[];
  /**
   * Ready pods that may have to be marked not ready, by board. Their number is bounded; the others wait for the next
   * pass.
   */
  readonly pods: ReadonlyMap<string, readonly ObjectRef[]>;
  /** The previous leader's budget; undefined if there is none, or it no longer applies. */
  readonly inherited: Budget | undefined;
}

/**
 * The observation of a retry within a monitor pass: the boards whose conditions could not be written, as read from the
 * API.
 */
export interface RetryState {
  readonly kind: "retry";
  readonly pass: MonitorPass;
  readonly boards: readonly Sighting[];
}

/** The observation of a pass between two monitor passes: the boards whose turn it is. */
export interface TurnsState {
  readonly kind: "turns";
  readonly link: Link;
  readonly holds: Holds;
  readonly valve: ValveNow;
  readonly boards: readonly Sighting[];
  /** Boards whose turn it is, but which are no longer in the cache. */
  readonly gone: readonly string[];
}

/**
 * The state that a pass keeps between two rounds, until the outcomes of its writes are known. A round without writes is
 * followed by the next at once:
 *
 * pass    | round      | decided by       | in file          | writes                                | stage until then
 * --------|------------|------------------|------------------|---------------------------------------|-----------------
 * monitor | conditions | `monitor`        | decide.ts        | conditions; taints of returned boards | conditions
 *         |            | `afterTry`       | decide.ts        | none; a pause if some failed          | retry
 *         |            | `retry`          | decide.ts        | the conditions that failed            | conditions
 *         | taints     | `taintRound`     | taint-round.ts   | taints; readiness of pods             | acts
 *         | outcomes   | `outcomeRound`   | outcome-round.ts | none                                  |
 * turns   | taints     | `decideTurns`    | decide.ts        | taints of the boards in turn          | acts
 *         | outcomes   | `outcomeRound`   | outcome-round.ts | none                                  |
 */
export type Pass = MonitorPass | ActedPass;

export interface MonitorPass {
  /** conditions: the conditions are being written. retry: some writes failed and are about to be repeated. */
  readonly stage: "conditions" | "retry";
  readonly link: Link;
  readonly holds: Holds;
  readonly valve: ValveNow;
  readonly examined: readonly Examined[];
  readonly pods: ReadonlyMap<string, readonly ObjectRef[]>;
  readonly inherited: Budget | undefined;
  /** Boards that were deleted or left the site. */
  readonly removedBoards: ReadonlySet<string>;
  /** Boards that are ready and still have our taint, which is removed before anything else is written. */
  readonly taintRemovals: ReadonlyMap<string, TaintWrite>;
  /** The new versions of the Nodes whose conditions were written. */
  readonly written: ReadonlyMap<string, Node>;
  /** Boards whose conditions could not be written at the last attempt. */
  readonly toRetry: ReadonlySet<string>;
  /** Boards whose conditions were sent to the API, successfully or not. The others wait for a later pass. */
  readonly tried: ReadonlySet<string>;
  readonly tries: number;
  /** When the rounds so far were finished. */
  readonly roundEndedAt: Instant;
  /** No write is retried after this time. */
  readonly retryUntil: Instant;
}

export interface ActedPass {
  readonly stage: "acts";
  /** When the earlier rounds were finished. */
  readonly roundEndedAt: Instant;
  readonly link: Link;
  readonly holds: Holds;
  readonly valve: ValveNow;
  /** The taint writes, by board. */
  readonly writes: ReadonlyMap<string, TaintWrite>;
  /** Boards of the pods being marked, by pod key. */
  readonly marks: ReadonlyMap<string, string>;
}

export interface TaintWrite {
  /** The Node on which the decision to write was based. */
  readonly node: Node;
  /** resourceVersion of the cached Node. */
  readonly cached: string;
  readonly taints: readonly Taint[];
  readonly cause: Cause | undefined;
  /** The grounds of a taint that is added; undefined if the write removes taints. */
  readonly grounds: Grounds | undefined;
  /** The zone whose turn the write uses; undefined if it needs no turn. */
  readonly turn: string | undefined;
}

/** Replaces the whole list; the target's resourceVersion prevents two writers from dropping each other's taints. */
export const writeTaints = ({ node, taints, cause, grounds }: TaintWrite): Action => ({
  do: "patch",
  target: refTo(nodes, node),
  type: "merge",
  patch: { spec: { taints } },
  ...(cause && { cause }),
  ...(grounds && { grounds }),
});

export const nodeEvent = (board: { name: string; uid: string }, reason: string, message: string): Action => ({
  do: "event",
  about: { resource: nodes, namespace: undefined, ...board },
  severity: "Normal",
  reason,
  message,
});
