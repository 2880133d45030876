import { endsStep, type Steps } from "../../base/steps.ts";
import { inTextOrder } from "../../base/text/text-order.ts";
import { byHash } from "../service/fnv-128.ts";
import { portText, type Subset, type SubsetAddress, type SubsetPort, subsetText } from "../service/go-text.ts";

/** The addresses that offer a port, by identity; true if the address is ready. */
type Offers = Map<string, boolean>;

/**
 * Packs the same addresses and ports into as few subsets as possible, in kube-controller-manager's order
 * (docs/kubernetes-rules.md#endpoint-subsets). Ports offered by the same addresses share a subset. An address is
 * identified by its IP and the uid of its target; the first of several duplicates is used. An address listed as both
 * ready and not ready for a port is not ready.
 */
export function* repack(subsets: readonly Subset[]): Steps<readonly Subset[]> {
  const addresses = new Map<string, SubsetAddress>();
  const ports = new Map<string, { readonly port: SubsetPort | undefined; readonly subsets: Set<Subset> }>();
  for (const subset of subsets) {
    if (!subset.addresses?.length && !subset.notReadyAddresses?.length) continue;
    const offered = subset.ports?.length ? subset.ports : [undefined];
    for (const [index, port] of offered.entries()) {
      if (endsStep(index)) yield;
      const name = port === undefined ? "" : portText(port);
      const entry = ports.get(name);
      if (entry) entry.subsets.add(subset);
      else ports.set(name, { port, subsets: new Set([subset]) });
    }
  }
  const packed: Subset[] = [];
  for (const { ports: group, offers } of yield* grouped([...ports.values()], addresses)) {
    const of = (ready: boolean): readonly SubsetAddress[] =>
      [...offers].flatMap(([identity, isReady]) => (isReady === ready ? (addresses.get(identity) ?? []) : []));
    packed.push(yield* subsetOf({ addresses: of(true), notReadyAddresses: of(false), ports: group }));
    yield;
  }
  return packed.length < 2 ? packed : yield* byHash(packed, subsetText);
}

function addOffer(address: SubsetAddress, ready: boolean, offers: Offers, addresses: Map<string, SubsetAddress>): void {
  const identity = `${address.ip} ${address.targetRef?.uid ?? ""}`;
  if (!addresses.has(identity)) addresses.set(identity, address);
  if (offers.get(identity) !== false) offers.set(identity, ready);
}

/**
 * Groups ports that the same addresses offer. Addresses without ports form a group without ports, or join the group
 * with the same addresses.
 */
function* grouped(
  ports: readonly { readonly port: SubsetPort | undefined; readonly subsets: ReadonlySet<Subset> }[],
  addresses: Map<string, SubsetAddress>,
): Steps<readonly { readonly ports: readonly SubsetPort[]; readonly offers: Offers }[]> {
  const groups = new Map<string, { readonly ports: SubsetPort[]; readonly offers: Offers }>();
  // The offers are computed once per combination of subsets, not once per port.
  const bySubsets = new Map<string, { readonly name: string; readonly offers: Offers }>();
  const numbers = new Map<Subset, number>();
  for (const [index, { port, subsets }] of ports.entries()) {
    if (endsStep(index)) yield;
    const together = Array.from(subsets, (subset) => numberOf(subset, numbers)).join(" ");
    const offered = bySubsets.get(together) ?? offersOf(subsets, addresses);
    bySubsets.set(together, offered);
    const { name, offers } = offered;
    const group = groups.get(name) ?? { ports: [], offers };
    groups.set(name, group);
    if (port !== undefined && port.port > 0) group.ports.push(port);
  }
  return [...groups.values()];
}

function numberOf(subset: Subset, numbers: Map<Subset, number>): number {
  const number = numbers.get(subset) ?? numbers.size;
  numbers.set(subset, number);
  return number;
}

function offersOf(
  subsets: Iterable<Subset>,
  addresses: Map<string, SubsetAddress>,
): { readonly name: string; readonly offers: Offers } {
  const offers: Offers = new Map();
  for (const subset of subsets) {
    for (const address of subset.addresses ?? []) addOffer(address, true, offers, addresses);
    for (const address of subset.notReadyAddresses ?? []) addOffer(address, false, offers, addresses);
  }
  return { name: JSON.stringify([...offers].sort(([a], [b]) => (a < b ? -1 : 1))), offers };
}

/** The subset with its addresses sorted, its ports sorted by hash, and empty lists left out as in the API. */
function* subsetOf({ addresses = [], notReadyAddresses = [], ports = [] }: Subset): Steps<Subset> {
  const sorted = yield* byHash(ports, portText);
  return {
    ...(addresses.length > 0 && { addresses: [...addresses].sort(byAddress) }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses: [...notReadyAddresses].sort(byAddress) }),
    ...(sorted.length > 0 && { ports: sorted }),
  };
}

/** Sorts by IP as a string; for the same IP, addresses without a target first, then by uid. */
function byAddress(a: SubsetAddress, b: SubsetAddress): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1;
  if (a.targetRef === undefined || b.targetRef === undefined) {
    return Number(a.targetRef !== undefined) - Number(b.targetRef !== undefined);
  }
  const [left = "", right = ""] = [a.targetRef.uid, b.targetRef.uid];
  return inTextOrder(left, right);
}
