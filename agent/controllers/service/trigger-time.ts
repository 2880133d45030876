import type { Pod, Service } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";

/** Says when what caused the last change of the endpoints happened. */
export const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/**
 * What was seen of a service at its last sync: when it was created, and since when each of its pods is ready or not.
 * Timestamps of the API are texts of one length in UTC: they are compared as such, and never read as time.
 */
export interface TriggerTimes {
  readonly service: string;
  /** By name. */
  readonly pods: ReadonlyMap<string, string>;
}

/**
 * The time to tell (docs/kubernetes-rules.md#trigger-time): of a service that is seen for the first time its creation;
 * else the earliest of the times that moved on since the last sync. `undefined`: none did, and the annotation goes.
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
