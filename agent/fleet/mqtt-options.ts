import type { IClientOptions, IPublishPacket } from "mqtt";
import { nextTurn } from "../base/clock.ts";
import { type Incoming, LinkError, type Opening } from "./link.ts";
import { incomingOf } from "./mqtt-messages.ts";
import type { ReadDelay } from "./read-delay.ts";

/** One message in each turn of the loop: a queue that waited for this board comes many in one piece. */
export async function inTurn(receive: Opening["receive"], message: Incoming): Promise<void> {
  await nextTurn();
  await receive(message);
}

/** How the library is to connect, and how it takes what comes at QoS 1 and 2. */
export function optionsOf(opening: Opening, unread: ReadDelay): IClientOptions {
  const { clientId, keepalive, sessionExpiry, receiveMaximum, maxPacket, topicAliases, connectTimeout, will, receive } =
    opening;
  return {
    protocolVersion: 5,
    protocolId: "MQTT",
    clean: false,
    clientId,
    keepalive: Math.round(keepalive / 1000),
    connectTimeout,
    manualConnect: true,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    timerVariant: "native",
    // All numbers up to 65535 as buffers of their own would take 8 MB.
    writeCache: false,
    autoAssignTopicAlias: topicAliases,
    properties: {
      sessionExpiryInterval: Math.round(sessionExpiry / 1000),
      receiveMaximum,
      maximumPacketSize: maxPacket,
    },
    will: {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: 1,
      retain: true,
      properties: { willDelayInterval: Math.round(will.delay / 1000) },
    },
    // The acknowledgement follows when this calls back: what came is durable then. An error ends the connection, and the
    // broker sends the message again.
    customHandleAcks: (_topic, _payload, packet: IPublishPacket, done) => {
      inTurn(receive, incomingOf(packet, unread)).then(
        () => done(0),
        (cause: unknown) => done(new LinkError("stopped", "a message could not be taken", { cause })),
      );
    },
  };
}
