import type { ReadFact } from "./facts.ts";
import { isAddress6, routes4, textOf } from "./kernel-routes.ts";

/** The networks that this machine reaches without a router, except loopback: "192.168.7.0/24", "fd00::/64". */
export function localNetworks(read: ReadFact): readonly string[] {
  return [...new Set([...networks4(read("/proc/net/route") ?? ""), ...prefixes6(read("/proc/net/if_inet6") ?? "")])];
}

function networks4(text: string): readonly string[] {
  return routes4(text)
    .filter(({ name, destination, isDirect }) => name !== "lo" && isDirect && destination !== 0)
    .map(({ destination, length }) => `${textOf(destination)}/${length}`);
}

/** Parses /proc/net/if_inet6. Per line: address, interface number, prefix length, scope, …, interface name. */
function prefixes6(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [digits = "", , length = "", , , name] = line.trim().split(/\s+/);
    const bits = Number.parseInt(length, 16);
    if (name === "lo" || !isAddress6(digits) || !Number.isInteger(bits) || bits < 1 || bits > 128) return [];
    const kept = digits.slice(0, Math.ceil(bits / 4));
    const groups = (kept.padEnd(32, "0").match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, ""));
    const last = groups.findLastIndex((group) => group !== "0");
    const text = last < groups.length - 2 ? `${groups.slice(0, last + 1).join(":")}::` : groups.join(":");
    return [`${text}/${bits}`];
  });
}
