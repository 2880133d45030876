import type { IClientOptions, IPublishPacket } from "mqtt";
import { nextTurn } from "../../base/clock.ts";
import { type Incoming, LinkError, type LinkOptions } from "./link.ts";
import { incomingOf } from "./mqtt-messages.ts";
import type { ReadDelay } from "./read-delay.ts";

/** Handles each message in a separate turn of the event loop, because one chunk may contain many queued messages. */
export async function inTurn(receive: LinkOptions["receive"], message: Incoming): Promise<void> {
  await nextTurn();
  await receive(message);
}

/** The options of the MQTT client, including the handler of messages at QoS 1 and 2. */
export function optionsOf(opening: LinkOptions, unread: ReadDelay): IClientOptions {
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
    // mqtt-packet's cache of all 16-bit numbers as buffers would take 8 MB.
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
    // The library acknowledges when `done` is called, which is after the message was handled. An error ends the
    // connection, and the broker delivers the message again.
    customHandleAcks: (_topic, _payload, packet: IPublishPacket, done) => {
      inTurn(receive, incomingOf(packet, unread)).then(
        () => done(0),
        (cause: unknown) => done(new LinkError("stopped", "a message could not be handled", { cause })),
      );
    },
  };
}
