import { type FleetIdentity, userNameOf } from "./topics.ts";

/** Hint for the operator if the broker refuses a topic. */
export const aclHint = (identity: FleetIdentity): string =>
  `Add the lines that siteward broker-acl prints for ${userNameOf(identity)} to the broker's ACL.`;

/** Hint for the operator if the broker accepts only small packets. */
export const sizeHint = "Raise the broker's limit on packet size: max_packet_size 65000 in mosquitto.conf.";

/** Hint for the operator if the broker ends the connection when it receives a message. */
export const hangUpHint =
  "Check the logs of the broker, and of any gateway in front of it, for that time: limits on topics or packets, or access rules that disconnect.";
