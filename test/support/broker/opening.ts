import type { LinkOptions } from "../../../agent/fleet/mqtt/link.ts";

/** A board's default way to open its link in tests: unencrypted, and accepting every message. */
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
