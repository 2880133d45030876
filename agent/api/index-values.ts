import { inTextOrder } from "../base/text-order.ts";
import type { KubeObject } from "./meta.ts";
import type { LabelSelector } from "./selectors.ts";

/*
 * Values of the caches' label indices, so that the objects matched by a selector, and vice versa, are looked up instead
 * of searched for. A look-up finds all possible matches and somewhat more; the caller still has to check each.
 */

type Labels = Readonly<Record<string, string>>;

/** They differ from revision to revision; no selector uses one of them alone. */
const ofRevisions: readonly string[] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

const isTold = (label: string): boolean => !ofRevisions.includes(label);

/** Namespace names and label keys contain no space. */
const pair = (namespace: string, label: string, value: string): string => `${namespace} ${label} ${value}`;

/**
 * Maximum number of labels indexed, the first ones by name. The API server sets no limit: eight thousand fit into an
 * object, and a tenant that changes them would occupy the event loop for a second each time. An object with more is
 * found by these only.
 */
const mostLabels = 128;

function firstLabels(labels: Labels | undefined): readonly (readonly [label: string, value: string])[] {
  const all = Object.entries(labels ?? {});
  return all.length <= mostLabels ? all : all.sort(([a], [b]) => inTextOrder(a, b)).slice(0, mostLabels);
}

/** An object's values in the index `byLabel`: its namespace, and one for each of its labels. */
export const labelValues = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).flatMap(([label, value]) => (isTold(label) ? [pair(namespace, label, value)] : [])),
];

/** Maximum number of look-ups per selector: one with few enough results is among the first. */
const mostLookUps = 8;

/** Values of the index `byLabel`; each of them holds every object that the selector may match. At least one. */
export function mayMatchEach(namespace: string, selector: LabelSelector): readonly string[] {
  const values = selector.flatMap((requirement) => {
    if (requirement.operator !== "in" || !isTold(requirement.key)) return [];
    const [value, ...others] = requirement.values;
    return value !== undefined && others.length === 0 ? [pair(namespace, requirement.key, value)] : [];
  });
  return values.length > 0 ? values.slice(0, mostLookUps) : [namespace];
}

/** The first of those values. */
export const mayMatch = (namespace: string, selector: LabelSelector): string =>
  mayMatchEach(namespace, selector)[0] ?? namespace;

/** The value in the index `bySelector` of an object that selects by these labels. */
export function selectedBy(namespace: string, selector: Labels): string {
  const [first] = Object.keys(selector).sort();
  return first === undefined ? namespace : pair(namespace, first, selector[first] ?? "");
}

/** The values of the index `bySelector` that hold every object that may select one with these labels. */
export const mayBeSelectedBy = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).map(([label, value]) => pair(namespace, label, value)),
];

/** "namespace/name" of the service that an EndpointSlice belongs to: its value in the index `byService`. */
export const serviceOf = ({ metadata: { namespace, labels } }: KubeObject): string | undefined => {
  const name = labels?.["kubernetes.io/service-name"];
  return name === undefined || name === "" ? undefined : `${namespace ?? ""}/${name}`;
};
