import type { Pod, ReplicaSet } from "../../agent/api/core.ts";
import type { NewObject } from "../../agent/api/meta.ts";
import { controlledBy, isControlledBy } from "../../agent/api/owners.ts";
import { isFinished, isTerminating, podCondition } from "../../agent/api/pods.ts";
import { replicaSets } from "../../agent/api/resources.ts";
import type { Random } from "../../agent/base/random.ts";

/**
 * The pods of a ReplicaSet, except those being deleted, of which their board may never learn, and those that have
 * finished.
 */
export const activePodsOf = (set: ReplicaSet, pods: Iterable<Pod>): readonly Pod[] =>
  [...pods].filter((pod) => isControlledBy(pod, set) && !isTerminating(pod) && !isFinished(pod));

/** A new pod of a ReplicaSet, made from its template. */
export function podOf(set: ReplicaSet, random: Random): NewObject {
  const { metadata, spec } = set;
  const { name, namespace } = metadata;
  const { labels, annotations } = spec?.template?.metadata ?? {};
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-${suffix(random)}`,
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ownerReferences: [controlledBy(replicaSets, set)],
    },
    spec: spec?.template?.spec,
  };
  return object;
}

/**
 * The pods to remove when there are too many: first those without a board, then those that are not ready, then the
 * newest.
 */
export function surplusOf({ spec }: ReplicaSet, active: readonly Pod[]): readonly Pod[] {
  const worth = (pod: Pod): number => (pod.spec?.nodeName === undefined ? 0 : isReady(pod) ? 2 : 1);
  const age = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const count = Math.max(0, active.length - (spec?.replicas ?? 1));
  return [...active].sort((a, b) => worth(a) - worth(b) || age(b) - age(a)).slice(0, count);
}

/** A merge patch of the status; `undefined` if it is up to date. Zero counts are left out, as in Kubernetes. */
export function statusPatch({ metadata, status }: ReplicaSet, active: readonly Pod[]): object | undefined {
  const ready = active.filter(isReady).length;
  const counts = { fullyLabeledReplicas: active.length, readyReplicas: ready, availableReplicas: ready };
  const wanted = {
    replicas: active.length,
    ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count || null])),
    observedGeneration: metadata.generation ?? null,
  };
  const before: Readonly<Record<string, unknown>> = { ...status };
  const isSame = Object.entries(wanted).every(([name, value]) => (before[name] ?? null) === value);
  return isSame ? undefined : { status: wanted };
}

const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/** Random letters as in generated names, chosen so that they do not form words. */
function suffix(random: Random): string {
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from({ length: 5 }, () => letters[Math.floor(random.next() * letters.length)]).join("");
}
