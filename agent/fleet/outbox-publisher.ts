import { type Outbox, type OutboxClass, type OutboxRow, ttlLeft } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";
import { fullBucket, nextToken, take } from "../base/token-bucket.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { sizeHint } from "./broker-hints.ts";
import { severities } from "./documents.ts";
import type { FleetEventSink } from "./fleet-events.ts";
import { type Link, type Message, PublishError } from "./link.ts";
import type { LinkProblems } from "./link-problems.ts";
import type { State, States } from "./states.ts";

export interface DrainParts {
  readonly outbox: Outbox;
  readonly states: States;
  readonly bootId: string;
  readonly happenings: FleetEventSink;
  readonly troubles: LinkProblems;
  /** Writes the event about messages dropped for lack of room. */
  readonly tellDropped: () => void;
}

/** Messages per second: bearable for a broker when all boards reconnect (docs/interfaces.md#outbox). */
const rate = 10;
/** After an outage each board starts sending events at a random moment in this interval. */
const startJitter: Millis = 10_000;
const refusal = { first: 30_000, most: 3_600_000 } as const;
/** Minimum interval between reports of the same kind of refusal. */
const deniedQuiet: Millis = 3_600_000;
const tooLarge = "BrokerPacketLimit";
/** Bound on remembered topics with oversize messages. */
const mostTooLarge = 16;
const expireEvery: Millis = 60_000;
/** Retry interval while the disk refuses writes. */
const writeAgain: Millis = 10_000;
const critical = severities.indexOf("critical");

/** One message to send. All events share one `block` key: they go out in order or not at all. */
interface Item {
  readonly key: string;
  readonly block: string;
  readonly message: Message;
  readonly row?: OutboxRow;
  readonly state?: State;
}

/**
 * Publishes pending messages: states, then answers, then events by number. Keeps at most the link's window
 * unacknowledged, and a critical event alone; deletes a row once acknowledged. While the disk refuses the deletion,
 * acknowledged rows are remembered. Lives as long as the fleet link, and sends while a connection is up.
 */
export class OutboxPublisher {
  readonly #ambient: Ambient;
  readonly #parts: DrainParts;
  readonly #bell: WakeSignal;
  readonly #underway = new Set<string>();
  readonly #blocked = new Map<string, { readonly failures: number; readonly until: Instant }>();
  readonly #denied = new Map<string, Instant>();
  /** The broker's packet limit by topic of the documents that exceed it. */
  readonly #tooLarge = new Map<string, number>();
  /** Acknowledged rows that could not be deleted yet. */
  readonly #delivered = new Set<number>();
  #unwritable: Instant | undefined;
  #alone = false;
  #rtt: Millis | undefined;
  #expired: Instant | undefined;
  #failure: unknown;

  constructor(ambient: Ambient, parts: DrainParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
  }

  /** Round trip of the last message, from PUBLISH to acknowledgement. */
  get rtt(): Millis | undefined {
    return this.#rtt;
  }

  /** Signals that there is something new to send. */
  ring(): void {
    this.#bell.ring();
  }

  /** Messages held only in memory, to be sent before the connection ends. */
  unwritten(): readonly Message[] {
    return [...this.#parts.states.list()].filter(({ isUnwritten }) => isUnwritten);
  }

  /** Sends until the signal aborts, at the end of the connection. Throws if the outbox cannot be read. */
  async run(link: Link, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    const hasBacklog = this.#parts.outbox.next("event", 1).length > 0;
    const eventsFrom = shifted(clock.now(), hasBacklog ? random.next() * startJitter : 0);
    let bucket = fullBucket(clock.now());
    this.#failure = undefined;
    while (!signal.aborted && this.#failure === undefined) {
      const now = clock.now();
      this.#tidy(now);
      const item = this.#pick(link, now, elapsed(eventsFrom, now) >= 0);
      if (item === undefined) {
        await this.#bell.wait(signal, this.#pause(now, eventsFrom));
        continue;
      }
      const [granted, rest] = take(bucket, rate, now);
      bucket = rest;
      if (granted) this.#send(link, item);
      else await sleep(clock, elapsed(now, nextToken(bucket, rate, now) ?? shifted(now, 1000)), signal);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #tidy(now: Instant): void {
    const { outbox, bootId, tellDropped } = this.#parts;
    if (this.#unwritable && elapsed(this.#unwritable, now) < writeAgain) return;
    for (const id of this.#delivered) if (!this.#write(() => this.#forget(id))) return;
    this.#unwritable = undefined;
    if (this.#expired === undefined || elapsed(this.#expired, now) >= expireEvery) {
      if (!this.#write(() => outbox.expire({ boot: bootId, mono: now.mono }))) return;
      this.#expired = now;
      for (const [block, { until }] of this.#blocked) {
        if (elapsed(until, now) > refusal.most) this.#blocked.delete(block);
      }
    }
    if (outbox.dropped !== undefined && outbox.hasRoom) this.#write(tellDropped);
  }

  #forget(id: number): void {
    this.#parts.outbox.delete(id);
    this.#delivered.delete(id);
  }

  /** A full or read-only disk must not silence the board: its operators need to learn of it. */
  #write(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (this.#unwritable === undefined)
        this.#ambient.log.warn("what was sent to the fleet cannot be written down", { error });
      this.#unwritable = this.#ambient.clock.now();
      return false;
    }
  }

  #pick(link: Link, now: Instant, mayTellEvents: boolean): Item | undefined {
    const { states } = this.#parts;
    if (this.#alone || this.#underway.size >= link.window) return undefined;
    const isFree = ({ key, block }: Item): boolean => !this.#underway.has(key) && !this.#isBlocked(block, now);
    for (const state of states.list()) {
      const item = { key: state.topic, block: state.topic, message: state, state };
      if (isFree(item)) return item;
    }
    const [response] = this.#next("response", now);
    if (response) return this.#itemOf(response, now);
    if (!mayTellEvents || this.#isBlocked("event", now)) return undefined;
    const [event] = this.#next("event", now);
    // A critical event is sent alone: acknowledged before anything after it is sent.
    if (event?.rank === critical && this.#underway.size > 0) return undefined;
    return event && this.#itemOf(event, now);
  }

  /** The first row that may be sent now; refused rows do not block those behind them. */
  #next(of: OutboxClass, now: Instant): readonly OutboxRow[] {
    const refused = [...this.#blocked.keys()].filter((block) => this.#isBlocked(block, now));
    // Other keys are topics or the class "event".
    const rows = [...this.#underway, ...refused].map(Number).filter(Number.isInteger);
    return this.#parts.outbox.next(of, 1, [...rows, ...this.#delivered]);
  }

  #itemOf(row: OutboxRow, now: Instant): Item {
    const { topic, payload, retain } = row;
    const block = row.class === "event" ? "event" : `${row.id}`;
    const expiry = ttlLeft(row, { boot: this.#parts.bootId, mono: now.mono });
    const properties: unknown = JSON.parse(row.properties);
    return { key: `${row.id}`, block, row, message: { topic, payload, retain, expiry, ...textsOf(properties) } };
  }

  #send(link: Link, item: Item): void {
    this.#underway.add(item.key);
    this.#alone = item.row?.class === "event" && item.row.rank === critical;
    const begun = this.#ambient.clock.now();
    link
      .publish(item.message)
      .then(
        () => {
          this.#rtt = elapsed(begun, this.#ambient.clock.now());
          this.#sent(item);
        },
        (error: unknown) => this.#unsent(item, error),
      )
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#underway.delete(item.key);
        this.#alone = false;
        this.#bell.ring();
      });
  }

  #sent({ block, row, state }: Item): void {
    this.#blocked.delete(block);
    if (row) {
      this.#delivered.add(row.id);
      this.#write(() => this.#forget(row.id));
    }
    if (!state) return;
    if (this.#tooLarge.delete(state.topic)) this.#tellTooLarge();
    this.#write(() => this.#parts.states.done(state));
  }

  #unsent(item: Item, error: unknown): void {
    if (!(error instanceof PublishError)) throw error;
    // The outcome is unknown: sent again on the next connection.
    if (error.kind === "lost") return;
    if (error.kind === "oversize") this.#bury(item, error);
    else this.#hold(item, error);
  }

  #bury({ block, row, state, message }: Item, error: PublishError): void {
    const { outbox, states, happenings } = this.#parts;
    const { topic, payload } = message;
    if (row && !this.#write(() => outbox.bury(row.id))) {
      this.#blocked.set(block, { failures: 1, until: shifted(this.#ambient.clock.now(), refusal.first) });
      return;
    }
    if (state) {
      states.forget(topic);
      // The next document will be as large: report it once as a lasting problem.
      const isKnown = this.#tooLarge.get(topic) === error.code;
      if (this.#tooLarge.size < mostTooLarge) this.#tooLarge.set(topic, error.code);
      this.#tellTooLarge();
      if (isKnown) return;
    }
    this.#ambient.log.warn("a message is larger than the broker takes and is not sent", { error: error.message });
    // The event about it could be too large itself; do not report that one.
    if (topic.endsWith("/event/outbox.oversize")) return;
    const detail = { topic, bytes: Buffer.byteLength(payload), limit: error.code };
    happenings.note({ type: "outbox.oversize", severity: "warning", detail });
  }

  #tellTooLarge(): void {
    const { troubles } = this.#parts;
    if (this.#tooLarge.size === 0) {
      troubles.over(tooLarge);
      return;
    }
    const topics = [...this.#tooLarge.keys()].join(", ");
    const limit = Math.min(...this.#tooLarge.values());
    troubles.tell({
      type: tooLarge,
      severity: "warning",
      message: `the broker takes packets of ${limit} bytes and less, which is too small for ${topics}: nobody is told`,
      hint: sizeHint,
    });
  }

  /** Refused by the broker: the row stays, with a growing backoff. */
  #hold({ block, row, message }: Item, error: PublishError): void {
    const now = this.#ambient.clock.now();
    const failures = (this.#blocked.get(block)?.failures ?? 0) + 1;
    this.#blocked.set(block, { failures, until: shifted(now, backoff(failures, refusal)) });
    const kind = row?.class ?? block;
    const told = this.#denied.get(kind);
    if (told !== undefined && elapsed(told, now) < deniedQuiet) return;
    if (this.#denied.size > 100) this.#denied.clear();
    this.#denied.set(kind, now);
    this.#ambient.log.warn("the broker refuses what this board sends", { error: error.message });
    this.#parts.happenings.note({
      type: "mqtt.denied",
      severity: "warning",
      detail: { topic: message.topic, code: error.code },
    });
  }

  #isBlocked(block: string, now: Instant): boolean {
    const found = this.#blocked.get(block);
    return found !== undefined && elapsed(now, found.until) > 0;
  }

  /**
   * Time until a blocked item is free, events may start, or rows expire, whichever is first. New messages wake the
   * loop.
   */
  #pause(now: Instant, eventsFrom: Instant): Millis {
    const waits = [...this.#blocked.values()].map(({ until }) => elapsed(now, until));
    const soonest = this.#unwritable ? writeAgain : expireEvery;
    return Math.min(soonest, ...[...waits, elapsed(now, eventsFrom)].filter((wait) => wait > 0));
  }
}

function textsOf(properties: unknown): { readonly code?: string; readonly correlation?: string } {
  const { code, correlation } = (properties ?? {}) as { code?: string; correlation?: string };
  return { ...(code !== undefined && { code }), ...(correlation !== undefined && { correlation }) };
}
