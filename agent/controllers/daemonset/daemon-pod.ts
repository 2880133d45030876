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

/** Longest valid pod name: the dash of the prefix is omitted if it would exceed this, as in kube-controller-manager. */
const longestName = 253;

/**
 * A new pod of the set for a board. The scheduler binds it, since it knows whether there is room
 * (docs/kubernetes-rules.md#daemon-pod).
 */
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

/** The board that the pod runs on or is meant for; `undefined`: neither is set. */
export const targetOf = (pod: Pod): string | undefined => boardOf(pod) ?? pinnedTo(pod.spec?.affinity);

/** Whether the pod is of the present template: by its hash, or by the generation label of older API versions. */
export function isUpdated(set: DaemonSet, pod: Pod, hash: string): boolean {
  const labels = pod.metadata.labels ?? {};
  const generation = templateGeneration(set);
  return labels[hashLabel] === hash || (generation !== undefined && labels[generationLabel] === generation);
}

export const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/** Bound pods first, then the oldest first. */
export function byAge(a: Pod, b: Pod): number {
  const isBound = Number(boardOf(b) !== undefined) - Number(boardOf(a) !== undefined);
  const [created, otherCreated] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return isBound || inTextOrder(created, otherCreated) || inTextOrder(a.metadata.name, b.metadata.name);
}

/** Generation in the form of a label value; `undefined` if the annotation is not a number. */
function templateGeneration({ metadata: { annotations } }: DaemonSet): string | undefined {
  const written = annotations?.[generationAnnotation];
  return written !== undefined && /^[+-]?\d{1,18}$/.test(written) ? String(BigInt(written)) : undefined;
}
