import type { EndpointSlice } from "../../api/core.ts";
import { serviceNameLabel, serviceOf } from "../../api/index-values.ts";
import { isSameJson } from "../../api/json.ts";
import { endpointSlices } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import { enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { pick } from "../service/map-patch.ts";
import { managedByLabel } from "./slice.ts";

const isManagedBy = (slice: EndpointSlice | undefined, controller: string): boolean =>
  slice?.metadata.labels?.[managedByLabel] === controller;

/** The slices of a service managed by this controller, by name, one at a time. */
export function* eachSlice(service: string, controller: string, site: SiteView): Generator<EndpointSlice> {
  for (const slice of site.lister(endpointSlices).byIndex("byService", service)) {
    if (isManagedBy(slice, controller)) yield slice;
  }
}

/**
 * Maximum length, in characters, of all distinct labels and annotations kept for one service's slices: three times what
 * the API server permits for one object. Usually all slices have the labels of their service.
 */
const maxMetadata = 1_000_000;

/**
 * The slices that `eachSlice` returns, as a list read in steps. Values that several slices share are kept once, because
 * each slice may have 20 000 ports, and 360 KB of labels.
 */
export function* slicesOf(service: string, controller: string, site: SiteView): Steps<readonly EndpointSlice[]> {
  const found: EndpointSlice[] = [];
  const [ports, owners, texts] = [new Shared(), new Shared(), new Shared()];
  for (const { ports: own, metadata: all, ...slice } of eachSlice(service, controller, site)) {
    const { labels = {}, annotations = {}, ownerReferences = [], ...rest } = all;
    found.push({
      ...slice,
      ...(own !== undefined && { ports: ports.of(own) }),
      metadata: {
        ...rest,
        // If the other labels do not fit, the slice appears relabelled, so this pass writes its labels again, and a
        // later pass removes the old ones.
        labels: texts.within(maxMetadata, labels) ?? pick(labels, managedByLabel, serviceNameLabel),
        annotations: texts.within(maxMetadata, annotations) ?? {},
        ownerReferences: owners.of(ownerReferences),
      },
    });
    yield;
  }
  return found;
}

/** Keeps one copy of equal values. */
class Shared {
  readonly #copies = new Map<string, unknown>();
  #length = 0;

  /** The copy to use in place of this value. */
  of<T>(value: T): T {
    return this.#copy(JSON.stringify(value), value);
  }

  /** The copy to use; undefined if the value is new and would make the kept values longer than `most`, as JSON. */
  within<T>(most: number, value: T): T | undefined {
    const text = JSON.stringify(value);
    return this.#copies.has(text) || this.#length + text.length <= most ? this.#copy(text, value) : undefined;
  }

  #copy<T>(text: string, value: T): T {
    if (this.#copies.has(text)) return this.#copies.get(text) as T;
    this.#length += text.length;
    this.#copies.set(text, value);
    return value;
  }
}

/** Minimum interval between corrections of another writer's changes. */
const correctionPause: Millis = 1000;

/**
 * A change of a slice that this controller manages, or managed before the change, enqueues the slice's service (or both
 * services, if another one owns the slice now). Our own writes enqueue it too; that pass finds nothing to do. Changes
 * only of annotations or owners do not enqueue anything, as in kube-controller-manager, and are corrected at the next
 * change of another kind.
 */
export const enqueueOnSlice = (controller: string, batch: Millis) => {
  const keysOf = ({ before, after }: ObjectChange<EndpointSlice>): readonly string[] => {
    if (isSameContent(before, after)) return [];
    const concerned = [before, after].filter((slice) => isManagedBy(slice, controller));
    return concerned.flatMap((slice) => (slice && serviceOf(slice)) ?? []);
  };
  return enqueueOn(endpointSlices, keysOf, Math.max(correctionPause, batch));
};

/** Whether generation and labels are equal. Not every API server increments the generation when labels change. */
const isSameContent = (a: EndpointSlice | undefined, b: EndpointSlice | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.metadata.uid === b.metadata.uid &&
  a.metadata.generation !== undefined &&
  a.metadata.generation === b.metadata.generation &&
  isSameJson(a.metadata.labels ?? {}, b.metadata.labels ?? {});
