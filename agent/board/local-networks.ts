import type { ReadFact } from "./facts.ts";

/** The networks that this machine reaches without a router, except loopback: "192.168.7.0/24", "fd00::/64". */
export function localNetworks(read: ReadFact): readonly string[] {
  return [...new Set([...routes4(read("/proc/net/route") ?? ""), ...prefixes6(read("/proc/net/if_inet6") ?? "")])];
}

/** Parses /proc/net/route. Per line: interface, destination, gateway, flags, …, mask in the eighth field. */
function routes4(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [name, destination = "", gateway, , , , , mask = ""] = line.trim().split(/\s+/);
    if (name === "lo" || gateway !== "00000000" || !isWord(destination) || !isWord(mask) || destination === gateway)
      return [];
    const bits = [...bytesOf(mask)].reduce((sum, byte) => sum + (byte.toString(2).match(/1/g)?.length ?? 0), 0);
    return [`${bytesOf(destination).join(".")}/${bits}`];
  });
}

const isWord = (text: string): boolean => /^[0-9A-F]{8}$/i.test(text);

/** The kernel prints addresses in host byte order, and all supported boards are little-endian. */
const bytesOf = (word: string): readonly number[] =>
  [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16));

/** Parses /proc/net/if_inet6. Per line: address, interface number, prefix length, scope, …, interface name. */
function prefixes6(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [digits = "", , length = "", , , name] = line.trim().split(/\s+/);
    const bits = Number.parseInt(length, 16);
    if (name === "lo" || !/^[0-9a-f]{32}$/.test(digits) || !Number.isInteger(bits) || bits < 1 || bits > 128) return [];
    const kept = digits.slice(0, Math.ceil(bits / 4));
    const groups = (kept.padEnd(32, "0").match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, ""));
    const last = groups.findLastIndex((group) => group !== "0");
    const text = last < groups.length - 2 ? `${groups.slice(0, last + 1).join(":")}::` : groups.join(":");
    return [`${text}/${bits}`];
  });
}
