import type { DaemonSet } from "../../api/core.ts";
import { isReady } from "../../api/pods.ts";
import { daemonSets, pods as podResource } from "../../api/resources.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { isPostponed } from "../../base/postponed.ts";
import { mapEachInSteps, type Steps } from "../../base/steps.ts";
import { type Action, deletionTarget, isConflict, type Outcome, refTo } from "../../execution/actions.ts";
import type { AvailabilityRule } from "./availability.ts";
import { type LeavingPod, type PodsByBoard, podsByBoard } from "./board.ts";
import { type BoardPlan, planBoard } from "./board-pods.ts";
import { daemonPods, isUpdated } from "./daemon-pod.ts";
import { type FailedBackoffs, stillValid } from "./failed-pods.ts";
import { type SetWork, sooner } from "./pass.ts";
import { updateStep } from "./rolling-update.ts";

/** Maximum number of pods of a set that a pass creates, and of pods that it deletes. */
const burst = 250;
/** How soon a held deletion is checked again. */
export const heldRecheck: Millis = 5000;

export interface PodWrites {
  readonly actions: readonly Action[];
  readonly backoffs: FailedBackoffs;
  readonly recheck: Millis | undefined;
}

export interface PodContext {
  readonly hash: string;
  readonly availability: AvailabilityRule;
  readonly backoffs: FailedBackoffs;
}

/**
 * Ensures one pod on every board that should have one. If nothing needs to be done for that, takes a step of the
 * update.
 */
export function* podWrites(work: SetWork, context: PodContext, now: Instant): Steps<PodWrites> {
  const { set, boards } = work;
  const pods = yield* podsByBoard(work.pods);
  const backoffs = new Map(stillValid(context.backoffs, set.status?.observedGeneration ?? 0, now));
  const plans = yield* mapEachInSteps(boards, function* (board): Steps<readonly [string, BoardPlan]> {
    yield;
    const backoff = backoffs.get(board.name);
    const plan = yield* planBoard(board, pods.get(board.name), { set, ...context, backoff }, now);
    if (plan.backoff !== undefined) backoffs.set(board.name, plan.backoff);
    return [board.name, plan];
  });
  yield;
  const recheck = plans.reduce((least, [, plan]) => sooner(least, plan.recheck), heldBack(work, pods, context.hash));
  yield;
  const create = plans.flatMap(([board, plan]) => (plan.create ? [board] : []));
  const leaving = [...plans.flatMap(([, plan]) => plan.leaving), ...forVanished(work, pods)];
  yield;
  if (create.length + leaving.length > 0) {
    const over = plans.flatMap(([board, plan]) => plan.over.map((one) => [board, one] as const));
    const events = over.slice(0, burst).map(([board, one]) => overEvent(set, one, board));
    return { actions: [...events, ...writes(set, { create, leaving }, context.hash)], backoffs, recheck };
  }
  const { step } = yield* updateStep(boards, pods, { set, ...context }, now);
  return { actions: writes(set, step, context.hash), backoffs, recheck };
}

/** The deletions of unbound pods created for a board that no longer exists, because nothing else would delete them. */
function forVanished({ vanished }: SetWork, pods: PodsByBoard): readonly LeavingPod[] {
  return vanished.flatMap((board) =>
    (pods.get(board) ?? []).filter(({ spec }) => !spec?.nodeName).map((pod) => ({ pod })),
  );
}

/**
 * When to check again because the deletion of an old pod on a silent board is held; undefined if no deletion is held.
 */
function heldBack({ set, boards }: SetWork, pods: PodsByBoard, hash: string): Millis | undefined {
  const waits = boards.some(
    ({ name, silence }) =>
      silence?.isHeld && pods.get(name)?.some((pod) => !isReady(pod) && !isUpdated(set, pod, hash)),
  );
  return waits ? heldRecheck : undefined;
}

function writes(
  set: DaemonSet,
  { create, leaving }: { readonly create: readonly string[]; readonly leaving: readonly LeavingPod[] },
  hash: string,
): readonly Action[] {
  const podFor = daemonPods(set, hash);
  const made = create
    .slice(0, burst)
    .map((board): Action => ({ do: "create", resource: podResource, object: podFor(board) }));
  const removed = leaving.slice(0, burst).map(({ pod, silence }): Action => {
    const target = deletionTarget(refTo(podResource, pod), silence?.cause);
    return { do: "delete", target, ...(silence && { cause: silence.cause, grounds: silence.grounds }) };
  });
  return [...made, ...removed];
}

function overEvent(set: DaemonSet, { pod, how }: BoardPlan["over"][number], board: string): Action {
  const { namespace, name } = pod.metadata;
  const isFailed = how === "failed";
  return {
    do: "event",
    about: refTo(daemonSets, set),
    severity: isFailed ? "Warning" : "Normal",
    reason: isFailed ? "FailedDaemonPod" : "SucceededDaemonPod",
    message: `Found ${how} daemon pod ${namespace}/${name} on node ${board}, will try to ${isFailed ? "kill" : "delete"} it`,
  };
}

/** Events on the set about created and deleted pods. */
export function podEvents(set: DaemonSet, outcomes: readonly Outcome[]): readonly Action[] {
  return outcomes.flatMap((outcome): readonly Action[] => {
    const text = eventText(outcome);
    return text === undefined ? [] : [{ do: "event", about: refTo(daemonSets, set), ...text }];
  });
}

function eventText(
  outcome: Outcome,
): { readonly severity: "Normal" | "Warning"; readonly reason: string; readonly message: string } | undefined {
  const { action } = outcome;
  if (action.do !== "create" && action.do !== "delete") return undefined;
  const what = action.do === "create" ? "Create" : "Delete";
  if (!outcome.ok) {
    const { error } = outcome;
    // After a conflict, the pod is read again, and the next pass makes a new decision. A postponed write has not
    // failed.
    if (isNotAttempted(error) || isNamespaceEnding(error) || isConflict(error) || isPostponed(error)) return undefined;
    const doing = action.do === "create" ? "creating" : "deleting";
    return { severity: "Warning", reason: `Failed${what}`, message: `Error ${doing}: ${error.message}` };
  }
  const name = action.do === "create" ? outcome.object?.metadata.name : action.target.name;
  return { severity: "Normal", reason: `Successful${what}`, message: `${what}d pod: ${name}` };
}

const isNotAttempted = ({ name }: Error): boolean => name === "NotAttemptedError";

/** Whether the namespace is terminating; nothing can be created in it any more. */
export const isNamespaceEnding = (error: Error): boolean =>
  "causes" in error &&
  Array.isArray(error.causes) &&
  error.causes.some(({ reason }: { readonly reason?: unknown }) => reason === "NamespaceTerminating");
