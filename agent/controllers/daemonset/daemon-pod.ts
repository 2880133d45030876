import type { DaemonSet, Pod } from "../../api/core.ts";
import type { NewObject } from "../../api/meta.ts";
import { pinnedTo, pinTo } from "../../api/node-affinity.ts";
import { controlledBy } from "../../api/owners.ts";
import { boardOf } from "../../api/pods.ts";
import { daemonSets } from "../../api/resources.ts";
import { inTextOrder } from "../../base/text/text-order.ts";
import { barePod } from "../bare-pod.ts";
import { daemonTolerations } from "./tolerations.ts";

export const hashLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";
const generationAnnotation = "deprecated.daemonset.template.generation";

/**
 * Longest valid name of a pod. generateName ends without a dash if the dash would exceed this length, as in
 * kube-controller-manager.
 */
const maxNameLength = 253;

/**
 * Returns a function that makes a set's pod for a board (docs/kubernetes-rules.md#daemon-pod). The pods are not bound,
 * because only the scheduler knows whether there is room. Whatever is the same for every board is one object that all
 * pods share, because a template may be large.
 */
export function daemonPods(set: DaemonSet, hash: string): (board: string) => NewObject {
  const { name, namespace } = set.metadata;
  const { metadata: template, spec } = set.spec?.template ?? {};
  const generation = templateGeneration(set);
  const metadata = {
    generateName: name.length < maxNameLength ? `${name}-` : name,
    ...(namespace !== undefined && { namespace }),
    labels: {
      ...template?.labels,
      ...(generation !== undefined && { [generationLabel]: generation }),
      [hashLabel]: hash,
    },
    ...(template?.annotations && { annotations: template.annotations }),
    ...(template?.finalizers && { finalizers: template.finalizers }),
    ownerReferences: [controlledBy(daemonSets, set)],
  };
  const tolerations = daemonTolerations(spec);
  return (board) => {
    const affinity = pinTo(spec?.affinity, board);
    const object = { apiVersion: "v1", kind: "Pod", metadata, spec: { ...spec, affinity, tolerations } };
    return object;
  };
}

/** The board that the pod runs on or was created for; undefined if there is none. */
export const targetOf = (pod: Pod): string | undefined => boardOf(pod) ?? pinnedTo(pod.spec?.affinity);

/** The parts of a set's pod that a pass needs: its identity, board, template and status. */
export function bareDaemonPod(pod: Pod): Pod {
  const { metadata, spec = { containers: [] }, ...rest } = barePod(pod);
  const { creationTimestamp, labels } = pod.metadata;
  const kept = [hashLabel, generationLabel].flatMap((name) => {
    const value = labels?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const pin = boardOf(pod) === undefined ? targetOf(pod) : undefined;
  return {
    ...rest,
    metadata: {
      ...metadata,
      labels: Object.fromEntries(kept),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: { ...spec, ...(pin !== undefined && { affinity: pinTo(undefined, pin) }) },
  };
}

/**
 * Whether the pod was made from the current template, judged by its hash or by the generation label of older API
 * versions.
 */
export function isUpdated(set: DaemonSet, pod: Pod, hash: string): boolean {
  const labels = pod.metadata.labels ?? {};
  const generation = templateGeneration(set);
  return labels[hashLabel] === hash || (generation !== undefined && labels[generationLabel] === generation);
}

/** Sorts bound pods before unbound ones, and each group by age, oldest first. */
export function byAge(a: Pod, b: Pod): number {
  const isBound = Number(boardOf(b) !== undefined) - Number(boardOf(a) !== undefined);
  const [created, otherCreated] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return isBound || inTextOrder(created, otherCreated) || inTextOrder(a.metadata.name, b.metadata.name);
}

/**
 * The first of these pods by `byAge`; undefined if there are none. Does not sort, because a tenant's set may have
 * thousands.
 */
export const oldestOf = (pods: readonly Pod[]): Pod | undefined =>
  pods.reduce<Pod | undefined>(
    (oldest, pod) => (oldest !== undefined && byAge(oldest, pod) <= 0 ? oldest : pod),
    undefined,
  );

/** The template's generation as a label value; undefined if the annotation is missing or not a number. */
function templateGeneration({ metadata: { annotations } }: DaemonSet): string | undefined {
  const written = annotations?.[generationAnnotation];
  return written !== undefined && /^[+-]?\d{1,18}$/.test(written) ? String(BigInt(written)) : undefined;
}
