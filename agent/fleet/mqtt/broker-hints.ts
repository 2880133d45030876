import { type FleetIdentity, userNameOf } from "./topics.ts";

/** Hint for an operator if the broker refuses a topic. */
export const aclHint = (identity: FleetIdentity): string =>
  `Add the lines that siteward broker-acl prints for ${userNameOf(identity)} to the broker's ACL.`;

/** Hint for an operator if the broker accepts only small packets. */
export const sizeHint = "Raise the broker's limit on packet size: max_packet_size 65000 in mosquitto.conf.";

/** Hint for an operator if the broker ends connections on a message. */
export const hangUpHint =
  "Read the broker's log, and that of any gateway before it, at that time: limits of topics and packets, or access rules that disconnect.";
