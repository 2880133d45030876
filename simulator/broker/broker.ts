import { createServer, type Server } from "node:net";
import type { Ambient } from "../../agent/base/ambient.ts";
import type { Timer } from "../../agent/base/clock.ts";
import { BrokerConnection, type BrokerCore } from "./broker-connection.ts";
import { BrokerSession } from "./broker-session.ts";
import { type Dated, Retained } from "./broker-topics.ts";

const portsTried = 100;

/**
 * A fleet broker for trials: MQTT 5 at QoS 0 and 1, with sessions, retained messages, expiry and delayed wills, all in
 * memory, for any client that can reach its loopback port. Embeddable brokers for Node stop at MQTT 3.1.1.
 */
export class EmbeddedBroker implements BrokerCore {
  readonly #ambient: Ambient;
  readonly #retained = new Retained();
  readonly #sessions = new Map<string, BrokerSession>();
  readonly #connections = new Map<string, BrokerConnection>();
  /** Timers for delayed wills and for the expiry of sessions. */
  readonly #wills = new Map<string, Timer>();
  readonly #ends = new Map<string, Timer>();
  readonly #open = new Set<BrokerConnection>();
  readonly #server: Server;
  #port = 0;

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
    this.#server = createServer((socket) => {
      const connection = new BrokerConnection(ambient, { socket, broker: this });
      this.#open.add(connection);
      socket.once("close", () => this.#open.delete(connection));
    });
  }

  get port(): number {
    return this.#port;
  }

  /** Listens on the requested port, or on the next free one. */
  async start(wanted: number): Promise<void> {
    for (let port = wanted; ; port++) {
      try {
        this.#port = await listening(this.#server, port);
        return;
      } catch (error) {
        const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
        if (!isTaken || port === wanted + portsTried || port === 65_535) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    for (const timer of [...this.#wills.values(), ...this.#ends.values()]) timer.cancel();
    for (const connection of this.#open) connection.end();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** A client has connected. Closes an older connection with the same client id, and cancels its delayed last-will message. */
  enter(
    id: string,
    connection: BrokerConnection,
    isClean: boolean,
  ): { readonly session: BrokerSession; readonly isOld: boolean } {
    this.#connections.get(id)?.takenOver();
    this.#connections.set(id, connection);
    this.#cancel(this.#wills, id);
    this.#cancel(this.#ends, id);
    const found = isClean ? undefined : this.#sessions.get(id);
    const session = found ?? new BrokerSession(this.#ambient.clock);
    this.#sessions.set(id, session);
    return { session, isOld: found !== undefined };
  }

  /** A client has disconnected; its session and its will each have their own timer. */
  leave(
    id: string,
    connection: BrokerConnection,
    { expiry, will }: { readonly expiry: number; readonly will?: { readonly message: Dated; readonly delay: number } },
  ): void {
    if (this.#connections.get(id) !== connection) return;
    this.#connections.delete(id);
    const { clock } = this.#ambient;
    if (will) {
      // If the session ends first, the will is published at that time (MQTT 5, 3.1.3.2.2).
      const delay = Math.min(will.delay, expiry) * 1000;
      const publish = (): void => void this.publish({ ...will.message, at: clock.now() });
      this.#wills.set(id, clock.after(delay, publish));
    }
    this.#ends.set(
      id,
      clock.after(expiry * 1000, () => {
        if (!this.#connections.has(id)) this.#sessions.delete(id);
      }),
    );
  }

  /** Offers the message to every session. Returns whether any subscription matched. */
  publish(message: Dated): boolean {
    if (message.packet.retain) this.#retained.keep(message);
    let isWanted = false;
    for (const session of this.#sessions.values()) isWanted = session.offer(message) || isWanted;
    return isWanted;
  }

  retained(filter: string): IterableIterator<Dated> {
    return this.#retained.matching(filter, this.#ambient.clock.now());
  }

  #cancel(timers: Map<string, Timer>, id: string): void {
    timers.get(id)?.cancel();
    timers.delete(id);
  }
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.removeListener("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}
