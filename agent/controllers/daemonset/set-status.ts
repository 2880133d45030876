import type { DaemonSet } from "../../api/core.ts";
import { isReady } from "../../api/pods.ts";
import type { Instant } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import { type AvailabilityRule, isAvailable } from "./availability.ts";
import type { Board, PodsByBoard } from "./board.ts";
import { isUpdated, oldestOf } from "./daemon-pod.ts";

/** The counts in the status of a set. */
export interface SetCounts {
  readonly desiredNumberScheduled: number;
  readonly currentNumberScheduled: number;
  readonly numberMisscheduled: number;
  readonly numberReady: number;
  readonly updatedNumberScheduled: number;
  readonly numberAvailable: number;
  readonly numberUnavailable: number;
}

/** Counts boards (docs/kubernetes-rules.md#daemon-status). If a board has several pods, the oldest is used. */
export function* countBoards(
  boards: readonly Board[],
  pods: PodsByBoard,
  {
    set,
    hash,
    availability,
  }: { readonly set: DaemonSet; readonly hash: string; readonly availability: AvailabilityRule },
  now: Instant,
): Steps<SetCounts> {
  let [desired, scheduled, misscheduled, ready, updated, available] = [0, 0, 0, 0, 0, 0];
  for (const { name, run } of boards) {
    yield;
    const there = pods.get(name);
    if (!run) {
      if (there !== undefined) misscheduled++;
      continue;
    }
    desired++;
    const pod = oldestOf(there ?? []);
    if (pod === undefined) continue;
    scheduled++;
    if (isUpdated(set, pod, hash)) updated++;
    if (isReady(pod)) ready++;
    if (isAvailable(pod, availability, now)) available++;
  }
  return {
    desiredNumberScheduled: desired,
    currentNumberScheduled: scheduled,
    numberMisscheduled: misscheduled,
    numberReady: ready,
    updatedNumberScheduled: updated,
    numberAvailable: available,
    numberUnavailable: desired - available,
  };
}

/**
 * The merge patch of the status; undefined if nothing changed. `observed`: whether the pods of this generation were
 * handled, so that observedGeneration is raised; `kubectl rollout status` waits for that.
 */
export function statusPatch(
  { metadata, status }: DaemonSet,
  counts: SetCounts,
  { observed }: { readonly observed: boolean },
): object | undefined {
  const generation = metadata.generation ?? 0;
  const before: Readonly<Record<string, unknown>> = { ...status };
  const isSame = Object.entries(counts).every(([name, count]) => (before[name] ?? 0) === count);
  const isBehind = (status?.observedGeneration ?? 0) < generation;
  if (isSame && !(isBehind && observed)) return undefined;
  return { status: { ...counts, ...(observed && isBehind && { observedGeneration: generation }) } };
}
