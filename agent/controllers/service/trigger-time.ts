import type { Pod, Service } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";

/** Annotation with the time of the change that caused the last update of the endpoints. */
export const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/**
 * Times of a service at its last sync: its creation, and the last change of each pod's readiness. API timestamps are
 * UTC strings of equal length, so they are compared as strings, never parsed.
 */
export interface TriggerTimes {
  /** The creation time of the service. */
  readonly service: string;
  /** The last change of readiness, by pod name. */
  readonly pods: ReadonlyMap<string, string>;
}

/**
 * The time to report (docs/kubernetes-rules.md#trigger-time): at the first sync, the service's creation; after that,
 * the earliest of the times that moved forward. `at` is undefined if none did, in which case the annotation is removed.
 */
export function triggerTime(
  before: TriggerTimes | undefined,
  service: Service,
  pods: readonly Pod[],
): { readonly at: string | undefined; readonly times: TriggerTimes } {
  const created = service.metadata.creationTimestamp ?? "";
  const times = new Map<string, string>();
  const changed: string[] = [];
  for (const pod of pods) {
    const since = podCondition(pod, "Ready")?.lastTransitionTime ?? "";
    if (since === "") continue;
    times.set(pod.metadata.name, since);
    if (since > (before?.pods.get(pod.metadata.name) ?? "")) changed.push(since);
  }
  if (created > (before?.service ?? "")) changed.push(created);
  const at = before === undefined ? created : changed.reduce(earliest, "");
  return { at: at === "" ? undefined : at, times: { service: created, pods: times } };
}

const earliest = (a: string, b: string): string => (a === "" || b < a ? b : a);
