import type { Node, NodeCondition, Pod, Taint } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { type Action, type Cause, refTo } from "../../execution/actions.ts";
import type { Holds } from "../../holds/holds.ts";
import type { Link } from "../../judgement/link.ts";
import type { Budget } from "./budget.ts";
import type { Examined, Sighting } from "./health.ts";

/** What a pass has read. */
export type SiteState = MonitorState | RetryState | DrainState;

/** Every board of the site: a monitor pass. */
export interface MonitorState {
  readonly kind: "monitor";
  readonly link: Link;
  readonly holds: Holds;
  readonly boards: readonly Sighting[];
  /** Boards that are in the cache no more, as far as the API was asked about them. */
  readonly missing: ReadonlyMap<string, "deleted" | "released">;
  /** The silent boards whose conditions are to be written in this pass, in this order. */
  readonly next: readonly string[];
  /** The pods of boards whose pods may have to be marked not ready; bounded, the rest waits for the next pass. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** What the former leader left behind; given to the first pass of a term. */
  readonly inherited: Budget | undefined;
}

/** Within a monitor pass: the boards whose conditions could not be written, as the API itself has them now. */
export interface RetryState {
  readonly kind: "retry";
  readonly pass: MonitorPass;
  readonly boards: readonly Sighting[];
}

/** Between two monitor passes: the boards whose turn has come. */
export interface DrainState {
  readonly kind: "drain";
  readonly link: Link;
  readonly holds: Holds;
  readonly boards: readonly Sighting[];
  /** Those of them that are in the cache no more. */
  readonly gone: readonly string[];
}

/** A pass between its rounds: what it still needs once the outcomes are known. */
export type Pass = MonitorPass | ActedPass;

export interface MonitorPass {
  /** conditions: they are being written. retry: some could not be, and are about to be tried again. */
  readonly stage: "conditions" | "retry";
  readonly link: Link;
  readonly holds: Holds;
  readonly examined: readonly Examined[];
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  readonly inherited: Budget | undefined;
  /** Boards that are no longer ours. */
  readonly forgotten: ReadonlySet<string>;
  /** Boards that are ready and still carry a taint of ours: it goes before anything else is written. */
  readonly back: ReadonlyMap<string, TaintWrite>;
  /** The Nodes whose conditions went through, as the API has them now. */
  readonly written: ReadonlyMap<string, Node>;
  /** Boards whose conditions did not go through at the last try. */
  readonly open: ReadonlySet<string>;
  /** Boards whose conditions were sent to the API, whatever it said. Those of the others wait for a later pass. */
  readonly tried: ReadonlySet<string>;
  readonly tries: number;
  /** When what was done so far was over. */
  readonly at: Instant;
  /** From here on nothing is tried again. */
  readonly until: Instant;
}

export interface ActedPass {
  readonly stage: "acts";
  /** When its earlier rounds were over. */
  readonly since: Instant;
  readonly link: Link;
  readonly holds: Holds;
  /** By board. */
  readonly writes: ReadonlyMap<string, TaintWrite>;
  /** The boards of the pods that are being marked, by the key of the pod. */
  readonly marks: ReadonlyMap<string, string>;
}

export interface TaintWrite {
  /** The Node as it was when the write was decided. */
  readonly node: Node;
  /** The version that the cache showed of it. */
  readonly cached: string;
  readonly taints: readonly Taint[];
  readonly cause: Cause | undefined;
  /** The zone whose turn it was; `undefined`: it took none. */
  readonly turn: string | undefined;
}

export const writeConditions = (node: Node, conditions: readonly NodeCondition[]): Action => ({
  do: "patch",
  target: refTo(nodes, node),
  type: "strategic",
  patch: { status: { conditions } },
  subresource: "status",
});

/** Replaces the list as a whole: two writers would each lose the other's taints, were it not for the resourceVersion. */
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
