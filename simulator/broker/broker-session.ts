import type { IPublishPacket, ISubscription } from "mqtt-packet";
import type { Clock } from "../../agent/base/clock.ts";
import { current, type Dated, isMatch } from "./broker-topics.ts";

/** Receives a session's packets while its client is connected. */
export interface Outlet {
  send(packet: IPublishPacket): void;
  /** Maximum number of unacknowledged messages. */
  readonly window: number;
}

const maxQueued = 1000;

interface Queued {
  readonly message: Dated;
  readonly retain: boolean;
}

/** A client's subscriptions and pending messages, which outlive its connections. */
export class BrokerSession {
  readonly #clock: Clock;
  readonly #subscriptions = new Map<string, ISubscription>();
  readonly #queue: Queued[] = [];
  readonly #unacknowledged = new Map<number, Queued>();
  #outlet: Outlet | undefined;
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resends unacknowledged messages. */
  connect(outlet: Outlet): void {
    this.#queue.unshift(...this.#unacknowledged.values());
    this.#unacknowledged.clear();
    this.#outlet = outlet;
    this.#flush();
  }

  disconnect(outlet: Outlet): void {
    if (this.#outlet === outlet) this.#outlet = undefined;
  }

  /** Adds a subscription. Returns true if it is new, which matters for retain handling 1. */
  subscribe(subscription: ISubscription): boolean {
    const isNew = !this.#subscriptions.has(subscription.topic);
    this.#subscriptions.set(subscription.topic, subscription);
    return isNew;
  }

  unsubscribe(filter: string): boolean {
    return this.#subscriptions.delete(filter);
  }

  /** Sends the message if a subscription matches; returns whether one did. */
  offer(message: Dated): boolean {
    const found = [...this.#subscriptions.values()].find(({ topic }) => isMatch(topic, message.packet.topic));
    if (found === undefined) return false;
    this.deliver(message, found.rap === true && message.packet.retain);
    return true;
  }

  deliver(message: Dated, retain: boolean): void {
    if (this.#queue.length < maxQueued) this.#queue.push({ message, retain });
    this.#flush();
  }

  acknowledged(id: number): void {
    this.#unacknowledged.delete(id);
    this.#flush();
  }

  #flush(): void {
    const outlet = this.#outlet;
    while (outlet && this.#queue.length > 0 && this.#unacknowledged.size < outlet.window) {
      const next = this.#queue.shift();
      const packet = next && current(next.message, this.#clock.now());
      if (!next || !packet) continue;
      const messageId = this.#freeId();
      if (packet.qos > 0) this.#unacknowledged.set(messageId, next);
      const { retain } = next;
      outlet.send({ ...packet, ...(packet.qos > 0 && { messageId }), qos: packet.qos > 0 ? 1 : 0, retain, dup: false });
    }
  }

  #freeId(): number {
    do this.#lastId = (this.#lastId % 65_535) + 1;
    while (this.#unacknowledged.has(this.#lastId));
    return this.#lastId;
  }
}
