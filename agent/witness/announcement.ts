import { BlockList, isIP, isIPv6 } from "node:net";
import type { Node } from "../api/core.ts";
import { recordIn } from "../base/json.ts";
import { isPublicText } from "./board-key.ts";

/**
 * Annotation that each agent writes on its own board's Node: where the board answers on the LAN, and the public half of
 * its key. Writing it requires the permission to patch Nodes, which tenants do not have.
 */
export const witnessAnnotation = "siteward.dev/witness";

export interface Announcement {
  /** The board's public key, in the form of `BoardKey.publicText`. */
  readonly key: string;
  readonly port: number;
  /** Empty if the board cannot answer now. */
  readonly addresses: readonly string[];
  /** Set if the board cannot answer now, because its port cannot be opened: its silence on the LAN shows nothing. */
  readonly isClosed?: true | undefined;
}

/** Maximum number of a board's addresses on its LAN, half of them of each family; questions are sent to each. */
export const maxAddresses = 8;
const maxTextLength = 1024;

export function announcementText({ key, port, addresses, isClosed }: Announcement): string {
  const some = (families: (address: string) => boolean) => addresses.filter(families).slice(0, maxAddresses / 2);
  const announced = isClosed ? [] : [...some((address) => !isIPv6(address)), ...some(isIPv6)];
  return JSON.stringify({ v: 1, key, port, addresses: announced, closed: isClosed });
}

/** Parses the annotation; undefined if it is unusable. Addresses that no board can have are left out. */
export function parseAnnouncement(text: string): Announcement | undefined {
  const { key, port, addresses, closed } = recordIn(text, maxTextLength) ?? {};
  if (typeof key !== "string" || !isPublicText(key)) return undefined;
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  if (closed === true) return { key, port, addresses: [], isClosed: true };
  const found = Array.isArray(addresses) ? addresses.slice(0, maxAddresses).filter(isBoardAddress) : [];
  return { key, port, addresses: found };
}

/** Where the board of a Node answers, according to the Node; undefined if the board does not answer. */
export function announcedBy({ metadata, status }: Node): Announcement | undefined {
  const text = metadata.annotations?.[witnessAnnotation];
  const announced = text === undefined ? undefined : parseAnnouncement(text);
  if (announced === undefined || announced.isClosed) return announced;
  // A kubelet may know an address that the agent does not find, or for which other addresses on the LAN, such as those of
  // services, leave no room.
  const reported = (status?.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address);
  const addresses = new Set([...reported.slice(0, maxAddresses).filter(isBoardAddress), ...announced.addresses]);
  return { ...announced, addresses: [...addresses].slice(0, maxAddresses) };
}

/** Whether datagrams may be sent to this address: it belongs to a single machine. */
function isBoardAddress(address: unknown): address is string {
  if (typeof address !== "string" || isIP(address) === 0) return false;
  return !shared.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

const shared = new BlockList();
shared.addSubnet("0.0.0.0", 8, "ipv4");
shared.addSubnet("224.0.0.0", 3, "ipv4");
shared.addAddress("::", "ipv6");
shared.addSubnet("ff00::", 8, "ipv6");
