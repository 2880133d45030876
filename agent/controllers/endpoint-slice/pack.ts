import type { EndpointSlice } from "../../api/core.ts";
import { endpointsOf, identityOf, isSameEndpoint, type SliceEndpoint } from "../slices/slice.ts";

export interface Packed {
  /** The endpoints of each new slice. */
  readonly create: readonly (readonly SliceEndpoint[])[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly endpoints: readonly SliceEndpoint[] }[];
  /** Nothing in them is wanted any more. */
  readonly remove: readonly EndpointSlice[];
}

/**
 * Puts the endpoints of one port map into slices with as few changes as possible
 * (docs/kubernetes-rules.md#slice-packing). Each stays where it is; what has no place yet goes first into slices that
 * change anyway, the fullest of them first; then, if it all fits into one that does not, into the one that becomes
 * fullest; the rest into new ones. Slices are never merged, nor split.
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

/** What is still wanted stays, as it is now; it is not looked for any further. */
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
    // As it stands there, with its hints.
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

/** Of the slices that need no change the one that is closest to full once `count` endpoints are in it as well. */
function fittest(places: readonly Place[], count: number, most: number): Place | undefined {
  const room = ({ endpoints }: Place): number => most - count - endpoints.length;
  return places
    .filter((place) => place.change === "none" && room(place) >= 0)
    .reduce<Place | undefined>((best, place) => (best && room(best) <= room(place) ? best : place), undefined);
}
