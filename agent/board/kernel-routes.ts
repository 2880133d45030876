/** A row of the kernel's IPv4 routing table. Addresses are numbers, so that masks apply. */
export interface Route4 {
  readonly name: string;
  readonly destination: number;
  readonly mask: number;
  /** Number of bits in the mask. */
  readonly length: number;
  /** The router; 0 if the destination is reached without one. */
  readonly gateway: number;
  /** The destination is reached without a router. */
  readonly isDirect: boolean;
  /** Of routes to the same destination, the one with the lowest metric is used. */
  readonly metric: number;
}

/** Parses /proc/net/route. Per line: interface, destination, gateway, flags, two counters, metric, mask. */
export function routes4(text: string): readonly Route4[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", destination = "", gateway = "", , , , metric = "", mask = ""] = line.trim().split(/\s+/);
    if (![destination, gateway, mask].every(isWord)) return [];
    const isDirect = gateway === "00000000";
    const numbers = { destination: hostOrder(destination), mask: hostOrder(mask), gateway: hostOrder(gateway) };
    const length = numbers.mask.toString(2).match(/1/g)?.length ?? 0;
    return [{ name, ...numbers, length, isDirect, metric: Number.parseInt(metric, 10) || 0 }];
  });
}

const isWord = (text: string): boolean => /^[0-9A-F]{8}$/i.test(text);

/** The kernel prints addresses in host byte order, and all supported boards are little-endian. */
const hostOrder = (word: string): number => Buffer.from(word, "hex").readUInt32LE(0);

/** The number of an IPv4 address in text form. */
export const numberOf = (text: string): number =>
  text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) >>> 0;

export const textOf = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");

/** An entry of the kernel's IPv6 routing table; reject routes (RTF_REJECT) are omitted. */
export interface Route6 {
  readonly name: string;
  readonly destination: string;
  /** Number of bits of the destination that count. */
  readonly length: number;
  /** The destination is reached without a router. */
  readonly isDirect: boolean;
  /** Of routes to the same destination, the one with the lowest metric is used. */
  readonly metric: number;
}

/** RTF_REJECT. */
const isReject = 0x0200;

/**
 * Parses /proc/net/ipv6_route. Per line: destination and its length, source and its length, router, metric, two
 * counters, flags, interface; all numbers are hexadecimal.
 */
export function routes6(text: string): readonly Route6[] {
  return text.split("\n").flatMap((line) => {
    const [to = "", bits = "", , , router = "", metric = "", , , flags = "", name] = line.trim().split(/\s+/);
    if (name === undefined || !isAddress6(to) || !isAddress6(router)) return [];
    const length = Number.parseInt(bits, 16);
    if (!(length >= 0 && length <= 128) || (Number.parseInt(flags, 16) & isReject) !== 0) return [];
    const isDirect = /^0+$/.test(router);
    return [{ name, destination: textOf6(to), length, isDirect, metric: Number.parseInt(metric, 16) }];
  });
}

/** Whether the text is an IPv6 address as the kernel prints it. */
export const isAddress6 = (digits: string): boolean => /^[0-9a-f]{32}$/.test(digits);

export const textOf6 = (digits: string): string => (digits.match(/.{4}/g) ?? []).join(":");
