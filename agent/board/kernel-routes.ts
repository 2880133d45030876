/** A row of the kernel's IPv4 routing table. Addresses are numbers, so that masks apply. */
export interface Route4 {
  readonly name: string;
  readonly destination: number;
  readonly mask: number;
  /** The destination is reached without a router. */
  readonly isDirect: boolean;
}

/** Parses /proc/net/route. Per line: interface, destination, gateway, flags, …, mask in the eighth field. */
export function routes4(text: string): readonly Route4[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", destination = "", gateway, , , , , mask = ""] = line.trim().split(/\s+/);
    if (!isWord(destination) || !isWord(mask)) return [];
    const isDirect = gateway === "00000000";
    return [{ name, destination: hostOrder(destination), mask: hostOrder(mask), isDirect }];
  });
}

const isWord = (text: string): boolean => /^[0-9A-F]{8}$/i.test(text);

/** The kernel prints addresses in host byte order, and all supported boards are little-endian. */
const hostOrder = (word: string): number => Buffer.from(word, "hex").readUInt32LE(0);
