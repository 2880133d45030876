import { type Identity, userNameOf } from "./topics.ts";

/** Hints for an operator about a broker's refusals. */
export const aclHint = (identity: Identity): string =>
  `Give ${userNameOf(identity)} the lines that siteward broker-acl prints.`;

export const sizeHint =
  "Raise the size of packets that the broker takes: max_packet_size in mosquitto.conf, 65536 or more.";
