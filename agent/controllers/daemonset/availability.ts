import type { DaemonSet, Pod } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { isReady } from "./daemon-pod.ts";

/** Since when a pod is ready, as far as it was watched. */
export interface Watched {
  /** undefined: it is not ready. */
  readonly readySince: Instant | undefined;
  /** The condition's own word for when it changed: a value that is compared. */
  readonly transition: string | undefined;
  /** It was ready when the term began: how long before that, only its timestamp says. */
  readonly fromBefore: boolean;
}

/** Pods by uid. `undefined`: this is the first look of the term. */
export type Readiness = ReadonlyMap<string, Watched>;

/** What is known of the pods after one more look. */
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
 * Ready, and for longer than minReadySeconds. The time is ours: a kubelet's clock may be wrong by years. Only of a pod that
 * was ready before this term began the timestamp is believed as well: not to believe it would mean that at every change
 * of the leader all pods of a rollout count as broken for a while.
 */
export function isAvailable(pod: Pod, rule: AvailabilityRule, now: Instant): boolean {
  const remaining = untilAvailable(pod, rule, now);
  return remaining !== undefined && remaining <= 0;
}

/**
 * Whether a pod serves as far as anybody can say: by our clock, or by its timestamp. An update asks it of what it is about
 * to replace: a pod whose past we missed must not count as broken, or it goes at once, whatever the limit.
 */
export function mayBeAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): boolean {
  const known = readiness.get(pod.metadata.uid);
  const believed = new Map(known && [[pod.metadata.uid, { ...known, fromBefore: true }]]);
  return isAvailable(pod, { minReady, readiness: believed }, now);
}

/** How long until the pod is available if it stays as it is; `undefined`: it is not ready. */
export function untilAvailable(pod: Pod, { minReady, readiness }: AvailabilityRule, now: Instant): Millis | undefined {
  if (!isReady(pod)) return undefined;
  if (minReady === 0) return 0;
  const known = readiness.get(pod.metadata.uid);
  const ours = known?.readySince === undefined ? minReady : minReady - elapsed(known.readySince, now);
  const told = known?.fromBefore ? Date.parse(known.transition ?? "") + minReady - now.wall : Number.NaN;
  const remaining = Number.isNaN(told) ? ours : Math.min(ours, told);
  // Longer than, not as long as: docs/kubernetes-rules.md#pod-utilities.
  return remaining < 0 ? 0 : Math.floor(remaining) + 1;
}
