export type Family = "IPv4" | "IPv6";

export interface Address {
  readonly family: Family;
  /** Canonical form: no leading zeros, IPv6 as in RFC 5952. */
  readonly text: string;
}

/**
 * Parses an IP address in any form that kubelets have used; undefined if it is invalid. Octets may have leading zeros,
 * and an IPv4-mapped IPv6 address counts as IPv4.
 */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(":")) {
    const octets = octetsOf(text);
    return octets && { family: "IPv4", text: octets.join(".") };
  }
  const groups = groupsOf(text);
  if (groups === undefined) return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!isMapped) return { family: "IPv6", text: textOfGroups(groups) };
  return { family: "IPv4", text: [high >> 8, high & 255, low >> 8, low & 255].join(".") };
}

/**
 * The family of an address. A missing or invalid address counts as IPv4, as for a pod or service that has no address
 * yet.
 */
export const familyOf = (text: string | undefined): Family =>
  (text === undefined ? undefined : parseAddress(text))?.family ?? "IPv4";

function octetsOf(text: string): readonly number[] | undefined {
  const octets = text.split(".").map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : Number.NaN));
  return octets.length === 4 && octets.every((octet) => octet <= 255) ? octets : undefined;
}

/** The eight 16-bit groups of an IPv6 address. "::" stands for at least one group of zeros. */
function groupsOf(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => groupsInPart(half, index === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

/** The groups of a part without "::". The end of the last part of an address may be in IPv4 form. */
function groupsInPart(text: string, isLast: boolean): readonly number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const octets = isLast && index === parts.length - 1 ? octetsOf(part) : undefined;
    if (octets === undefined) return undefined;
    const [a = 0, b = 0, c = 0, d = 0] = octets;
    groups.push(a * 256 + b, c * 256 + d);
  }
  return groups;
}

/** Formats an IPv6 address as in RFC 5952: "::" replaces the first of the longest runs of two or more zero groups. */
function textOfGroups(groups: readonly number[]): string {
  let [from, length] = [0, 1];
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - start > length) [from, length] = [start, end - start];
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`;
}
