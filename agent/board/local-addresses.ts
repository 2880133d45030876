import type { ReadFact } from "./facts.ts";
import { isAddress6, numberOf, routes4, routes6, textOf6 } from "./kernel-routes.ts";

/**
 * This machine's own addresses on its LAN, without netlink, which the service's sandbox refuses. Those on the interface
 * of the default route come first. Addresses of container networks are left out, because other boards have the same
 * ones. The kernel does not say on which interface an IPv4 address is, so the address of a service that kube-proxy gives
 * every board (IPVS) counts if it is one of the LAN's.
 */
export function localAddresses(read: ReadFact): readonly string[] {
  return [...addresses4(read), ...addresses6(read("/proc/net/if_inet6") ?? "", read("/proc/net/ipv6_route") ?? "")];
}

const containerInterface =
  /^(lo$|docker|br-|cni|flannel|cali|cilium|lxc|veth|virbr|podman|lxdbr|incusbr|kube-|nodelocaldns|tunl|vxlan)/;

function addresses4(read: ReadFact): readonly string[] {
  const routes = routes4(read("/proc/net/route") ?? "");
  const main = routes.find(({ mask }) => mask === 0)?.name;
  const found = new Map<string, boolean>();
  for (const text of ownAddresses4(read("/proc/net/fib_trie") ?? "")) {
    const address = numberOf(text);
    const route = routes.find(
      ({ destination, mask, isDirect }) => isDirect && mask !== 0 && (address & mask) >>> 0 === destination,
    );
    if (route && !containerInterface.test(route.name)) found.set(text, route.name === main);
  }
  return mainFirst(found);
}

/** Parses /proc/net/fib_trie: an address of this machine is a line "|-- 192.168.7.2", followed by "/32 host LOCAL". */
function ownAddresses4(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  let last = "";
  for (const line of text.split("\n")) {
    const entry = line.trim();
    if (entry.startsWith("|-- ")) last = entry.slice(4);
    else if (entry === "/32 host LOCAL" && isAddress4(last)) found.add(last);
  }
  return found;
}

const isAddress4 = (text: string): boolean => /^(\d{1,3}\.){3}\d{1,3}$/.test(text) && !text.startsWith("127.");

/** Flags of an IPv6 address: temporary, duplicate, deprecated, tentative. */
const unsteady = 0x01 | 0x08 | 0x20 | 0x40;

/**
 * Parses /proc/net/if_inet6: address, interface number, prefix length, scope, flags, interface name; scope 0 is global.
 */
function addresses6(text: string, routes: string): readonly string[] {
  const main = routes6(routes).find(({ name, length }) => length === 0 && name !== "lo")?.name;
  const found = new Map<string, boolean>();
  for (const line of text.split("\n")) {
    const [digits = "", , , scope, flags = "", name = "lo"] = line.trim().split(/\s+/);
    if (!isAddress6(digits) || scope !== "00" || (Number.parseInt(flags, 16) & unsteady) !== 0) continue;
    if (!containerInterface.test(name)) found.set(textOf6(digits), name === main);
  }
  return mainFirst(found);
}

/** Addresses of the main interface, then the others. */
const mainFirst = (found: ReadonlyMap<string, boolean>): readonly string[] =>
  [...found]
    .sort(([a, isMain], [b, isToo]) => Number(isToo) - Number(isMain) || (a < b ? -1 : 1))
    .map(([address]) => address);
