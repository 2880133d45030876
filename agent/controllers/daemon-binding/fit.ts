import type { Node, Pod } from "../../api/core.ts";
import { isSelected } from "../../api/node-affinity.ts";
import { quantity } from "../../api/quantity.ts";
import { taintsOf, tolerates } from "../../api/taints.ts";
import { anyAddress, type HostPort, type PodNeeds } from "./pod-needs.ts";

/**
 * Maximum number of addresses kept for a port; if there are more, they count as all addresses. A board has few, but a
 * tenant may invent any number.
 */
const maxAddresses = 16;

/** The capacity of a board that its pods use. Modified in place, because a board may have thousands of ports in use. */
export class UsedCapacity {
  #pods = 0;
  readonly #resources = new Map<string, bigint>();
  /** The host addresses in use, by protocol and port. */
  readonly #ports = new Map<string, Set<string>>();

  static by(...needs: readonly PodNeeds[]): UsedCapacity {
    const used = new UsedCapacity();
    for (const each of needs) used.add(each);
    return used;
  }

  get pods(): number {
    return this.#pods;
  }

  amountOf(resource: string): bigint {
    return this.#resources.get(resource) ?? 0n;
  }

  isTaken(port: HostPort): boolean {
    const addresses = this.#ports.get(keyOfPort(port));
    if (addresses === undefined) return false;
    return port.address === anyAddress || addresses.has(anyAddress) || addresses.has(port.address);
  }

  add({ resources, ports }: PodNeeds): void {
    this.#pods++;
    for (const [name, amount] of resources) this.#resources.set(name, this.amountOf(name) + amount);
    for (const port of ports) {
      const key = keyOfPort(port);
      const addresses = (this.#ports.get(key) ?? new Set<string>()).add(port.address);
      this.#ports.set(key, addresses.size > maxAddresses ? new Set([anyAddress]) : addresses);
    }
  }

  copy(): UsedCapacity {
    const copy = new UsedCapacity();
    copy.#pods = this.#pods;
    for (const [name, amount] of this.#resources) copy.#resources.set(name, amount);
    for (const [key, addresses] of this.#ports) copy.#ports.set(key, new Set(addresses));
    return copy;
  }
}

/** Identifies a port without its address: two ports with the same key collide if their addresses do. */
export const keyOfPort = ({ protocol, port }: HostPort): string => `${protocol} ${port}`;

/**
 * Why a pod can never run on a board, regardless of what else runs there, in kube-scheduler's wording; empty if it can.
 */
export function unschedulableReasons({ spec }: Pod, node: Node): readonly string[] {
  const tolerations = spec?.tolerations ?? [];
  const refusing = taintsOf(node).filter(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
  return [
    ...(isSelected(spec ?? {}, node) ? [] : ["node didn't match Pod's node affinity/selector"]),
    ...refusing.map(({ key, value }) => `node had untolerated taint(s) {${key}: ${value ?? ""}}`),
  ];
}

/** What a board lacks for a pod, in kube-scheduler's wording; empty if it fits. */
export function lacking({ resources, ports }: PodNeeds, node: Node, taken: UsedCapacity): readonly string[] {
  const scarce = [...resources].filter(
    ([name, amount]) => amount > 0n && amount + taken.amountOf(name) > allocatable(node, name),
  );
  return [
    ...(ports.some((port) => taken.isTaken(port)) ? ["node didn't have free ports for the requested pod ports"] : []),
    ...(BigInt(taken.pods + 1) * unit > allocatable(node, "pods") ? ["Too many pods"] : []),
    ...scarce.map(([name]) => `Insufficient ${name}`),
  ];
}

/** Maximum number of resources kept that a pod requests but its board lacks. */
const maxMissing = 16;

/**
 * The needs of a pod without most of the resources that the board does not have, because a tenant may invent any
 * number. A few are kept, so that the pod does not fit and the reason names them.
 */
export function neededOn(node: Node, { resources, ports }: PodNeeds): PodNeeds {
  const isOffered = ([name]: readonly [string, bigint]): boolean => allocatable(node, name) > 0n;
  const missing = [...resources].filter((one) => !isOffered(one) && one[1] > 0n).slice(0, maxMissing);
  return { resources: new Map([...[...resources].filter(isOffered), ...missing]), ports };
}

/** How much of a resource a board has; 0 if it does not offer it. */
export const allocatable = ({ status }: Node, name: string): bigint => {
  const written = status?.allocatable;
  return (written && Object.hasOwn(written, name) && quantity(written[name])) || 0n;
};

/** One pod as an amount; amounts are counted in billionths. */
const unit = 10n ** 9n;
