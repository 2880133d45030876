import { inTextOrder } from "../base/text-order.ts";
import type { KubeObject } from "./meta.ts";
import type { LabelSelector } from "./selectors.ts";

/*
 * What the indices of the caches say of labels, so that who is selected by whom is looked up and not searched for. A look-up
 * finds all that may match, and somewhat more: what it finds is still to be asked.
 */

type Labels = Readonly<Record<string, string>>;

/** They differ from revision to revision; nobody selects by one of them alone. */
const ofRevisions: readonly string[] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

const isTold = (label: string): boolean => !ofRevisions.includes(label);

/** Neither names of namespaces nor keys of labels contain a space. */
const pair = (namespace: string, label: string, value: string): string => `${namespace} ${label} ${value}`;

/**
 * Labels that count, the first ones by name. The API server sets no limit: eight thousand fit into an object, and a tenant that
 * changes them would keep the event loop for a second each time. An object with more is found by these only.
 */
const mostLabels = 128;

function firstLabels(labels: Labels | undefined): readonly (readonly [label: string, value: string])[] {
  const all = Object.entries(labels ?? {});
  return all.length <= mostLabels ? all : all.sort(([a], [b]) => inTextOrder(a, b)).slice(0, mostLabels);
}

/** Values of the index `byLabel` of an object: its namespace, and one for each of its labels. */
export const labelValues = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).flatMap(([label, value]) => (isTold(label) ? [pair(namespace, label, value)] : [])),
];

/** Look-ups that one selector is worth: one that finds few enough is among the first. */
const mostLookUps = 8;

/** The values of the index `byLabel` under each of which everything lies that the selector may match. At least one. */
export function mayMatchEach(namespace: string, selector: LabelSelector): readonly string[] {
  const values = selector.flatMap((requirement) => {
    if (requirement.operator !== "in" || !isTold(requirement.key)) return [];
    const [value, ...others] = requirement.values;
    return value !== undefined && others.length === 0 ? [pair(namespace, requirement.key, value)] : [];
  });
  return values.length > 0 ? values.slice(0, mostLookUps) : [namespace];
}

/** The first of them. */
export const mayMatch = (namespace: string, selector: LabelSelector): string =>
  mayMatchEach(namespace, selector)[0] ?? namespace;

/** The value of the index `bySelector` of what selects by these labels. */
export function selectedBy(namespace: string, selector: Labels): string {
  const [first] = Object.keys(selector).sort();
  return first === undefined ? namespace : pair(namespace, first, selector[first] ?? "");
}

/** The values of the index `bySelector` under which everything lies that may select an object with these labels. */
export const mayBeSelectedBy = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).map(([label, value]) => pair(namespace, label, value)),
];

/** "namespace/name" of the service that an EndpointSlice belongs to: its value in the index `byService`. */
export const serviceOf = ({ metadata: { namespace, labels } }: KubeObject): string | undefined => {
  const name = labels?.["kubernetes.io/service-name"];
  return name === undefined || name === "" ? undefined : `${namespace ?? ""}/${name}`;
};
