import type { EndpointSlice } from "../../api/core.ts";
import { serviceOf } from "../../api/index-values.ts";
import { isSameJson } from "../../api/json.ts";
import { endpointSlices } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import { type Seen, type SiteView, wake } from "../../loop/controller.ts";
import { managedByLabel } from "./slice.ts";

export const isManagedBy = (slice: EndpointSlice | undefined, controller: string): boolean =>
  slice?.metadata.labels?.[managedByLabel] === controller;

/** The slices of a service managed by this controller, by name. */
export const slicesOf = (service: string, controller: string, site: SiteView): readonly EndpointSlice[] =>
  [...site.lister(endpointSlices).byIndex("byService", service)].filter((slice) => isManagedBy(slice, controller));

/** Shortest interval between corrections of another writer's changes. */
const least: Millis = 1000;

/**
 * A change of a slice that this controller manages, or managed, enqueues the service that it belongs to and the one it
 * belonged to. Our own writes come back this way; their pass finds nothing to do. Changed annotations and owners
 * enqueue nothing, as in kube-controller-manager: they stay until the next other change.
 */
export const sliceWake = (controller: string, batch: Millis) => {
  const keysOf = ({ before, after }: Seen<EndpointSlice>): readonly string[] => {
    if (isSameButForNotes(before, after)) return [];
    const concerned = [before, after].filter((slice) => isManagedBy(slice, controller));
    return concerned.flatMap((slice) => (slice && serviceOf(slice)) ?? []);
  };
  return wake(endpointSlices, keysOf, Math.max(least, batch));
};

/** Labels are compared as well: not every API server counts a change of labels as a generation. */
const isSameButForNotes = (a: EndpointSlice | undefined, b: EndpointSlice | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  a.metadata.uid === b.metadata.uid &&
  a.metadata.generation !== undefined &&
  a.metadata.generation === b.metadata.generation &&
  isSameJson(a.metadata.labels ?? {}, b.metadata.labels ?? {});
