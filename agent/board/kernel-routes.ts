/** A row of the kernel's IPv4 routing table. Addresses are numbers, so that masks apply. */
export interface Route4 {
  readonly name: string;
  readonly destination: number;
  readonly mask: number;
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
    return [{ name, ...numbers, isDirect, metric: Number.parseInt(metric, 10) || 0 }];
  });
}

const isWord = (text: string): boolean => /^[0-9A-F]{8}$/i.test(text);

/** The kernel prints addresses in host byte order, and all supported boards are little-endian. */
const hostOrder = (word: string): number => Buffer.from(word, "hex").readUInt32LE(0);

/** The number of an IPv4 address in text form. */
export const numberOf = (text: string): number =>
  text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) >>> 0;

export const textOf = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
