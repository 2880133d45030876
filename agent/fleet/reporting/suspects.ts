import { type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";

/** A message is set aside after this many connections that ended right after it was sent alone. */
const maxEnds = 3;
/** A message is suspected only if the connection ended within this time after it was sent. */
const soon: Millis = 5000;
/**
 * A message that may be set aside is sent only over a connection that has existed for at least this long, and is
 * therefore known to work.
 */
const proven: Millis = 10_000;
/** Maximum number of remembered messages. */
const maxSuspects = 16;

/**
 * Messages after which the connection ended immediately. Some brokers, and gateways in front of them, close the
 * connection instead of refusing a message. If it were sent again on each connection, such a message would keep the
 * board off its broker. A suspect is therefore sent alone, so that the end of the connection can be blamed on it, and
 * its acknowledgement clears it. Suspects are in memory only, to spare the flash: a new process needs a few more
 * connections.
 */
export class Suspects {
  /** For each suspect: how many connections ended after it was sent alone. */
  readonly #ends = new Map<string, number>();

  has(message: string): boolean {
    return this.#ends.has(message);
  }

  /** The earliest time at which a suspect may be sent over a connection that was opened at `up`. */
  sendableFrom(message: string, up: Instant): Instant {
    return (this.#ends.get(message) ?? 0) < maxEnds - 1 ? up : shifted(up, proven);
  }

  clear(message: string): void {
    this.#ends.delete(message);
  }

  /**
   * Counts a connection that ended while this message was unacknowledged. Returns true if the message must be set
   * aside.
   */
  ended(message: string, sent: { readonly at: Instant; readonly isAlone: boolean }, now: Instant): boolean {
    if (isAfter(now, shifted(sent.at, soon))) return false;
    const ends = (this.#ends.get(message) ?? 0) + (sent.isAlone ? 1 : 0);
    // The count stays one below the limit, so that one more lost connection is enough if a document is sent again
    // later.
    this.#ends.set(message, Math.min(ends, maxEnds - 1));
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined && this.#ends.size > maxSuspects) this.#ends.delete(oldest);
    return ends >= maxEnds;
  }
}
