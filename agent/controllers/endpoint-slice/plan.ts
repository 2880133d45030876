import type { EndpointSlice, Pod, Service } from "../../api/core.ts";
import type { OwnerReference } from "../../api/meta.ts";
import { boardOf } from "../../api/pods.ts";
import type { Steps } from "../../base/steps.ts";
import { isEligible } from "../service/eligible.ts";
import type { Family } from "../service/ip.ts";
import { perPod } from "../service/target-port.ts";
import { recycle } from "../slices/recycle.ts";
import {
  identityOf,
  isOwnedBy,
  portMapOf,
  portsOf,
  type SliceContent,
  type SliceEndpoint,
  type SlicePlan,
  type SlicePort,
  type SliceUpdate,
  sortedPorts,
} from "../slices/slice.ts";
import { isPlaceholder, isRelabelled, labelsFor, placeholder } from "./content.ts";
import { endpointOf, familiesOf, slicePortsOf } from "./endpoint.ts";
import { nearnessOf, withHints } from "./hints.ts";
import { pack } from "./pack.ts";
import { withZoneHints } from "./zone-hints.ts";
import type { ZoneShares } from "./zone-shares.ts";

export interface SlicePlanInput {
  readonly service: Service;
  readonly owner: OwnerReference;
  /** The pods that the service selects. */
  readonly pods: readonly Pod[];
  /** uids of the pods that count as ready. */
  readonly ready: ReadonlySet<string>;
  /** The zone of each board that has a Node; undefined if the board has no zone label. */
  readonly zones: ReadonlyMap<string, string | undefined>;
  /**
   * Each zone's share of the site's CPU; undefined if it cannot be computed, "not asked" if the service does not use
   * the shares.
   */
  readonly shares: ZoneShares | undefined | "not asked";
  /** Our slices of the service. */
  readonly slices: readonly EndpointSlice[];
  /** Maximum number of endpoints in one slice. */
  readonly most: number;
}

export interface SlicesPlan {
  readonly plan: SlicePlan;
  /** Pods left out because their Node does not exist. */
  readonly missing: readonly Pod[];
  /** Reasons why the requested zone hints are missing, by family. */
  readonly troubles: ReadonlyMap<Family, string>;
}

/**
 * The changes to all slices of a service (docs/kubernetes-rules.md#endpoint-slices). Slices of families that the
 * service no longer has are removed.
 */
export function* planOf(wanted: SlicePlanInput): Steps<SlicesPlan> {
  const families = familiesOf(wanted.service);
  const plans: SlicesPlan[] = [];
  for (const family of families) plans.push(yield* planOfFamily(family, wanted));
  const stale = wanted.slices.filter(({ addressType }) => !families.some((family) => family === addressType));
  return {
    plan: {
      create: plans.flatMap(({ plan }) => plan.create),
      update: plans.flatMap(({ plan }) => plan.update),
      remove: [...plans.flatMap(({ plan }) => plan.remove), ...stale],
    },
    missing: [...new Set(plans.flatMap(({ missing }) => missing))],
    troubles: new Map(plans.flatMap(({ troubles }) => [...troubles])),
  };
}

function* planOfFamily(family: Family, wanted: SlicePlanInput): Steps<SlicesPlan> {
  const { service, owner, most, shares } = wanted;
  const slices = wanted.slices.filter(({ addressType }) => addressType === family);
  const [own, others] = [
    slices.filter((slice) => isOwnedBy(slice, owner)),
    slices.filter((slice) => !isOwnedBy(slice, owner)),
  ];
  const { groups, missing } = yield* groupsOf(family, wanted);
  const byPorts = new Map<string, EndpointSlice[]>([...groups.keys()].map((portMap) => [portMap, []]));
  const leftover: EndpointSlice[] = [];
  for (const slice of own) {
    (byPorts.get(yield* portMapOf(portsOf(slice))) ?? leftover).push(slice);
    yield;
  }
  const labels = labelsFor(service);
  // Slices with equal labels share one labels object. It may hold a thousand labels, so it is compared only once.
  const compared = new Map<unknown, boolean>();
  const relabelled = (slice: EndpointSlice): boolean => {
    const known = compared.get(slice.metadata.labels) ?? isRelabelled(slice, service);
    compared.set(slice.metadata.labels, known);
    return known;
  };
  const create: SliceContent[] = [];
  const update: SliceUpdate[] = [];
  const remove: EndpointSlice[] = [...others];
  for (const [portMap, { ports, endpoints }] of groups) {
    yield;
    const of = byPorts.get(portMap) ?? [];
    const packed = pack(of, [...endpoints.values()], { most, isRelabelled: relabelled });
    const content = (list: readonly SliceEndpoint[], as: readonly SlicePort[]): SliceContent => ({
      addressType: family,
      ports: as,
      endpoints: list,
      labels,
    });
    const sorted = packed.create.length > 0 ? yield* sortedPorts(ports) : [];
    create.push(...packed.create.map((list) => content(list, sorted)));
    update.push(
      ...packed.update.map(({ slice, endpoints: list }) => ({ slice, content: content(list, portsOf(slice)) })),
    );
    remove.push(...packed.remove);
  }
  remove.push(...leftover);
  const plan = withPlaceholder({ create, update, remove }, slices, { service, family });
  const changed = new Set([...plan.update.map(({ slice }) => slice), ...remove]);
  const unchanged = slices.filter((slice) => !changed.has(slice));
  const { plan: hinted, trouble } =
    shares === "not asked"
      ? { plan: withHints(plan, unchanged, nearnessOf(service)), trouble: undefined }
      : withZoneHints(plan, unchanged, shares);
  const troubles = new Map<Family, string>(trouble === undefined ? [] : [[family, trouble]]);
  return { plan: recycle(hinted, { reference: owner }), missing, troubles };
}

interface Group {
  readonly ports: readonly SlicePort[];
  /** The endpoints by identity; if several pods have the same identity, the last one is used. */
  readonly endpoints: Map<string, SliceEndpoint>;
}

/**
 * Groups the endpoints by their ports. A pod whose board has no Node is left out, because its zone is unknown, unless
 * the service also publishes unready pods. Its ports still form a group, so that their slices are kept.
 */
function* groupsOf(
  family: Family,
  { service, pods, ready, zones }: SlicePlanInput,
): Steps<{ readonly groups: ReadonlyMap<string, Group>; readonly missing: readonly Pod[] }> {
  const portsOn = perPod(service, function* (pod) {
    const ports = yield* slicePortsOf(pod, service);
    return { ports, portMap: yield* portMapOf(ports) };
  });
  const groups = new Map<string, Group>();
  const missing: Pod[] = [];
  for (const pod of pods) {
    if (!isEligible(pod, true)) continue;
    const { ports, portMap } = yield* portsOn(pod);
    yield;
    const group = groups.get(portMap) ?? { ports, endpoints: new Map() };
    groups.set(portMap, group);
    const board = boardOf(pod) ?? "";
    if (!zones.has(board) && !service.spec?.publishNotReadyAddresses) {
      missing.push(pod);
      continue;
    }
    const endpoint = endpointOf(pod, service, {
      family,
      zone: zones.get(board),
      isReady: ready.has(pod.metadata.uid),
    });
    if (endpoint) group.endpoints.set(identityOf(endpoint), endpoint);
  }
  return { groups, missing };
}

/** Keeps or creates one empty slice if none would be left. */
function withPlaceholder(
  plan: SlicePlan,
  slices: readonly EndpointSlice[],
  { service, family }: { readonly service: Service; readonly family: Family },
): SlicePlan {
  if (slices.length !== plan.remove.length || plan.create.length > 0) return plan;
  const [only, ...more] = plan.remove;
  if (only && more.length === 0 && isPlaceholder(only, service)) return { ...plan, remove: [] };
  return { ...plan, create: [placeholder(service, family)] };
}
