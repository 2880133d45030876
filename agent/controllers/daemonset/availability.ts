import type { DaemonSet, Pod } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { isReady } from "./daemon-pod.ts";

/** Since when a pod has been ready, as far as we watched it. */
export interface Watched {
  /** undefined: not ready. */
  readonly readySince: Instant | undefined;
  /** lastTransitionTime of the condition; only compared for change. */
  readonly transition: string | undefined;
  /** It was ready when the term began; only its timestamp says since when. */
  readonly fromBefore: boolean;
}

/** Pods by uid. `undefined`: no pass of this term has read them yet. */
export type Readiness = ReadonlyMap<string, Watched>;

/** The readiness after reading the pods once more. */
export function watchReadiness(pods: readonly Pod[], before: Readiness | undefined, now: Instant): Readiness {
  return new Map(pods.map((pod) => [pod.metadata.uid, watched(pod, before, now)]));
}

function watched(pod: Pod, before: Readiness | undefined, now: Instant): Watched {
  const known = before?.get(pod.metadata.uid);
  const transition = podCondition(pod, "Ready")?.lastTransitionTime;
  if (!isReady(pod)) return { readySince: undefined, transition, fromBefore: false };
  const isUnchanged = known?.readySince !== undefined && known.transition === transition;
  return isUnchanged ? known : { readySince: now, transition, fromBefore: before === undefined };
}

export interface AvailabilityRule {
  readonly minReady: Millis;
  readonly readiness: Readiness;
}

export const availabilityOf = ({ spec }: DaemonSet, readiness: Readiness | undefined): AvailabilityRule => ({
  minReady: (spec?.minReadySeconds ?? 0) * 1000,
  readiness: readiness ?? new Map(),
});

/**
 * Whether a pod has been ready for longer than minReadySeconds by our clock; a kubelet's clock may be years off. Its
 * timestamp is trusted as well if the pod was ready before this term began: otherwise every change of leader would make
 * all pods of a rollout unavailable for a while.
 */
export function isAvailable(pod: Pod, rule: AvailabilityRule, now: Instant): boolean {
  const remaining = untilAvailable(pod, rule, now);
  return remaining !== undefined && remaining <= 0;
}

/**
 * Whether a pod may be available by either our clock or its timestamp. Updates ask this of the pods to be replaced: a
 * pod whose past we missed must not count as broken, or it would be deleted at once, whatever the limit.
 */
export function mayBeAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): boolean {
  const known = readiness.get(pod.metadata.uid);
  const believed = new Map(known && [[pod.metadata.uid, { ...known, fromBefore: true }]]);
  return isAvailable(pod, { minReady, readiness: believed }, now);
}

/** Time until the pod is available if it stays ready; 0: it is. `undefined`: not ready. */
export function untilAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): Millis | undefined {
  if (!isReady(pod)) return undefined;
  if (minReady === 0) return 0;
  const known = readiness.get(pod.metadata.uid);
  const ours = known?.readySince === undefined ? minReady : minReady - elapsed(known.readySince, now);
  const told = known?.fromBefore ? Date.parse(known.transition ?? "") + minReady - now.wall : Number.NaN;
  const remaining = Number.isNaN(told) ? ours : Math.min(ours, told);
  // Strictly longer: docs/kubernetes-rules.md#pod-utilities.
  return remaining < 0 ? 0 : Math.floor(remaining) + 1;
}
