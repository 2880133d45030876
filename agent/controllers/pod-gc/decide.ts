import type { Pod } from "../../api/core.ts";
import { isFinished } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { type Action, anyStateOf, type Cause, type Outcome, overtakenBy, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";

/** What the garbage collection remembers from pass to pass. */
export interface GcMemory {
  /** Boards that pods name and that the cache does not know, and from when on the API is asked about them. */
  readonly waiting: ReadonlyMap<string, Instant>;
  readonly passAt: Instant | undefined;
  /** Keys of pods that were written between the read that condemned them and their deletion. */
  readonly overtaken: ReadonlySet<string>;
}

export const firstGcMemory: GcMemory = { waiting: new Map(), passAt: undefined, overtaken: new Set() };

export type GcState =
  /** A key may be looked at between two passes: then nothing is due. */
  | { readonly kind: "early" }
  /** Why nothing may be deleted: we are blind, or an outage was over just now. */
  | { readonly kind: "held"; readonly why: string }
  /** Between two passes: pods that were overtaken, as the API has them now, as far as they still have to go. */
  | ({ readonly kind: "again" } & Pick<GcPass, "outOfService" | "orphans">)
  | GcPass;

export interface GcPass {
  readonly kind: "pass";
  /** Above the threshold, the first to go in front. */
  readonly ended: readonly Pod[];
  /** They are terminating on a board that is out of service. */
  readonly outOfService: readonly Pod[];
  /** Boards that pods name and that the cache does not know. */
  readonly missing: readonly string[];
  /** What the API says of those whose time has come. */
  readonly fates: ReadonlyMap<string, "deleted" | "exists" | "unanswered">;
  /** Pods of the boards that were deleted. */
  readonly orphans: readonly Orphans[];
  /** They are terminating, and were never bound. */
  readonly unbound: readonly Pod[];
}

export interface Orphans {
  readonly board: string;
  readonly pods: readonly Pod[];
  /** There are more of them than fit into this pass. */
  readonly isPart: boolean;
}

/** As kube-controller-manager has them. */
const period: Millis = 20_000;
const quarantine: Millis = 40_000;

/** The time for asking about a board has come. */
export const isDue = (from: Instant | undefined, now: Instant): boolean => from !== undefined && from.mono <= now.mono;

export function decide(state: GcState, memory: GcMemory, now: Instant): Decision<GcMemory> {
  switch (state.kind) {
    case "early":
      return { actions: [], memory, requeueAfter: untilPass(memory, now) };
    case "again": {
      const actions = collect({ ended: [], unbound: [], ...state }, now);
      return { actions, memory: { ...memory, overtaken: new Set() }, requeueAfter: untilPass(memory, now) };
    }
    case "held":
      // What was found missing may only have been out of our sight: the quarantine begins anew.
      return { actions: [], memory: { ...firstGcMemory, passAt: shifted(now, period) }, requeueAfter: period };
    case "pass": {
      const waiting = nextWaiting(state, memory, now);
      const next: GcMemory = { waiting, passAt: shifted(now, period), overtaken: new Set() };
      return { actions: collect(state, now), memory: next, requeueAfter: period };
    }
    default:
      return state satisfies never;
  }
}

const untilPass = ({ passAt }: GcMemory, now: Instant): Millis =>
  Math.max(1, passAt === undefined ? 0 : elapsed(now, passAt));

/**
 * Whatever failed comes in the next pass, as far as it is still there. What was overtaken comes with the retry of this key:
 * a pod that is written all the time is not tried more often than the loop's backoff permits.
 */
export const remember = (decision: Decision<GcMemory>, outcomes: readonly Outcome[]): Decision<GcMemory> => ({
  ...decision,
  actions: [],
  memory: { ...decision.memory, overtaken: overtakenBy(outcomes, pods) },
});

/**
 * A board waits from the pass in which it was first missed. One that was asked about waits anew from this pass, as long
 * as pods name it: what could not be deleted, or was not answered, is due one quarantine later.
 */
function nextWaiting(
  { missing, fates, orphans }: GcPass,
  memory: GcMemory,
  now: Instant,
): ReadonlyMap<string, Instant> {
  const unfinished = new Set(orphans.filter(({ isPart }) => isPart).map(({ board }) => board));
  const waiting = new Map<string, Instant>();
  for (const board of missing) {
    const from = memory.waiting.get(board);
    const goesOn = from !== undefined && (!fates.has(board) || unfinished.has(board));
    waiting.set(board, goesOn ? from : shifted(now, quarantine));
  }
  return waiting;
}

/** In the order of kube-controller-manager. A pod that two rules find goes by the first of them. */
function collect(
  { ended, outOfService, orphans, unbound }: Pick<GcPass, "ended" | "outOfService" | "orphans" | "unbound">,
  now: Instant,
): readonly Action[] {
  const seen = new Set<string>();
  const actions: Action[] = [];
  const remove = (found: readonly Pod[], why: Why): void => {
    for (const pod of found) {
      if (seen.has(pod.metadata.uid)) continue;
      seen.add(pod.metadata.uid);
      actions.push(...failAndDelete(pod, why, now));
    }
  };
  remove(ended, { anyState: true });
  remove(outOfService, { anyState: false });
  for (const { board, pods: found } of orphans) remove(found, { anyState: false, orphanedBy: board });
  remove(unbound, { anyState: true });
  return actions;
}

/**
 * `anyState`: nothing brings the pod back to life, so that its uid says enough. What goes because of its board's state is
 * named in the state that was read: the board may be back, and its kubelet have written, before the deletion arrives.
 */
interface Why {
  readonly anyState: boolean;
  readonly orphanedBy?: string;
}

/**
 * It is made Failed before it goes, so that whoever counts pods never takes it for one that runs; nobody else would say
 * so. Where that fails it is not deleted: the executor does not attempt what follows a failed act on the same object.
 */
function failAndDelete(pod: Pod, { anyState, orphanedBy }: Why, now: Instant): readonly Action[] {
  const target = anyState ? anyStateOf(refTo(pods, pod)) : refTo(pods, pod);
  const cause: { readonly cause?: Cause } =
    orphanedBy === undefined
      ? {}
      : { cause: { board: orphanedBy, verdict: "deleted", rule: "its Node no longer exists" } };
  const deletion: Action = { do: "delete", target, gracePeriodSeconds: 0, ...cause };
  if (isFinished(pod)) return [deletion];
  const { generation } = pod.metadata;
  const condition = orphanedBy === undefined ? undefined : disruptionTarget(pod, whyOrphaned, now);
  const status = {
    phase: "Failed",
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(condition && { conditions: [condition] }),
  };
  return [{ do: "patch", target, type: "strategic", patch: { status }, subresource: "status" }, deletion];
}

const whyOrphaned = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
