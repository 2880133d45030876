import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { ReadFact } from "./facts.ts";
import { numberOf, routes4, textOf } from "./kernel-routes.ts";

interface Route {
  readonly path: string;
  /** Length of the prefix in bits; the longest one that contains an address decides. */
  readonly length: number;
  readonly metric: number;
  contains(address: string): boolean;
}

/**
 * Reads the kernel's routes. The result says how this machine reaches an address at this moment: "eth0" without a router,
 * "eth0>192.168.7.254" through one; "" if it has no route.
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
    return routes.find((route) => route.contains(host))?.path ?? "";
  };
}

const pathOf = (name: string, router: string | undefined): string =>
  router === undefined ? name : `${name}>${router}`;

const paths4 = (text: string): Route[] =>
  routes4(text).map(({ name, destination, mask, gateway, isDirect, metric }) => ({
    path: pathOf(name, isDirect ? undefined : textOf(gateway)),
    length: mask.toString(2).match(/1/g)?.length ?? 0,
    metric,
    contains: (address) => (numberOf(address) & mask) >>> 0 === destination,
  }));

/** The route rejects what is sent to it. */
const isReject = 0x0200;

/**
 * Parses /proc/net/ipv6_route. Per line: destination and its length, source and its length, router, metric, two counters,
 * flags, interface; all numbers are hexadecimal.
 */
function paths6(text: string): Route[] {
  return text.split("\n").flatMap((line) => {
    const [to = "", bits = "", , , router = "", metric = "", , , flags = "", name] = line.trim().split(/\s+/);
    if (name === undefined || !/^[0-9a-f]{32}$/.test(to) || !/^[0-9a-f]{32}$/.test(router)) return [];
    const length = Number.parseInt(bits, 16);
    if (!(length >= 0 && length <= 128) || (Number.parseInt(flags, 16) & isReject) !== 0) return [];
    const list = new BlockList();
    // BlockList knows no network that is everything.
    if (length > 0) list.addSubnet(groups(to), length, "ipv6");
    return [
      {
        path: pathOf(name, /^0+$/.test(router) ? undefined : groups(router)),
        length,
        metric: Number.parseInt(metric, 16),
        contains: (address: string) => length === 0 || list.check(address, "ipv6"),
      },
    ];
  });
}

const groups = (digits: string): string => (digits.match(/.{4}/g) ?? []).join(":");

/**
 * The default router of this machine, if it is on the interface of this path. A router behind another interface, such as
 * a modem, says nothing about the LAN, nor does one in front of the machines of a path with a router.
 */
export function gatewayOn(read: ReadFact, path: string): string | undefined {
  const router = routes4(read("/proc/net/route") ?? "").find(
    ({ name, mask, isDirect }) => mask === 0 && !isDirect && name === path,
  );
  return router && textOf(router.gateway);
}
