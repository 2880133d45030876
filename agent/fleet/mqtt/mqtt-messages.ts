import type { IClientPublishOptions, IPublishPacket } from "mqtt";
import type { Incoming, MqttMessage } from "./link.ts";
import type { ReadDelay } from "./read-delay.ts";

/** Options and properties of a PUBLISH. */
export function publishOptionsOf({ retain, expiry, code, correlation }: MqttMessage): IClientPublishOptions {
  const properties = {
    ...(expiry !== undefined && { messageExpiryInterval: Math.max(1, Math.ceil(expiry / 1000)) }),
    ...(code !== undefined && { userProperties: { code } }),
    ...(correlation !== undefined && { correlationData: Buffer.from(correlation, "base64") }),
  };
  return { qos: 1, retain, properties };
}

/** Upper bound of the packet's size in bytes: the header (5), all parts with their lengths, and a topic alias. */
export function sizeOf({ topic, payload, expiry, code, correlation }: MqttMessage): number {
  const properties =
    (expiry === undefined ? 0 : 5) +
    (code === undefined ? 0 : 5 + Buffer.byteLength("code") + Buffer.byteLength(code)) +
    (correlation === undefined ? 0 : 3 + Buffer.byteLength(correlation, "base64"));
  return 5 + 2 + Buffer.byteLength(topic) + 2 + 4 + 3 + properties + Buffer.byteLength(payload);
}

/** Converts a received packet. The time until its expiry is reduced by the time it may have waited unread. */
export function incomingOf({ topic, payload, retain, properties }: IPublishPacket, unread: ReadDelay): Incoming {
  const { messageExpiryInterval, responseTopic, correlationData, userProperties = {} } = properties ?? {};
  const named = Object.entries(userProperties).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return {
    topic,
    payload: typeof payload === "string" ? Buffer.from(payload) : payload,
    retained: retain,
    expirySeconds: messageExpiryInterval && Math.max(0, messageExpiryInterval - unread.longest / 1000),
    responseTopic: responseTopic?.toString(),
    correlation: correlationData?.toString("base64"),
    userProperties: new Map(named),
  };
}
