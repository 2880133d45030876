import type { IPublishPacket } from "mqtt-packet";
import { elapsed, type Instant } from "../agent/base/clock.ts";

/** A filter with + and # as MQTT has them; what begins with $ is matched by no wildcard at its first level. */
export function isMatch(filter: string, topic: string): boolean {
  if (topic.startsWith("$") && /^[+#]/.test(filter)) return false;
  const [wanted, levels] = [filter.split("/"), topic.split("/")];
  for (const [at, level] of wanted.entries()) {
    if (level === "#") return at === wanted.length - 1;
    if (at >= levels.length || (level !== "+" && level !== levels[at])) return false;
  }
  return wanted.length === levels.length;
}

/** A message with the moment at which its time began. */
export interface Dated {
  readonly packet: IPublishPacket;
  readonly at: Instant;
}

/** The message with what is left of its time; `undefined`: nobody wants it any more. */
export function current({ packet, at }: Dated, now: Instant): IPublishPacket | undefined {
  const { messageExpiryInterval, ...properties } = packet.properties ?? {};
  if (messageExpiryInterval === undefined) return packet;
  const left = Math.ceil(messageExpiryInterval - elapsed(at, now) / 1000);
  return left <= 0 ? undefined : { ...packet, properties: { ...properties, messageExpiryInterval: left } };
}

/** More topics than a demonstration has. */
const mostRetained = 10_000;

/** The newest message of each topic that was to be kept. */
export class Retained {
  readonly #messages = new Map<string, Dated>();

  keep(message: Dated): void {
    const { topic, payload } = message.packet;
    this.#messages.delete(topic);
    if (payload.length > 0 && this.#messages.size < mostRetained) this.#messages.set(topic, message);
  }

  *matching(filter: string, now: Instant): IterableIterator<Dated> {
    for (const [topic, message] of this.#messages) {
      if (current(message, now) === undefined) this.#messages.delete(topic);
      else if (isMatch(filter, topic)) yield message;
    }
  }
}
