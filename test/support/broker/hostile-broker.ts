import { createServer, type Server, type Socket } from "node:net";
import protocol, { type IConnackPacket, type IPublishPacket, type Packet } from "mqtt-packet";

/** A scripted broker without TLS, whose answers the test determines. */
export class HostileBroker {
  port = 0;
  connections = 0;
  /** Whether it acknowledges. */
  acknowledges = { publish: true, subscribe: true };
  answersPings = true;
  connack: NonNullable<IConnackPacket["properties"]> = {};
  /** The reason code for a message or for a filter. */
  reasonFor: (what: string) => number | undefined = () => undefined;
  /** A further act right after the answer. */
  after: (packet: Packet, socket: Socket) => void = () => {};
  readonly got: Packet[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    this.port = typeof address === "object" && address ? address.port : 0;
    return this;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** Sends a packet to all connected clients. */
  send(packet: Packet): void {
    for (const socket of this.#sockets) socket.write(bytesOf(packet));
  }

  publish(topic: string, payload: string, more: Partial<IPublishPacket> = {}): void {
    this.send({ cmd: "publish", topic, payload, qos: 1, messageId: 1, dup: false, retain: false, ...more });
  }

  /** The messages that came, by topic. */
  published(part = ""): readonly IPublishPacket[] {
    return this.got.flatMap((packet) => (packet.cmd === "publish" && packet.topic.includes(part) ? [packet] : []));
  }

  #serve(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    const parser = protocol.parser({ protocolVersion: 5 });
    parser.on("error", () => socket.destroy());
    parser.on("packet", (packet: Packet) => {
      this.got.push(packet);
      const answer = this.#answerTo(packet);
      if (answer && socket.writable) socket.write(bytesOf(answer));
      this.after(packet, socket);
    });
    socket.on("data", (bytes) => void parser.parse(bytes));
  }

  #answerTo(packet: Packet): Packet | undefined {
    const { messageId = 0 } = packet;
    switch (packet.cmd) {
      case "connect":
        return { cmd: "connack", reasonCode: 0, sessionPresent: false, properties: this.connack };
      case "pingreq":
        return this.answersPings ? { cmd: "pingresp" } : undefined;
      case "subscribe": {
        const granted = packet.subscriptions.map(({ topic }) => this.reasonFor(topic) ?? 1);
        return this.acknowledges.subscribe ? { cmd: "suback", messageId, granted } : undefined;
      }
      case "unsubscribe":
        return this.acknowledges.subscribe ? { cmd: "unsuback", messageId, granted: [0] } : undefined;
      case "publish":
        return packet.qos === 1 && this.acknowledges.publish
          ? { cmd: "puback", messageId, reasonCode: this.reasonFor(packet.topic) ?? 0 }
          : undefined;
      default:
        return undefined;
    }
  }
}

const bytesOf = (packet: Packet): Buffer => protocol.generate(packet, { protocolVersion: 5 });
