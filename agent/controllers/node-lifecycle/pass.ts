import type { Node, NodeCondition, Pod, Taint } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { type Action, type Cause, refTo } from "../../execution/actions.ts";
import type { Holds } from "../../holds/holds.ts";
import type { Link } from "../../judgement/link.ts";
import type { Budget } from "./budget.ts";
import type { Examined, Sighting } from "./health.ts";

/** The observation of a pass. */
export type SiteState = MonitorState | RetryState | DrainState;

/** A monitor pass: every board of the site. */
export interface MonitorState {
  readonly kind: "monitor";
  readonly link: Link;
  readonly holds: Holds;
  readonly boards: readonly Sighting[];
  /** Boards that left the cache, as far as the API was asked about them. */
  readonly missing: ReadonlyMap<string, "deleted" | "released">;
  /** The silent boards whose conditions this pass writes, in this order. */
  readonly next: readonly string[];
  /** Pods of the boards whose pods may have to be marked not ready. Bounded; the rest waits for the next pass. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** The former leader's budget; only in the first pass of a term. */
  readonly inherited: Budget | undefined;
}

/** Retry within a monitor pass: the boards whose conditions could not be written, as read from the API. */
export interface RetryState {
  readonly kind: "retry";
  readonly pass: MonitorPass;
  readonly boards: readonly Sighting[];
}

/** Between two monitor passes: the boards whose turn it is. */
export interface DrainState {
  readonly kind: "drain";
  readonly link: Link;
  readonly holds: Holds;
  readonly boards: readonly Sighting[];
  /** Those of them that are no longer in the cache. */
  readonly gone: readonly string[];
}

/** A pass between two rounds: the state it needs once the outcomes are known. */
export type Pass = MonitorPass | ActedPass;

export interface MonitorPass {
  /** conditions: being written. retry: some writes failed and are about to be repeated. */
  readonly stage: "conditions" | "retry";
  readonly link: Link;
  readonly holds: Holds;
  readonly examined: readonly Examined[];
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  readonly inherited: Budget | undefined;
  /** Boards that were deleted or left the site. */
  readonly forgotten: ReadonlySet<string>;
  /** Boards that are ready and still carry a taint of ours; it is removed before anything else is written. */
  readonly back: ReadonlyMap<string, TaintWrite>;
  /** The Nodes whose conditions were written, in their new version. */
  readonly written: ReadonlyMap<string, Node>;
  /** Boards whose conditions could not be written at the last try. */
  readonly open: ReadonlySet<string>;
  /** Boards whose conditions were sent to the API, with whatever result. The others wait for a later pass. */
  readonly tried: ReadonlySet<string>;
  readonly tries: number;
  /** When the rounds so far were finished. */
  readonly at: Instant;
  /** No retry from here on. */
  readonly until: Instant;
}

export interface ActedPass {
  readonly stage: "acts";
  /** When the earlier rounds were finished. */
  readonly since: Instant;
  readonly link: Link;
  readonly holds: Holds;
  /** By board. */
  readonly writes: ReadonlyMap<string, TaintWrite>;
  /** Boards of the pods being marked, by pod key. */
  readonly marks: ReadonlyMap<string, string>;
}

export interface TaintWrite {
  /** The Node from which the write was decided. */
  readonly node: Node;
  /** resourceVersion of the cached Node. */
  readonly cached: string;
  readonly taints: readonly Taint[];
  readonly cause: Cause | undefined;
  /** The zone whose turn the write uses; `undefined`: it needs none. */
  readonly turn: string | undefined;
}

export const writeConditions = (node: Node, conditions: readonly NodeCondition[]): Action => ({
  do: "patch",
  target: refTo(nodes, node),
  type: "strategic",
  patch: { status: { conditions } },
  subresource: "status",
});

/** Replaces the whole list. The resourceVersion in the target keeps two writers from dropping each other's taints. */
export const writeTaints = ({ node, taints, cause }: TaintWrite): Action => ({
  do: "patch",
  target: refTo(nodes, node),
  type: "merge",
  patch: { spec: { taints } },
  ...(cause && { cause }),
});

export const tell = (board: { name: string; uid: string }, reason: string, message: string): Action => ({
  do: "event",
  about: { resource: nodes, namespace: undefined, ...board },
  severity: "Normal",
  reason,
  message,
});
