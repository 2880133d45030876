import type { EndpointSlice, Endpoints } from "../../api/core.ts";
import { serviceNameLabel } from "../../api/index-values.ts";
import { lastAppliedAnnotation } from "../../api/meta.ts";
import type { Steps } from "../../base/steps.ts";
import { repack } from "../endpoints/repack.ts";
import type { Subset, SubsetAddress } from "../service/go-text.ts";
import { type Family, parseAddress } from "../service/ip.ts";
import { isSameMap, without } from "../service/map-patch.ts";
import { triggerAnnotation } from "../service/trigger-time.ts";
import {
  endpointsOf,
  identityOf,
  isSameEndpoint,
  managedByLabel,
  portMapOf,
  portsOf,
  type SliceContent,
  type SliceEndpoint,
  type SlicePlan,
  type SlicePort,
  type SliceUpdate,
  sortedPorts,
} from "../slices/slice.ts";

export const controllerName = "endpointslicemirroring-controller.k8s.io";

export interface MirroredSlices {
  readonly plan: SlicePlan;
  /** Addresses that cannot be parsed. */
  readonly invalid: number;
  /** Addresses that are not mirrored, including the invalid ones. */
  readonly skipped: number;
}

/**
 * The changes to the slices that mirror an Endpoints object (docs/kubernetes-rules.md#slice-mirroring): one slice for
 * each subset and family.
 */
export function* mirror(endpoints: Endpoints, slices: readonly EndpointSlice[], most: number): Steps<MirroredSlices> {
  const { groups, invalid, skipped } = yield* groupsOf(endpoints.subsets ?? [], most);
  const labels = {
    ...endpoints.metadata.labels,
    [serviceNameLabel]: endpoints.metadata.name,
    [managedByLabel]: controllerName,
  };
  const create: SliceContent[] = [];
  const update: SliceUpdate[] = [];
  const remove: EndpointSlice[] = [];
  const byGroup = new Map<string, EndpointSlice[]>([...groups.keys()].map((name) => [name, []]));
  for (const slice of slices) {
    const name = `${slice.addressType} ${yield* portMapOf(portsOf(slice))}`;
    (byGroup.get(name) ?? remove).push(slice);
    yield;
  }
  for (const [name, group] of groups) {
    yield;
    const [first, ...more] = byGroup.get(name) ?? [];
    const wanted = [...group.endpoints.values()].slice(0, most);
    if (wanted.length === 0) {
      remove.push(...(first ? [first, ...more] : []));
      continue;
    }
    remove.push(...more);
    const content = { addressType: group.family, ports: yield* sortedPorts(group.ports), endpoints: wanted, labels };
    if (first === undefined) create.push(content);
    else if (!isMirror(first, wanted, endpoints)) update.push({ slice: first, content, reuse: "drop generateName" });
  }
  return { plan: { create, update, remove }, invalid, skipped };
}

/** The annotations to mirror: all except the trigger time and kubectl's last-applied-configuration. */
export const mirroredAnnotations = ({ metadata: { annotations } }: Endpoints): Readonly<Record<string, string>> =>
  without(annotations, triggerAnnotation, lastAppliedAnnotation);

interface Group {
  readonly family: Family;
  readonly ports: readonly SlicePort[];
  /** The endpoints by identity; if several addresses have the same identity, the last one is used. */
  readonly endpoints: Map<string, SliceEndpoint>;
}

/** Groups the endpoints by family and ports. */
function* groupsOf(
  subsets: readonly Subset[],
  most: number,
): Steps<{ readonly groups: ReadonlyMap<string, Group>; readonly invalid: number; readonly skipped: number }> {
  const groups = new Map<string, Group>();
  let [invalid, skipped] = [0, 0];
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of yield* repack(subsets)) {
    yield;
    const slicePorts = ports.map(slicePort);
    const portMap = yield* portMapOf(slicePorts);
    for (const family of ["IPv4", "IPv6"] as const) {
      const name = `${family} ${portMap}`;
      if (!groups.has(name)) groups.set(name, { family, ports: slicePorts, endpoints: new Map() });
    }
    let added = 0;
    for (const [list, ready] of [
      [addresses, true],
      [notReadyAddresses, false],
    ] as const) {
      for (const address of list) {
        if (added >= most) break;
        const endpoint = endpointOf(address, ready);
        if (endpoint === undefined) invalid++;
        else {
          groups.get(`${endpoint.family} ${portMap}`)?.endpoints.set(identityOf(endpoint.endpoint), endpoint.endpoint);
          added++;
        }
      }
    }
    skipped += addresses.length + notReadyAddresses.length - added;
  }
  return { groups, invalid, skipped };
}

function endpointOf(
  { ip, hostname, nodeName, targetRef }: SubsetAddress,
  ready: boolean,
): { readonly family: Family; readonly endpoint: SliceEndpoint } | undefined {
  const address = parseAddress(ip);
  if (address === undefined) return undefined;
  const endpoint = {
    addresses: [address.text],
    conditions: { ready },
    ...(hostname ? { hostname } : {}),
    ...(nodeName !== undefined && { nodeName }),
    ...(targetRef !== undefined && { targetRef }),
  };
  return { family: address.family, endpoint };
}

const slicePort = ({
  name = "",
  port,
  protocol = "TCP",
  appProtocol,
}: NonNullable<Subset["ports"]>[number]): SlicePort => ({
  name,
  port,
  protocol,
  ...(appProtocol !== undefined && { appProtocol }),
});

/** Whether the slice mirrors exactly this object rather than an earlier one with the same name. */
function isMirror(slice: EndpointSlice, wanted: readonly SliceEndpoint[], endpoints: Endpoints): boolean {
  const stored = endpointsOf(slice);
  const byIdentity = new Map(stored.map((endpoint) => [identityOf(endpoint), endpoint]));
  const isSame = wanted.every((endpoint) => {
    const mirror = byIdentity.get(identityOf(endpoint));
    return mirror !== undefined && isSameEndpoint(mirror, endpoint);
  });
  const { labels, annotations, ownerReferences = [] } = slice.metadata;
  const { name, uid } = endpoints.metadata;
  return (
    isSame &&
    stored.length === wanted.length &&
    isSameMap(endpoints.metadata.labels, without(labels, managedByLabel, serviceNameLabel)) &&
    isSameMap(mirroredAnnotations(endpoints), annotations) &&
    !ownerReferences.some((owner) => owner.kind === "Endpoints" && owner.name === name && owner.uid !== uid)
  );
}
