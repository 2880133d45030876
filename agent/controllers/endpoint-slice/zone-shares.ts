import type { Node } from "../../api/core.ts";
import { quantity } from "../../api/quantity.ts";
import { zoneLabel } from "../../api/topology.ts";
import { readyOf } from "../node-lifecycle/health.ts";

/** Each zone's share of the site's CPU, between 0 and 1. */
export type ZoneShares = ReadonlyMap<string, number>;

/** The fraction by which a zone's load may exceed its share. */
const overload = 0.2;

const excluded = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/**
 * The shares of the ready boards' zones. Undefined if a board has no zone or CPU, or there are fewer than two zones.
 */
export function zoneSharesOf(nodes: Iterable<Node>): ZoneShares | undefined {
  const byZone = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const { labels = {} } = node.metadata;
    if (excluded.some((label) => Object.hasOwn(labels, label)) || readyOf(node)?.status !== "True") continue;
    const zone = labels[zoneLabel] ?? "";
    // In millicores, which a number represents exactly.
    const processors = Number((quantity(node.status?.allocatable?.cpu) ?? 0n) / 1_000_000n);
    if (zone === "" || processors <= 0) return undefined;
    byZone.set(zone, (byZone.get(zone) ?? 0) + processors);
    total += processors;
  }
  if (byZone.size < 2) return undefined;
  const zones = [...byZone].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(zones.map(([zone, processors]) => [zone, processors / total]));
}

/** The minimum number of endpoints with which a zone with this share is not overloaded. */
export const minEndpoints = (share: number, endpoints: number): number =>
  Math.ceil(endpoints * share * (1 / (1 + overload)));

/** Whether a zone has fewer of the currently shared endpoints than it needs. */
export function isOverloaded(byZone: ReadonlyMap<string, number>, shares: ZoneShares | undefined): boolean {
  if (byZone.size === 0) return false;
  if (shares === undefined) return true;
  const total = [...byZone.values()].reduce((sum, count) => sum + count, 0);
  return [...shares].some(([zone, share]) => (byZone.get(zone) ?? -1) < minEndpoints(share, total));
}
