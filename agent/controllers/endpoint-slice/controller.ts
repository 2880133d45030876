import type { Node, Pod, Service } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { boardOf } from "../../api/pods.ts";
import { endpointSlices, nodes, pods, services } from "../../api/resources.ts";
import { asksForZones, zoneLabel } from "../../api/topology.ts";
import type { Millis } from "../../base/clock.ts";
import type { Steps } from "../../base/steps.ts";
import {
  type Controller,
  enqueueOn,
  enqueueOnChange,
  type ObjectChange,
  type SiteView,
} from "../../loop/controller.ts";
import type { BoardVerdictDeps } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import { isManaged } from "../service/eligible.ts";
import { isLargeService } from "../service/large-service.ts";
import { enqueueOnPod, selectedPods, servicesOf } from "../service/mappings.ts";
import { silenceOf } from "../service/silence.ts";
import { eachSlice, enqueueOnSlice, slicesOf } from "../slices/enqueue.ts";
import { noMemory, type SliceMemory } from "../slices/memory.ts";
import { endpointsOf, type SliceEndpoint } from "../slices/slice.ts";
import { workloadReads } from "../workloads.ts";
import { controllerName } from "./content.ts";
import { decide, decideAfterWrites, decideInSteps, type SlicesState } from "./decide.ts";
import { isOverloaded, type ZoneShares, zoneSharesOf } from "./zone-shares.ts";

export interface EndpointSliceDeps {
  readonly verdictDeps: BoardVerdictDeps;
  /** Maximum number of endpoints in one slice. */
  readonly most: number;
  /** How long pod changes are collected before the sync. */
  readonly batch: Millis;
}

/**
 * Writes the EndpointSlices of services that select pods. The slices of a deleted service are garbage-collected with
 * it.
 */
export const endpointSlicesOfServices = ({
  verdictDeps,
  most,
  batch,
}: EndpointSliceDeps): Controller<SlicesState, SliceMemory> => ({
  name: "endpoint-slice",
  reads: workloadReads["endpoint-slice"],
  restsOn: [services, endpointSlices, pods, nodes],
  mappings: [
    enqueueOn(services, ({ key }: ObjectChange<Service>) => [key]),
    enqueueOnPod(batch),
    enqueueOnChange(nodes, keysLeftOut),
    enqueueOnChange(nodes, keysOverloaded),
    enqueueOnSlice(controllerName, batch),
  ],
  initialMemory: noMemory,
  isLarge: isLargeService,
  async observe(key, site, memory) {
    const service = site.lister(services).get(key);
    if (service === undefined) return undefined;
    if (!isManaged(service)) return { kind: "foreign" };
    const expected = await outstanding(memory.expected, endpointSlices, site);
    if (expected.size > 0) return { kind: "behind", expected };
    const selected = await site.inTurns(selectedPods(service, site));
    const found = await site.inTurns(slicesOf(key, controllerName, site));
    const slices = found.filter(({ metadata }) => !metadata.deletionTimestamp);
    const [zones, silence] = [zonesOf(selected, site), silenceOf(selected, verdictDeps, site)];
    const shares = asksForZones(service) ? zoneSharesOf(site.lister(nodes).list()) : "not asked";
    return { kind: "selected", service, pods: selected, slices, zones, shares, silence };
  },
  decide: (state, memory, now) => decide(state, memory, most, now),
  decideInSteps: (state, memory, now) => decideInSteps(state, memory, most, now),
  decideAfterWrites,
});

/**
 * When a Node is created, enqueues the services that had to leave out its pods, ahead of their retry. As in
 * kube-controller-manager, other services use its zone only after their next change.
 */
function* keysLeftOut({ key, before, after }: ObjectChange<Node>, site: SiteView): Generator<string | undefined> {
  if (before !== undefined || after === undefined) return;
  for (const pod of site.lister(pods).byIndex("byNode", key)) {
    for (const service of servicesOf(pod, site)) {
      yield service !== undefined && !(yield* isListed(pod, service, site)) ? service : undefined;
    }
  }
}

function* isListed({ metadata: { uid } }: Pod, service: string, site: SiteView): Steps<boolean> {
  const isThere = ({ targetRef }: SliceEndpoint): boolean => targetRef?.uid === uid;
  for (const slice of eachSlice(service, controllerName, site)) {
    if (endpointsOf(slice).some(isThere)) return true;
    yield;
  }
  return false;
}

/**
 * When a Node's readiness or zone changes, enqueues the services that share their endpoints among the zones and now
 * have too few in one of them. These services are few, and are found by an index.
 */
function* keysOverloaded({ before, after }: ObjectChange<Node>, site: SiteView): Generator<string | undefined> {
  if (zoneText(before) === zoneText(after)) return;
  let shares: ZoneShares | undefined;
  for (const service of site.lister(services).byIndex("bySharing", "zones")) {
    shares ??= zoneSharesOf(site.lister(nodes).list());
    const key = keyOf(service);
    for (const counts of yield* hintCounts(key, site)) {
      if (isOverloaded(counts, shares)) yield key;
    }
  }
}

const zoneText = (node: Node | undefined): string =>
  node === undefined ? "" : `${readyOf(node)?.status === "True"} ${node.metadata.labels?.[zoneLabel] ?? ""}`;

/** How many ready endpoints of a service are hinted to each zone, per address family. */
function* hintCounts(service: string, site: SiteView): Steps<readonly ReadonlyMap<string, number>[]> {
  const families = new Map<string, Map<string, number>>();
  for (const slice of eachSlice(service, controllerName, site)) {
    const counts = families.get(slice.addressType) ?? new Map<string, number>();
    families.set(slice.addressType, counts);
    const ready = endpointsOf(slice).filter(({ conditions }) => conditions?.ready);
    for (const { name } of ready.flatMap(({ hints }) => hints?.forZones ?? [])) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    yield;
  }
  return [...families.values()];
}

/**
 * The zones of the boards of these pods. Boards without a Node are left out; the zone is undefined if the Node has no
 * zone label.
 */
function zonesOf(selected: readonly Pod[], site: SiteView): ReadonlyMap<string, string | undefined> {
  const zones = new Map<string, string | undefined>();
  for (const board of new Set(selected.flatMap((pod) => boardOf(pod) ?? []))) {
    const node = site.lister(nodes).get(board);
    if (node) zones.set(board, node.metadata.labels?.[zoneLabel] || undefined);
  }
  return zones;
}
