import { isIPv4 } from "node:net";
import type { ReadFact } from "./facts.ts";

/** A row of the kernel's IPv4 routing table. Addresses are numbers, so that masks apply. */
export interface Route4 {
  readonly name: string;
  readonly destination: number;
  readonly mask: number;
  /** The router; 0 if the destination is reached without one. */
  readonly gateway: number;
  /** The destination is reached without a router. */
  readonly isDirect: boolean;
}

/** Parses /proc/net/route. Per line: interface, destination, gateway, flags, …, mask in the eighth field. */
export function routes4(text: string): readonly Route4[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", destination = "", gateway = "", , , , , mask = ""] = line.trim().split(/\s+/);
    if (![destination, gateway, mask].every(isWord)) return [];
    const isDirect = gateway === "00000000";
    const numbers = { destination: hostOrder(destination), mask: hostOrder(mask), gateway: hostOrder(gateway) };
    return [{ name, ...numbers, isDirect }];
  });
}

const isWord = (text: string): boolean => /^[0-9A-F]{8}$/i.test(text);

/** The kernel prints addresses in host byte order, and all supported boards are little-endian. */
const hostOrder = (word: string): number => Buffer.from(word, "hex").readUInt32LE(0);

/** The number of an IPv4 address in text form. */
export const numberOf = (text: string): number =>
  text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) >>> 0;

export const textOf = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");

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
