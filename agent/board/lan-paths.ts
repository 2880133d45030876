import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { ReadFact } from "./facts.ts";
import { numberOf, routes4, routes6, textOf } from "./kernel-routes.ts";

interface Route {
  /** The interface, if there is no router. */
  readonly name: string | undefined;
  /** Length of the prefix in bits; the longest one that contains an address decides. */
  readonly length: number;
  readonly metric: number;
  contains(address: string): boolean;
}

/**
 * Reads the kernel's routes. The result names the path to an address at this moment: the interface if there is no
 * router ("eth0"), otherwise the network of the address ("192.168.7.0/24", "fd00:0:0:1::/64").
 */
export function lanPaths(read: ReadFact): (address: string) => string {
  const inOrder = (one: Route, other: Route): number => other.length - one.length || one.metric - other.metric;
  const four = paths4(read("/proc/net/route") ?? "").sort(inOrder);
  const six = paths6(read("/proc/net/ipv6_route") ?? "").sort(inOrder);
  return (address) => {
    const [host = "", name] = address.split("%");
    // A link-local address names its interface.
    if (name !== undefined) return name;
    const routes = isIPv4(host) ? four : isIPv6(host) ? six : [];
    return routes.find((route) => route.contains(host))?.name ?? networkOf(host);
  };
}

/** The network of an address, with the prefix length that sites usually use. */
function networkOf(address: string): string {
  if (isIPv4(address)) return `${address.split(".").slice(0, 3).join(".")}.0/24`;
  const [head = [], tail] = address.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = tail && new Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  const all = [...head, ...(zeros ?? []), ...(tail ?? [])];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

const paths4 = (text: string): Route[] =>
  routes4(text).map(({ name, destination, mask, length, isDirect, metric }) => ({
    name: isDirect ? name : undefined,
    length,
    metric,
    contains: (address) => (numberOf(address) & mask) >>> 0 === destination,
  }));

const paths6 = (text: string): Route[] =>
  routes6(text).map(({ name, destination, length, isDirect, metric }) => {
    const list = new BlockList();
    // BlockList does not support a network that contains all addresses.
    if (length > 0) list.addSubnet(destination, length, "ipv6");
    return {
      name: isDirect ? name : undefined,
      length,
      metric,
      contains: (address) => length === 0 || list.check(address, "ipv6"),
    };
  });

/** How many IPv4 networks of one interface are reached by their broadcast addresses. */
const maxNetworks = 8;
/** Where link-local addresses begin (169.254), and the first number of multicast ones: no boards are in such networks. */
const [linkLocal, multicast] = [0xa9fe, 224];

/**
 * The addresses that reach every machine on an interface, whatever its own address: the broadcast address of each of
 * the interface's IPv4 networks, and the multicast group of all IPv6 nodes. Empty for a network behind a router.
 */
export function everyoneOn(read: ReadFact, path: string): readonly string[] {
  const networks = routes4(read("/proc/net/route") ?? "").filter(
    ({ name, isDirect, length }) => name === path && isDirect && length > 0 && length <= 30,
  );
  const ofBoards = networks.filter(
    ({ destination }) => destination >>> 16 !== linkLocal && destination >>> 24 < multicast,
  );
  const broadcasts = ofBoards.map(({ destination, mask }) => textOf((destination | ~mask) >>> 0));
  const four = [...new Set(broadcasts)].slice(0, maxNetworks);
  const hasSix = routes6(read("/proc/net/ipv6_route") ?? "").some(({ name, isDirect }) => name === path && isDirect);
  return [...four, ...(hasSix ? [`ff02::1%${path}`] : [])];
}

/**
 * The default router of this machine, if it is on the interface of this path. A router behind another interface, such
 * as a modem, says nothing about the LAN.
 */
export function gatewayOn(read: ReadFact, path: string): string | undefined {
  const router = routes4(read("/proc/net/route") ?? "").find(
    ({ name, mask, isDirect }) => mask === 0 && !isDirect && name === path,
  );
  return router && textOf(router.gateway);
}
