import { BlockList, isIP, isIPv6 } from "node:net";

/** The values of HTTPS_PROXY and NO_PROXY; undefined or empty if not set. */
export interface ProxySettings {
  readonly proxy: string | undefined;
  readonly except: string | undefined;
}

/** The proxy for a server; undefined if none. Loopback addresses never use one. */
export function proxyFor(server: URL, { proxy, except }: ProxySettings): URL | undefined {
  if (!proxy || isExempt(server, except ?? "")) return undefined;
  const text = proxy.includes("://") ? proxy : `http://${proxy}`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** The port of a URL, or the default of its scheme. */
export const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);

/** The host name or address in the form that sockets expect: IPv6 without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "").toLowerCase();

/**
 * Whether NO_PROXY exempts the server. Its entries have the forms of Go and curl: "name" with its subdomains, ".name"
 * for subdomains only, addresses, CIDR, "*"; each with an optional port.
 */
function isExempt(server: URL, except: string): boolean {
  const host = hostOf(server);
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return true;
  return except
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && (entry === "*" || matches(host, portOf(server), entry)));
}

function matches(host: string, port: number, entry: string): boolean {
  if (entry.includes("/")) return isIP(host) !== 0 && isWithin(host, entry);
  const [, name = entry, only] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const suffix = name.replace(/^\*?\./, "");
  return (name === suffix && host === name) || host.endsWith(`.${suffix}`);
}

function isWithin(address: string, cidr: string): boolean {
  const [network = "", bits = ""] = cidr.split("/");
  const family = isIP(network);
  const prefix = Number(bits);
  if (family === 0 || !/^\d+$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
