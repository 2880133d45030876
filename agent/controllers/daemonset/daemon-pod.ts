import type { DaemonSet, Pod } from "../../api/core.ts";
import type { NewObject } from "../../api/meta.ts";
import { pinned, pinnedTo } from "../../api/node-affinity.ts";
import { controlledBy } from "../../api/owners.ts";
import { boardOf, podCondition } from "../../api/pods.ts";
import { daemonSets } from "../../api/resources.ts";
import { inTextOrder } from "../../base/text-order.ts";
import { daemonTolerations } from "./tolerations.ts";

export const hashLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";
const generationAnnotation = "deprecated.daemonset.template.generation";

/** A name longer than this would not be one: then the pods are named after the set alone, and the API refuses them. */
const longestName = 253;

/** One more pod of the set, for a board. The scheduler binds it: nobody else knows whether there is room (5.4). */
export function daemonPod(set: DaemonSet, board: string, hash: string): NewObject {
  const { name, namespace } = set.metadata;
  const { metadata, spec } = set.spec?.template ?? {};
  const generation = templateGeneration(set);
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: name.length < longestName ? `${name}-` : name,
      ...(namespace !== undefined && { namespace }),
      labels: {
        ...metadata?.labels,
        ...(generation !== undefined && { [generationLabel]: generation }),
        [hashLabel]: hash,
      },
      ...(metadata?.annotations && { annotations: metadata.annotations }),
      ...(metadata?.finalizers && { finalizers: metadata.finalizers }),
      ownerReferences: [controlledBy(daemonSets, set)],
    },
    spec: { ...spec, affinity: pinned(spec?.affinity, board), tolerations: daemonTolerations(spec) },
  };
  return object;
}

/** The board that the pod runs on, or was made for. `undefined`: whoever made it did not say. */
export const targetOf = (pod: Pod): string | undefined => boardOf(pod) ?? pinnedTo(pod.spec?.affinity);

/** Of the present template: by its hash, or by the number that old API versions counted templates with. */
export function isUpdated(set: DaemonSet, pod: Pod, hash: string): boolean {
  const labels = pod.metadata.labels ?? {};
  const generation = templateGeneration(set);
  return labels[hashLabel] === hash || (generation !== undefined && labels[generationLabel] === generation);
}

export const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/** The oldest first, and before it those that have a board already. */
export function byAge(a: Pod, b: Pod): number {
  const isBound = Number(boardOf(b) !== undefined) - Number(boardOf(a) !== undefined);
  const [created, otherCreated] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return isBound || inTextOrder(created, otherCreated) || inTextOrder(a.metadata.name, b.metadata.name);
}

/** As a label has it. An annotation that is no number says nothing. */
function templateGeneration({ metadata: { annotations } }: DaemonSet): string | undefined {
  const written = annotations?.[generationAnnotation];
  return written !== undefined && /^[+-]?\d{1,18}$/.test(written) ? String(BigInt(written)) : undefined;
}
