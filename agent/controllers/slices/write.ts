import type { EndpointSlice } from "../../api/core.ts";
import type { KubeObject, OwnerReference } from "../../api/meta.ts";
import { controlledBy } from "../../api/owners.ts";
import { endpointSlices, newObject, type Resource } from "../../api/resources.ts";
import { type Action, type Cause, refTo } from "../../execution/actions.ts";
import { mapPatch, sharedMapPatch } from "../service/map-patch.ts";
import { prefixOf, type SliceContent, type SlicePlan } from "./slice.ts";

export interface SliceOwner {
  readonly namespace: string;
  readonly name: string;
  readonly reference: OwnerReference;
  /** True if the owner is being deleted. No slices are created then, because its garbage collection might miss them. */
  readonly isTerminating: boolean;
}

export const sliceOwner = (resource: Resource<KubeObject>, object: KubeObject): SliceOwner => ({
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name,
  reference: controlledBy(resource, object),
  isTerminating: object.metadata.deletionTimestamp !== undefined,
});

/** The intended annotations of a slice. `before`: undefined for a new or reused slice. */
export type AnnotationsOf = (before: EndpointSlice | undefined) => Readonly<Record<string, string>>;

/**
 * The writes of a plan in parts: first creations, then updates, then deletions, so that an endpoint appears in its new
 * slice before it leaves the old one. A part is written only if all writes of the preceding one have succeeded.
 */
export function partsOf(
  { create, update, remove }: SlicePlan,
  owner: SliceOwner,
  { annotationsOf, cause }: { readonly annotationsOf: AnnotationsOf; readonly cause: Cause | undefined },
): readonly (readonly Action[])[] {
  const caused = cause ? { cause } : {};
  const creates = owner.isTerminating
    ? []
    : create.map((content) => creation(content, owner, annotationsOf(undefined)));
  const labelsPatch = sharedMapPatch();
  const updates = update.map(({ slice, content, reuse }): Action => {
    const before = reuse ? undefined : slice;
    const metadata = {
      labels: labelsPatch(slice.metadata.labels, content.labels),
      annotations: mapPatch(slice.metadata.annotations, annotationsOf(before)),
      ...(reuse && {
        ownerReferences: [owner.reference],
        // Gives the same result as kube-controller-manager, which replaces the whole object.
        generateName: reuse === "drop generateName" ? null : prefixOf(owner.name),
      }),
    };
    const patch = { metadata, ports: content.ports, endpoints: content.endpoints };
    return { do: "patch", target: refTo(endpointSlices, slice), type: "merge", patch, ...caused };
  });
  const removals = remove.map((slice): Action => ({ ...removal(slice), ...caused }));
  return [creates, updates, removals].filter((part) => part.length > 0);
}

function creation(
  { labels, ...content }: SliceContent,
  { namespace, name, reference }: SliceOwner,
  annotations: Readonly<Record<string, string>>,
): Action {
  const metadata = { generateName: prefixOf(name), namespace, labels, annotations, ownerReferences: [reference] };
  return { do: "create", resource: endpointSlices, object: newObject(endpointSlices, { ...content, metadata }) };
}

/**
 * Requires the resourceVersion that was read, because a delayed request must not delete a slice that is in use again.
 */
export const removal = (slice: EndpointSlice): Action => ({ do: "delete", target: refTo(endpointSlices, slice) });
