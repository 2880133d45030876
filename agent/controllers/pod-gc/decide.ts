import type { Pod } from "../../api/core.ts";
import { isFinished } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { type Action, anyStateOf, type Cause, type Outcome, overtakenBy, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";

/** Memory between passes. */
export interface GcMemory {
  /** Boards that pods name and the cache lacks, with the time from which the API is asked about them. */
  readonly waiting: ReadonlyMap<string, Instant>;
  readonly passAt: Instant | undefined;
  /** Keys of pods that changed between our read and their deletion, which then met a conflict. */
  readonly overtaken: ReadonlySet<string>;
}

export const firstGcMemory: GcMemory = { waiting: new Map(), passAt: undefined, overtaken: new Set() };

export type GcState =
  /** The key was processed between two passes: nothing is due. */
  | { readonly kind: "early" }
  /** Nothing may be deleted now, and why: the link is down, or an outage ended just now. */
  | { readonly kind: "held"; readonly why: string }
  /** Between two passes: overtaken pods that still have to be deleted, as read from the API. */
  | ({ readonly kind: "again" } & Pick<GcPass, "outOfService" | "orphans">)
  | GcPass;

export interface GcPass {
  readonly kind: "pass";
  /** Terminated pods above the threshold, in the order of their deletion. */
  readonly ended: readonly Pod[];
  /** Terminating pods on boards that are out of service. */
  readonly outOfService: readonly Pod[];
  /** Boards that pods name and the cache lacks. */
  readonly missing: readonly string[];
  /** The API's answers about the missing boards that are due. */
  readonly fates: ReadonlyMap<string, "deleted" | "exists" | "unanswered">;
  /** Pods of the boards that were deleted. */
  readonly orphans: readonly Orphans[];
  /** Terminating pods that were never bound. */
  readonly unbound: readonly Pod[];
}

export interface Orphans {
  readonly board: string;
  readonly pods: readonly Pod[];
  /** More of them exist than fit into this pass. */
  readonly isPart: boolean;
}

/** Values of kube-controller-manager. */
const period: Millis = 20_000;
const quarantine: Millis = 40_000;

/** Whether it is time to ask about a board. */
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
      // Boards may only have been missing because the link was down, so their quarantine starts over.
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
 * Failed deletions are repeated in the next pass if still needed. Conflicts are repeated with the retry of the key: a
 * pod that changes constantly is tried no more often than the loop's backoff permits.
 */
export const remember = (decision: Decision<GcMemory>, outcomes: readonly Outcome[]): Decision<GcMemory> => ({
  ...decision,
  actions: [],
  memory: { ...decision.memory, overtaken: overtakenBy(outcomes, pods) },
});

/**
 * A board waits from the pass that first missed it. Once asked about, it waits again from this pass as long as pods
 * name it: pods that could not be deleted, and boards without an answer, are due one quarantine later.
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

/** In kube-controller-manager's order. A pod found by two rules is deleted by the first. */
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
 * `anyState`: the pod cannot come back to life, so its uid is enough as a precondition. A pod deleted because of its
 * board's state is named with its resourceVersion: the board may be back and its kubelet have written before the
 * request arrives.
 */
interface Why {
  readonly anyState: boolean;
  readonly orphanedBy?: string;
}

/**
 * Sets the phase Failed before the deletion, so that controllers that count pods never take it for a running one; no
 * kubelet is left to set it. If that write fails the pod is not deleted: the executor skips the actions that follow a
 * failed one on the same object.
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
