import { isIPv4, isIPv6 } from "node:net";
import { invalidValue, type Problem } from "../requests/problems.ts";

export const isAddress = (text: string): boolean => isIPv4(text) || (isIPv6(text) && !text.includes("%"));

/** Why a string is not an address, or is in a form that different programs read differently. */
export function addressProblems(field: string, text: string): readonly Problem[] {
  if (isAddress(text)) {
    const mapped = isIPv6(text) && /^::ffff:/.test(canonical(text));
    return mapped ? [invalidValue(field, text, "must not be an IPv4-mapped IPv6 address")] : [];
  }
  const padded = isIPv4(text.replace(/\b0+(?=\d)/g, ""));
  const why = padded ? "must not have leading 0s" : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  return [invalidValue(field, text, why)];
}

/** The problems of an endpoint's address that can never be reached by a program on another board. */
export function endpointProblems(field: string, address: string): readonly Problem[] {
  const refused = (why: string): readonly Problem[] => [invalidValue(field, address, why)];
  const text = isIPv6(address) ? canonical(address) : address;
  if (text === "0.0.0.0" || text === "::") return refused(`may not be unspecified (${address})`);
  if (/^(127\.|::1$)/.test(text)) return refused("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (/^(169\.254\.|fe[89ab].:)/.test(text)) {
    return refused("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (/^(224\.0\.0\.|ff.2:)/.test(text)) {
    return refused("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
  return [];
}

/** The canonical form of an IPv6 address. */
export const canonical = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);
