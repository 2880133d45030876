import type { EndpointSlice } from "../../api/core.ts";
import { endpointsOf, type SliceContent, type SliceEndpoint, type SlicePlan } from "../slices/slice.ts";
import { contentOf } from "./content.ts";
import { withHints } from "./hints.ts";
import { minEndpoints, type ZoneShares } from "./zone-shares.ts";

/** Numbers of endpoints for one zone. */
interface Allocation {
  readonly least: number;
  readonly most: number;
  /** The zone's exact share; may be fractional. */
  readonly wanted: number;
}

/** Numbers of endpoints by zone. */
type Counts = Map<string, number>;

export interface ZoneHints {
  readonly plan: SlicePlan;
  /** The reason why there are no hints; undefined if they are set. */
  readonly trouble: string | undefined;
}

/**
 * Shares the ready endpoints among the zones by their CPU (docs/kubernetes-rules.md#slice-hints). Each endpoint first
 * serves its own zone; zones above their share then give endpoints to zones below their share. No hints are set if a
 * zone would get too few.
 */
export function withZoneHints(
  plan: SlicePlan,
  unchanged: readonly EndpointSlice[],
  shares: ZoneShares | undefined,
): ZoneHints {
  const lists = [...plan.create, ...plan.update.map(({ content }) => content)].map(({ endpoints }) => endpoints);
  const ready = [...lists, ...unchanged.map(endpointsOf)].flat().filter(isReady).length;
  const without = (trouble: string): ZoneHints => ({ plan: withHints(plan, unchanged, undefined), trouble });
  const allocations = allocationsOf(ready, shares);
  if (typeof allocations === "string") return without(allocations);

  const counts: Counts = new Map();
  const wrong: EndpointSlice[] = [];
  for (const slice of unchanged) {
    const hints = hintsIn(slice, counts, allocations);
    if (hints === undefined) wrong.push(slice);
    else for (const [zone, count] of hints) counts.set(zone, (counts.get(zone) ?? 0) + count);
  }
  const fresh: SlicePlan = {
    ...plan,
    update: [...plan.update, ...wrong.map((slice) => ({ slice, content: contentOf(slice) }))],
  };
  const open = [...fresh.create, ...fresh.update.map(({ content }) => content)].flatMap(({ endpoints }) => endpoints);
  for (const { zone = "" } of open.filter(isReady)) {
    if (zone === "") return without("One or more endpoints do not have a zone specified");
    counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  const moves = movesOf(allocations, counts);
  const hint = (content: SliceContent): SliceContent => ({
    ...content,
    endpoints: content.endpoints.map((endpoint) => hinted(endpoint, moves)),
  });
  const hintedPlan = {
    ...fresh,
    create: fresh.create.map(hint),
    update: fresh.update.map((update) => ({ ...update, content: hint(update.content) })),
  };
  return { plan: hintedPlan, trouble: undefined };
}

const isReady = ({ conditions }: SliceEndpoint): boolean => conditions?.ready === true;

/** The number of endpoints for each zone, or the reason why it cannot be computed. */
function allocationsOf(endpoints: number, shares: ZoneShares | undefined): ReadonlyMap<string, Allocation> | string {
  if (shares === undefined) {
    return "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
  }
  const figures = `(${endpoints} endpoints, ${shares.size} zones)`;
  if (shares.size > endpoints) return `Insufficient number of endpoints ${figures}`;
  const least = new Map([...shares].map(([zone, share]) => [zone, minEndpoints(share, endpoints)]));
  const spare = endpoints - [...least.values()].reduce((sum, count) => sum + count, 0);
  if (spare < 0) {
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${figures}`;
  }
  const entries = [...shares].map(([zone, share]) => {
    const minimum = least.get(zone) ?? 0;
    return [zone, { least: minimum, most: minimum + spare, wanted: Math.max(share * endpoints, minimum) }] as const;
  });
  return new Map(entries);
}

/**
 * The number of hints to each zone in a slice; undefined if the slice must change because hints are missing or overload
 * a zone.
 */
function hintsIn(
  slice: EndpointSlice,
  counts: Counts,
  allocations: ReadonlyMap<string, Allocation>,
): ReadonlyMap<string, number> | undefined {
  const found: Counts = new Map();
  for (const { hints } of endpointsOf(slice).filter(isReady)) {
    const zones = hints?.forZones ?? [];
    if (zones.length === 0 || zones.some(({ name }) => !allocations.has(name))) return undefined;
    for (const { name } of zones) found.set(name, (found.get(name) ?? 0) + 1);
  }
  const isTooMany = [...found].some(
    ([zone, count]) => count + (counts.get(zone) ?? 0) > (allocations.get(zone)?.most ?? 0),
  );
  return isTooMany ? undefined : found;
}

/** The numbers of endpoints that each zone gives to others, and receives from others. */
interface Moves {
  readonly giving: Counts;
  readonly receiving: Counts;
}

/** Moves endpoints one by one from the zone with the largest surplus to the one with the largest deficit. */
function movesOf(allocations: ReadonlyMap<string, Allocation>, counts: ReadonlyMap<string, number>): Moves {
  const moves: Moves = { giving: new Map(), receiving: new Map() };
  const surpluses: Counts = new Map();
  const deficits: Counts = new Map();
  for (const [zone, { wanted }] of allocations) {
    const surplus = (counts.get(zone) ?? 0) - wanted;
    if (surplus > 0) surpluses.set(zone, surplus);
    else if (surplus < 0) deficits.set(zone, -surplus);
  }
  for (;;) {
    const [[from, give], [to, take]] = [largest(surpluses), largest(deficits)];
    if (give < 0.5 || take < 0.5 || (give < 1 && take < 1)) return moves;
    moves.giving.set(from, (moves.giving.get(from) ?? 0) + 1);
    moves.receiving.set(to, (moves.receiving.get(to) ?? 0) + 1);
    surpluses.set(from, give - 1);
    deficits.set(to, take - 1);
  }
}

const largest = (counts: ReadonlyMap<string, number>): readonly [zone: string, count: number] =>
  [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0]);

/** Sets the hint of one endpoint: another zone if its own zone still has endpoints to give away, otherwise its own. */
function hinted(endpoint: SliceEndpoint, { giving, receiving }: Moves): SliceEndpoint {
  const { zone } = endpoint;
  if (!isReady(endpoint) || zone === undefined) return endpoint;
  const [to] = [...receiving].find(([, count]) => count > 0) ?? [];
  const left = giving.get(zone) ?? 0;
  if (to === undefined || left === 0) return { ...endpoint, hints: { forZones: [{ name: zone }] } };
  giving.set(zone, left - 1);
  receiving.set(to, (receiving.get(to) ?? 0) - 1);
  return { ...endpoint, hints: { forZones: [{ name: to }] } };
}
