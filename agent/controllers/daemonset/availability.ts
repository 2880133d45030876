import type { DaemonSet, Pod } from "../../api/core.ts";
import { isReady, podCondition } from "../../api/pods.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";

/** The readiness of a pod as observed by this process. */
export interface WatchedPod {
  /** When we first saw the pod ready; undefined if it is not ready. */
  readonly readySince: Instant | undefined;
  /** lastTransitionTime of the Ready condition. */
  readonly transition: string | undefined;
  /** True if the pod was already ready when the term began, so that only `transition` says when it became ready. */
  readonly fromBefore: boolean;
}

/** Readiness by the pod's uid. */
export type DaemonReadiness = ReadonlyMap<string, WatchedPod>;

/** The readiness after another read of the pods. `before` is undefined if no pass of this term has read them yet. */
export function* watchReadiness(
  pods: readonly Pod[],
  before: DaemonReadiness | undefined,
  now: Instant,
): Steps<DaemonReadiness> {
  return new Map(yield* mapInSteps(pods, (pod) => [pod.metadata.uid, watched(pod, before, now)] as const));
}

function watched(pod: Pod, before: DaemonReadiness | undefined, now: Instant): WatchedPod {
  const last = before?.get(pod.metadata.uid);
  const transition = podCondition(pod, "Ready")?.lastTransitionTime;
  if (!isReady(pod)) return { readySince: undefined, transition, fromBefore: false };
  const isUnchanged = last?.readySince !== undefined && last.transition === transition;
  return isUnchanged ? last : { readySince: now, transition, fromBefore: before === undefined };
}

export interface AvailabilityRule {
  readonly minReady: Millis;
  readonly readiness: DaemonReadiness;
}

export const availabilityOf = ({ spec }: DaemonSet, readiness: DaemonReadiness | undefined): AvailabilityRule => ({
  minReady: (spec?.minReadySeconds ?? 0) * 1000,
  readiness: readiness ?? new Map(),
});

/**
 * Whether a pod has been ready for longer than minReadySeconds. This is measured by our clock, because a kubelet's
 * clock may be years off. For a pod that was already ready when this term began, its timestamp counts too. Otherwise,
 * all pods of a rollout would become unavailable for a while at every change of leader.
 */
export function isAvailable(pod: Pod, rule: AvailabilityRule, now: Instant): boolean {
  const remaining = untilAvailable(pod, rule, now);
  return remaining !== undefined && remaining <= 0;
}

/**
 * Whether a pod is available by either our clock or its timestamp. Updates use this for the pods to be replaced,
 * because a pod whose history we did not watch must not count as broken: it would be deleted immediately, regardless of
 * the limit.
 */
export function mayBeAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): boolean {
  const watchedPod = readiness.get(pod.metadata.uid);
  const trusted = new Map(watchedPod && [[pod.metadata.uid, { ...watchedPod, fromBefore: true }]]);
  return isAvailable(pod, { minReady, readiness: trusted }, now);
}

/** Time until the pod is available if it stays ready: 0 if it is available, undefined if it is not ready. */
export function untilAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): Millis | undefined {
  if (!isReady(pod)) return undefined;
  if (minReady === 0) return 0;
  const { readySince, transition = "", fromBefore } = readiness.get(pod.metadata.uid) ?? {};
  const byOurClock = readySince === undefined ? minReady : minReady - elapsed(readySince, now);
  const byTimestamp = fromBefore ? Date.parse(transition) + minReady - now.wall : Number.NaN;
  const remaining = Number.isNaN(byTimestamp) ? byOurClock : Math.min(byOurClock, byTimestamp);
  // The pod must be ready for strictly longer than minReadySeconds: docs/kubernetes-rules.md#pod-utilities.
  return remaining < 0 ? 0 : Math.floor(remaining) + 1;
}
