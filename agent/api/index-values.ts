import { inTextOrder } from "../base/text/text-order.ts";
import type { KubeObject } from "./meta.ts";
import type { LabelSelector } from "./selectors.ts";

/*
 * Values of the caches' label indices. With them, the objects that a selector matches, and the selectors that match an
 * object, are found without a scan. A look-up returns every match and some others; the caller must still check each of
 * them.
 */

type Labels = Readonly<Record<string, string>>;

/** Labels whose value changes with each revision. They are not indexed, because no selector uses one of them alone. */
const revisionLabels: readonly string[] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

const isIndexed = (label: string): boolean => !revisionLabels.includes(label);

/** The index value of one label. Unambiguous, because namespace names and label keys contain no space. */
const entry = (namespace: string, label: string, value: string): string => `${namespace} ${label} ${value}`;

/**
 * If an object has more labels, only the first of them, in order of name, are indexed. The API server sets no limit: an
 * object has room for 8 000 labels, and indexing them at each change would block the event loop for a second.
 */
const maxIndexedLabels = 128;

function firstLabels(labels: Labels | undefined): readonly (readonly [label: string, value: string])[] {
  const all = Object.entries(labels ?? {});
  return all.length <= maxIndexedLabels ? all : all.sort(([a], [b]) => inTextOrder(a, b)).slice(0, maxIndexedLabels);
}

/** An object's values in the index `byLabel`: its namespace, and one for each of its labels. */
export const labelValues = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).flatMap(([label, value]) => (isIndexed(label) ? [entry(namespace, label, value)] : [])),
];

/** Maximum number of look-ups per selector; among this many, one usually has few results. */
const maxLookUps = 8;

/** One or more values of the index `byLabel`. Each of them alone finds every object that the selector may match. */
export function mayMatchEach(namespace: string, selector: LabelSelector): readonly string[] {
  const values = selector.flatMap((requirement) => {
    if (requirement.operator !== "in" || !isIndexed(requirement.key)) return [];
    const [value, ...others] = requirement.values;
    return value !== undefined && others.length === 0 ? [entry(namespace, requirement.key, value)] : [];
  });
  return values.length > 0 ? values.slice(0, maxLookUps) : [namespace];
}

/** One value of the index `byLabel` that finds every object that the selector may match. */
export const mayMatch = (namespace: string, selector: LabelSelector): string =>
  mayMatchEach(namespace, selector)[0] ?? namespace;

/** The value under which an object with this selector, such as a Service, is found in the index `bySelector`. */
export function selectedBy(namespace: string, selector: Labels): string {
  const [first] = Object.keys(selector).sort();
  return first === undefined ? namespace : entry(namespace, first, selector[first] ?? "");
}

/** The values of the index `bySelector` that together find every object whose selector may match these labels. */
export const mayBeSelectedBy = (namespace: string, labels: Labels | undefined): readonly string[] => [
  namespace,
  ...firstLabels(labels).map(([label, value]) => entry(namespace, label, value)),
];

/** A pod's value in the index `byPlace`. Unambiguous, because neither name contains a slash. */
export const placeValue = (board: string, namespace: string): string => `${board}/${namespace}`;

export function placeOf(value: string): { readonly board: string; readonly namespace: string } {
  const slash = value.indexOf("/");
  return { board: value.slice(0, slash), namespace: value.slice(slash + 1) };
}

/** The label of an EndpointSlice that names its service. */
export const serviceNameLabel = "kubernetes.io/service-name";

/** "namespace/name" of the service that an EndpointSlice belongs to: its value in the index `byService`. */
export const serviceOf = ({ metadata: { namespace, labels } }: KubeObject): string | undefined => {
  const name = labels?.[serviceNameLabel];
  return name === undefined || name === "" ? undefined : `${namespace ?? ""}/${name}`;
};
