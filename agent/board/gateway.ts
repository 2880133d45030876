import { isIPv4 } from "node:net";
import type { ReadFact } from "./facts.ts";
import { numberOf, routes4, textOf } from "./kernel-routes.ts";

/**
 * The default router of this machine, if it is on the interface through which one of these addresses is reached
 * directly. A router behind another interface, such as a modem, says nothing about the LAN.
 */
export function gatewayNear(read: ReadFact, addresses: readonly string[]): string | undefined {
  const routes = routes4(read("/proc/net/route") ?? "");
  const direct = routes.filter(({ isDirect, mask }) => isDirect && mask !== 0);
  for (const address of addresses.filter((one) => isIPv4(one))) {
    const number = numberOf(address);
    const lan = direct.find(({ destination, mask }) => (number & mask) >>> 0 === destination);
    const router = routes.find(({ name, mask, isDirect }) => mask === 0 && !isDirect && name === lan?.name);
    if (router) return textOf(router.gateway);
  }
  return undefined;
}
