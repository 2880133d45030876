import type { EndpointSlice } from "../../api/core.ts";
import { endpointsOf, identityOf, isSameEndpoint, type SliceEndpoint } from "../slices/slice.ts";

export interface Packed {
  /** The endpoints of each new slice. */
  readonly create: readonly (readonly SliceEndpoint[])[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly endpoints: readonly SliceEndpoint[] }[];
  /** Slices without any wanted endpoint. */
  readonly remove: readonly EndpointSlice[];
}

/**
 * Packs the endpoints of one port map into slices with as few changes as possible
 * (docs/kubernetes-rules.md#slice-packing). Existing endpoints remain in their slices. New endpoints are added first to
 * slices that change anyway, the fullest first; then, if all of them fit, to the unchanged slice that they fill best;
 * then to new slices. Slices are never merged or split.
 */
export function pack(
  slices: readonly EndpointSlice[],
  wanted: readonly SliceEndpoint[],
  { most, isRelabelled }: { readonly most: number; readonly isRelabelled: (slice: EndpointSlice) => boolean },
): Packed {
  const left = new Map(wanted.map((endpoint) => [identityOf(endpoint), endpoint]));
  const places = slices.map((slice) => settle(slice, left, isRelabelled));
  const changed = places.filter(({ change }) => change === "update");
  for (const place of changed.sort((a, b) => b.endpoints.length - a.endpoints.length))
    fill(place.endpoints, left, most);
  const create: SliceEndpoint[][] = [];
  while (left.size > 0) {
    const spare = left.size < most ? fittest(places, left.size, most) : undefined;
    const endpoints = spare?.endpoints ?? [];
    if (spare) spare.change = "update";
    else create.push(endpoints);
    fill(endpoints, left, most);
  }
  return {
    create,
    update: places.filter(({ change }) => change === "update"),
    remove: places.flatMap(({ change, slice }) => (change === "remove" ? [slice] : [])),
  };
}

interface Place {
  readonly slice: EndpointSlice;
  readonly endpoints: SliceEndpoint[];
  change: "none" | "update" | "remove";
}

/** Keeps the endpoints of a slice that are still wanted, in their wanted form, and removes them from `left`. */
function settle(
  slice: EndpointSlice,
  left: Map<string, SliceEndpoint>,
  isRelabelled: (slice: EndpointSlice) => boolean,
): Place {
  const before = endpointsOf(slice);
  const endpoints: SliceEndpoint[] = [];
  let isChanged = false;
  for (const endpoint of before) {
    const identity = identityOf(endpoint);
    const now = left.get(identity);
    if (now === undefined) continue;
    left.delete(identity);
    endpoints.push(now);
    isChanged ||= !isSameEndpoint(endpoint, now);
  }
  if (!isChanged && endpoints.length === before.length) {
    // Unchanged, so the stored endpoints keep their hints.
    return { slice, endpoints: [...before], change: isRelabelled(slice) ? "update" : "none" };
  }
  return { slice, endpoints, change: endpoints.length === 0 ? "remove" : "update" };
}

function fill(endpoints: SliceEndpoint[], left: Map<string, SliceEndpoint>, most: number): void {
  for (const [identity, endpoint] of left) {
    if (endpoints.length >= most) return;
    endpoints.push(endpoint);
    left.delete(identity);
  }
}

/** The unchanged slice that would be closest to full with `count` more endpoints. */
function fittest(places: readonly Place[], count: number, most: number): Place | undefined {
  const room = ({ endpoints }: Place): number => most - count - endpoints.length;
  return places
    .filter((place) => place.change === "none" && room(place) >= 0)
    .reduce<Place | undefined>((best, place) => (best && room(best) <= room(place) ? best : place), undefined);
}
