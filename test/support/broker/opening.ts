import type { LinkOptions } from "../../../agent/fleet/mqtt/link.ts";

/** How a board opens its link where a test does not want it otherwise: in the clear, and taking all that comes. */
export const openingTo = (url: string, more: Partial<LinkOptions> = {}): LinkOptions => ({
  url: new URL(url),
  tls: undefined,
  clientId: "acme/plant7/pi-1",
  keepalive: 60_000,
  sessionExpiry: 60_000,
  receiveMaximum: 8,
  maxPacket: 65_536,
  topicAliases: false,
  connectTimeout: 5000,
  will: { topic: "sw1/acme/plant7/pi-1/up", payload: "gone", delay: 0 },
  receive: async () => {},
  ...more,
});
