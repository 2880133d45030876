import type { IPublishPacket } from "mqtt-packet";
import { elapsed, type Instant } from "../../agent/base/clock.ts";

/**
 * Whether a topic matches a filter with + and #, as in MQTT. No wildcard at the first level matches a topic that begins
 * with $.
 */
export function isMatch(filter: string, topic: string): boolean {
  if (topic.startsWith("$") && /^[+#]/.test(filter)) return false;
  const [wanted, levels] = [filter.split("/"), topic.split("/")];
  for (const [at, level] of wanted.entries()) {
    if (level === "#") return at === wanted.length - 1;
    if (at >= levels.length || (level !== "+" && level !== levels[at])) return false;
  }
  return wanted.length === levels.length;
}

/** A message and the time from which its expiry counts. */
export interface Dated {
  readonly packet: IPublishPacket;
  readonly at: Instant;
}

/** The message with its remaining expiry interval; undefined if it has expired. */
export function current({ packet, at }: Dated, now: Instant): IPublishPacket | undefined {
  const { messageExpiryInterval, ...properties } = packet.properties ?? {};
  if (messageExpiryInterval === undefined) return packet;
  const left = Math.ceil(messageExpiryInterval - elapsed(at, now) / 1000);
  return left <= 0 ? undefined : { ...packet, properties: { ...properties, messageExpiryInterval: left } };
}

/** Maximum number of retained topics; more than a demonstration has. */
const maxRetained = 10_000;

/** The newest retained message of each topic. */
export class Retained {
  readonly #messages = new Map<string, Dated>();

  keep(message: Dated): void {
    const { topic, payload } = message.packet;
    this.#messages.delete(topic);
    if (payload.length > 0 && this.#messages.size < maxRetained) this.#messages.set(topic, message);
  }

  *matching(filter: string, now: Instant): IterableIterator<Dated> {
    for (const [topic, message] of this.#messages) {
      if (current(message, now) === undefined) this.#messages.delete(topic);
      else if (isMatch(filter, topic)) yield message;
    }
  }
}
