import type { Pod } from "../../api/core.ts";
import { isFinished } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { type Action, anyStateOf, type Cause, type ObjectRef, refTo } from "../../runtime/actions.ts";
import type { Decision } from "../../runtime/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";

/** What the garbage collection remembers from pass to pass. */
export interface GcMemory {
  /** Boards that pods name and that the cache does not know, and from when on the API is asked about them. */
  readonly waiting: ReadonlyMap<string, Instant>;
  readonly passAt: Instant | undefined;
}

export const firstGcMemory: GcMemory = { waiting: new Map(), passAt: undefined };

export type GcState =
  /** A key may be looked at between two passes: then nothing is due. */
  | { readonly kind: "early" }
  /** Why nothing may be deleted: we are blind, or an outage was over just now. */
  | { readonly kind: "held"; readonly why: string }
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
    case "early": {
      const wait = memory.passAt === undefined ? 0 : elapsed(now, memory.passAt);
      return { actions: [], memory, requeueAfter: Math.max(1, wait) };
    }
    case "held":
      // What was found missing may only have been out of our sight: the quarantine begins anew.
      return { actions: [], memory: { waiting: new Map(), passAt: shifted(now, period) }, requeueAfter: period };
    case "pass": {
      const waiting = nextWaiting(state, memory, now);
      return { actions: collect(state, now), memory: { waiting, passAt: shifted(now, period) }, requeueAfter: period };
    }
    default:
      return state satisfies never;
  }
}

/** Whatever failed comes in the next pass, as far as it is still there. */
export const remember = (decision: Decision<GcMemory>): Decision<GcMemory> => ({ ...decision, actions: [] });

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
function collect({ ended, outOfService, orphans, unbound }: GcPass, now: Instant): readonly Action[] {
  const seen = new Set<string>();
  const actions: Action[] = [];
  const remove = (found: readonly Pod[], orphanedBy: string | undefined): void => {
    for (const pod of found) {
      if (seen.has(pod.metadata.uid)) continue;
      seen.add(pod.metadata.uid);
      actions.push(...failAndDelete(pod, orphanedBy, now));
    }
  };
  remove(ended, undefined);
  remove(outOfService, undefined);
  for (const { board, pods: found } of orphans) remove(found, board);
  remove(unbound, undefined);
  return actions;
}

/**
 * It is made Failed before it goes, so that whoever counts pods never takes it for one that runs; nobody else would say
 * so. Where that fails it is not deleted: the executor does not attempt what follows a failed act on the same object.
 */
function failAndDelete(pod: Pod, orphanedBy: string | undefined, now: Instant): readonly Action[] {
  const target = refOf(pod);
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

/** By uid alone: whatever else changed about the pod, it is still the one. */
const refOf = (pod: Pod): ObjectRef => anyStateOf(refTo(pods, pod));
