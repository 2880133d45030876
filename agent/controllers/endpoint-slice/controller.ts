import type { EndpointSlice, Node, Pod, Service } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { boardOf } from "../../api/pods.ts";
import { endpointSlices, nodes, pods, services } from "../../api/resources.ts";
import { asksForZones, zoneLabel } from "../../api/topology.ts";
import type { Millis } from "../../base/clock.ts";
import { type Controller, type Seen, type SiteView, wake, wakeOnChange } from "../../loop/controller.ts";
import type { SightParts } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import { isManaged } from "../service/eligible.ts";
import { silenceOf } from "../service/silence.ts";
import { podWake, selectedPods, servicesOf } from "../service/wakes.ts";
import { noMemory, type SliceMemory } from "../slices/memory.ts";
import { endpointsOf, type SliceEndpoint } from "../slices/slice.ts";
import { slicesOf, sliceWake } from "../slices/wake.ts";
import { workloadReads } from "../workloads.ts";
import { controllerName } from "./content.ts";
import { decide, deciding, remember, type ServiceState } from "./decide.ts";
import { isOverloaded, zoneSharesOf } from "./zone-shares.ts";

export interface EndpointSliceParts {
  readonly sight: SightParts;
  /** Most endpoints in one slice. */
  readonly most: number;
  /** How long pod changes are collected before the sync. */
  readonly batch: Millis;
}

/**
 * Writes the EndpointSlices of services that select pods. The slices of a deleted service are garbage-collected with
 * it.
 */
export const endpointSlicesOfServices = ({
  sight,
  most,
  batch,
}: EndpointSliceParts): Controller<ServiceState, SliceMemory> => ({
  name: "endpoint-slice",
  reads: workloadReads["endpoint-slice"],
  restsOn: [services, endpointSlices, pods, nodes],
  wakes: [
    wake(services, ({ key }: Seen<Service>) => [key]),
    podWake(batch),
    wakeOnChange(nodes, missedBy),
    wakeOnChange(nodes, overloadedBy),
    sliceWake(controllerName, batch),
  ],
  initialMemory: noMemory,
  async observe(key, site, memory) {
    const service = site.lister(services).get(key);
    if (service === undefined) return undefined;
    if (!isManaged(service)) return { kind: "foreign" };
    const expected = await outstanding(memory.expected, endpointSlices, site);
    if (expected.size > 0) return { kind: "behind", expected };
    const selected = await site.inTurns(selectedPods(service, site));
    const slices = slicesOf(key, controllerName, site).filter(({ metadata }) => !metadata.deletionTimestamp);
    const [zones, silence] = [zonesOf(selected, site), silenceOf(selected, sight, site)];
    const shares = asksForZones(service) ? zoneSharesOf(site.lister(nodes).list()) : "not asked";
    return { kind: "selected", service, pods: selected, slices, zones, shares, silence };
  },
  decide: (state, memory, now) => decide(state, memory, most, now),
  deciding: (state, memory, now) => deciding(state, memory, most, now),
  remember,
});

/**
 * A new board enqueues the services that had to leave its pods out, ahead of their retry. As in
 * kube-controller-manager, other services use its zone only with their next change.
 */
function* missedBy({ key, before, after }: Seen<Node>, site: SiteView): Generator<string | undefined> {
  if (before !== undefined || after === undefined) return;
  for (const pod of site.lister(pods).byIndex("byNode", key)) {
    for (const service of servicesOf(pod, site)) {
      const isThere = ({ targetRef }: SliceEndpoint): boolean => targetRef?.uid === pod.metadata.uid;
      const isMissed =
        service !== undefined &&
        !slicesOf(service, controllerName, site).some((slice) => endpointsOf(slice).some(isThere));
      yield isMissed ? service : undefined;
    }
  }
}

/**
 * When the CPU of a zone changes, enqueues the services whose endpoints are shared among zones and would be too few in
 * one. Few services ask for that: they are found by index.
 */
function overloadedBy({ before, after }: Seen<Node>, site: SiteView): readonly string[] {
  if (zoneText(before) === zoneText(after)) return [];
  const asking = [...site.lister(services).byIndex("bySharing", "zones")].map(keyOf);
  if (asking.length === 0) return [];
  const shares = zoneSharesOf(site.lister(nodes).list());
  const isTooFew = (counts: ReadonlyMap<string, number>): boolean => isOverloaded(counts, shares);
  return asking.filter((service) => hintCounts(slicesOf(service, controllerName, site)).some(isTooFew));
}

const zoneText = (node: Node | undefined): string =>
  node === undefined ? "" : `${readyOf(node)?.status === "True"} ${node.metadata.labels?.[zoneLabel] ?? ""}`;

/** Ready endpoints hinted to each zone, per address family. */
function hintCounts(slices: readonly EndpointSlice[]): readonly ReadonlyMap<string, number>[] {
  const families = new Map<string, Map<string, number>>();
  for (const slice of slices) {
    const counts = families.get(slice.addressType) ?? new Map<string, number>();
    families.set(slice.addressType, counts);
    const ready = endpointsOf(slice).filter(({ conditions }) => conditions?.ready);
    for (const { name } of ready.flatMap(({ hints }) => hints?.forZones ?? [])) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...families.values()];
}

/** Zones of the boards of these pods. */
function zonesOf(selected: readonly Pod[], site: SiteView): ReadonlyMap<string, string | undefined> {
  const zones = new Map<string, string | undefined>();
  for (const board of new Set(selected.flatMap((pod) => boardOf(pod) ?? []))) {
    const node = site.lister(nodes).get(board);
    if (node) zones.set(board, node.metadata.labels?.[zoneLabel] || undefined);
  }
  return zones;
}
