import type { Socket } from "node:net";
import protocol, { type IConnectPacket, type IPublishPacket, type ISubscribePacket, type Packet } from "mqtt-packet";
import type { Ambient } from "../../agent/base/ambient.ts";
import { elapsed, type Instant, type Timer } from "../../agent/base/clock.ts";
import type { BrokerSession, Outlet } from "./broker-session.ts";
import type { Dated } from "./broker-topics.ts";

const reason = {
  noSubscribers: 0x10,
  noSubscription: 0x11,
  protocol: 0x82,
  version: 0x84,
  takenOver: 0x8e,
  filter: 0x8f,
} as const;
const maxPacket = 256 * 1024;
const connectLimit = 10_000;
const withWill = 0x04;
const maxUnacknowledged = 20;

/** The part of the broker that its connections use. */
export interface BrokerCore {
  enter(
    id: string,
    connection: BrokerConnection,
    isClean: boolean,
  ): { readonly session: BrokerSession; readonly isOld: boolean };
  leave(
    id: string,
    connection: BrokerConnection,
    end: { readonly expiry: number; readonly will?: { readonly message: Dated; readonly delay: number } },
  ): void;
  publish(message: Dated): boolean;
  retained(filter: string): IterableIterator<Dated>;
}

/** One client's connection to the embedded broker. */
export class BrokerConnection implements Outlet {
  window = maxUnacknowledged;
  readonly #ambient: Ambient;
  readonly #socket: Socket;
  readonly #broker: BrokerCore;
  readonly #parser = protocol.parser();
  #timer: Timer;
  #lastReceived: Instant;
  #connect: IConnectPacket | undefined;
  #session: BrokerSession | undefined;
  #publishesWill = true;

  constructor(ambient: Ambient, { socket, broker }: { readonly socket: Socket; readonly broker: BrokerCore }) {
    this.#ambient = ambient;
    this.#socket = socket;
    this.#broker = broker;
    this.#lastReceived = ambient.clock.now();
    this.#timer = ambient.clock.after(connectLimit, () => this.end());
    this.#parser.on("packet", (packet: Packet) => this.#take(packet));
    this.#parser.on("error", () => this.end());
    socket.on("data", (data) => {
      this.#lastReceived = ambient.clock.now();
      this.#parser.parse(data);
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#gone());
  }

  send(packet: IPublishPacket): void {
    this.#write(packet);
  }

  takenOver(): void {
    this.#write({ cmd: "disconnect", reasonCode: reason.takenOver });
    this.#gone();
    this.end();
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(packet: Packet): void {
    if (packet.cmd === "connect") this.#welcome(packet);
    else if (!this.#session) this.end();
    else this.#serve(packet, this.#session);
  }

  #welcome(packet: IConnectPacket): void {
    const { protocolVersion, clean = false, keepalive = 0, properties } = packet;
    // A client without an identifier is assigned one, which is reported to it.
    const clientId = packet.clientId || this.#ambient.random.uuid();
    const assigned = packet.clientId === "" ? { assignedClientIdentifier: clientId } : {};
    if (this.#connect) {
      this.end();
      return;
    }
    if (protocolVersion !== 5) {
      // The reason code is that of MQTT 3.1.1 for an unacceptable protocol version.
      this.#socket.end(protocol.generate({ cmd: "connack", returnCode: 1, sessionPresent: false }));
      return;
    }
    this.#connect = { ...packet, clientId };
    this.window = Math.min(maxUnacknowledged, properties?.receiveMaximum ?? maxUnacknowledged);
    this.#timer.cancel();
    if (keepalive > 0) this.#watch(keepalive * 1500);
    const { session, isOld } = this.#broker.enter(clientId, this, clean);
    this.#session = session;
    const limits = { ...assigned, maximumQoS: 1, maximumPacketSize: maxPacket, sharedSubscriptionAvailable: false };
    this.#write({ cmd: "connack", reasonCode: 0, sessionPresent: isOld, properties: limits });
    session.connect(this);
  }

  #serve(packet: Packet, session: BrokerSession): void {
    switch (packet.cmd) {
      case "publish":
        this.#publish(packet);
        break;
      case "puback":
        session.acknowledged(packet.messageId ?? 0);
        break;
      case "subscribe":
        this.#subscribe(packet, session);
        break;
      case "unsubscribe": {
        const granted = packet.unsubscriptions.map((filter) =>
          session.unsubscribe(filter) ? 0 : reason.noSubscription,
        );
        this.#write({ cmd: "unsuback", messageId: packet.messageId ?? 0, granted });
        break;
      }
      case "pingreq":
        this.#write({ cmd: "pingresp" });
        break;
      case "disconnect":
        this.#publishesWill = packet.reasonCode === withWill;
        this.end();
        break;
      default:
        this.end();
    }
  }

  #publish(packet: IPublishPacket): void {
    const { qos, messageId = 0, topic } = packet;
    if (qos > 1 || topic === "" || /[+#]/.test(topic)) {
      this.#write({ cmd: "disconnect", reasonCode: reason.protocol });
      this.end();
      return;
    }
    const isWanted = this.#broker.publish({ packet, at: this.#ambient.clock.now() });
    if (qos === 1) this.#write({ cmd: "puback", messageId, reasonCode: isWanted ? 0 : reason.noSubscribers });
  }

  #subscribe({ messageId = 0, subscriptions }: ISubscribePacket, session: BrokerSession): void {
    const isGood = (filter: string): boolean => /^([^+#]|(?<=^|\/)[+](?=$|\/)|(?<=^|\/)#$)+$/.test(filter);
    const granted = subscriptions.map(({ topic, qos }) => (isGood(topic) ? Math.min(1, qos) : reason.filter));
    this.#write({ cmd: "suback", messageId, granted });
    for (const subscription of subscriptions.filter(({ topic }) => isGood(topic))) {
      const isNew = session.subscribe(subscription);
      const wantsRetained = subscription.rh === 1 ? isNew : subscription.rh !== 2;
      if (!wantsRetained) continue;
      for (const message of this.#broker.retained(subscription.topic)) session.deliver(message, true);
    }
  }

  #watch(limit: number): void {
    const { clock } = this.#ambient;
    const left = limit - elapsed(this.#lastReceived, clock.now());
    if (left <= 0) this.end();
    else this.#timer = clock.after(left, () => this.#watch(limit));
  }

  /** Runs once, when the socket ends or another client with that name takes over. */
  #gone(): void {
    this.#timer.cancel();
    const [connect, session] = [this.#connect, this.#session];
    this.#session = undefined;
    if (!connect || !session) return;
    session.disconnect(this);
    const { clientId, will, properties } = connect;
    const expiry = properties?.sessionExpiryInterval ?? 0;
    if (!will || !this.#publishesWill) {
      this.#broker.leave(clientId, this, { expiry });
      return;
    }
    const { topic, payload, qos = 0, retain = false, properties: more } = will;
    const { willDelayInterval = 0, ...rest } = more ?? {};
    const packet: IPublishPacket = { cmd: "publish", topic, payload, qos, retain, dup: false, properties: rest };
    const message = { packet, at: this.#ambient.clock.now() };
    this.#broker.leave(clientId, this, { expiry, will: { message, delay: willDelayInterval } });
  }

  #write(packet: Packet): void {
    if (!this.#socket.writable) return;
    const bytes = protocol.generate(packet, { protocolVersion: 5 });
    const limit = this.#connect?.properties?.maximumPacketSize;
    // A message too large for the client counts as delivered (MQTT 5, 3.1.2.11.4).
    if (packet.cmd === "publish" && limit !== undefined && bytes.length > limit) {
      this.#session?.acknowledged(packet.messageId ?? 0);
      return;
    }
    this.#socket.write(bytes);
  }
}
