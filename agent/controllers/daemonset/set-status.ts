import type { DaemonSet } from "../../api/core.ts";
import type { Instant } from "../../base/clock.ts";
import { type AvailabilityRule, isAvailable } from "./availability.ts";
import type { Board, PodsByBoard } from "./board.ts";
import { byAge, isReady, isUpdated } from "./daemon-pod.ts";

/** The counts in the status of a set. */
export interface Counts {
  readonly desiredNumberScheduled: number;
  readonly currentNumberScheduled: number;
  readonly numberMisscheduled: number;
  readonly numberReady: number;
  readonly updatedNumberScheduled: number;
  readonly numberAvailable: number;
  readonly numberUnavailable: number;
}

/** docs/kubernetes-rules.md#daemon-status: of several pods on a board the oldest counts. */
export function countBoards(
  boards: readonly Board[],
  pods: PodsByBoard,
  context: { readonly set: DaemonSet; readonly hash: string; readonly availability: AvailabilityRule },
  now: Instant,
): Counts {
  const desired = boards.filter(({ run }) => run);
  const speaking = desired.flatMap(({ name }) => (pods.get(name) ?? []).toSorted(byAge).slice(0, 1));
  const ready = speaking.filter(isReady);
  const numberAvailable = ready.filter((pod) => isAvailable(pod, context.availability, now)).length;
  return {
    desiredNumberScheduled: desired.length,
    currentNumberScheduled: speaking.length,
    numberMisscheduled: boards.filter(({ run, name }) => !run && pods.has(name)).length,
    numberReady: ready.length,
    updatedNumberScheduled: speaking.filter((pod) => isUpdated(context.set, pod, context.hash)).length,
    numberAvailable,
    numberUnavailable: desired.length - numberAvailable,
  };
}

/**
 * A merge patch of the status; `undefined`: no change. observedGeneration stays until the pods of that generation were
 * handled: `kubectl rollout status` waits for it.
 */
export function statusPatch(
  { metadata, status }: DaemonSet,
  counts: Counts,
  { observed }: { readonly observed: boolean },
): object | undefined {
  const generation = metadata.generation ?? 0;
  const before: Readonly<Record<string, unknown>> = { ...status };
  const isSame = Object.entries(counts).every(([name, count]) => (before[name] ?? 0) === count);
  const isBehind = (status?.observedGeneration ?? 0) < generation;
  if (isSame && !(isBehind && observed)) return undefined;
  return { status: { ...counts, ...(observed && isBehind && { observedGeneration: generation }) } };
}
