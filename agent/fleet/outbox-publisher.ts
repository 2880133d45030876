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
  /** Tells what was dropped while there was no room for it. */
  readonly tellDropped: () => void;
}

/**
 * Messages per second: what a broker of many boards can take when all of them come back (docs/interfaces.md#outbox).
 */
const rate = 10;
/** After an outage the boards begin to send events somewhere in this time. */
const startJitter: Millis = 10_000;
const refusal = { first: 30_000, most: 3_600_000 } as const;
/** A refusal of the same kind is told once in so long. */
const deniedQuiet: Millis = 3_600_000;
const tooLarge = "BrokerPacketLimit";
/** So many topics are remembered as too large. */
const mostTooLarge = 16;
const expireEvery: Millis = 60_000;
/** A disk that takes nothing is tried again this often. */
const writeAgain: Millis = 10_000;
const critical = severities.indexOf("critical");

/** One thing to send. Of events the whole class stands behind one key: they go in order or not at all. */
interface Item {
  readonly key: string;
  readonly block: string;
  readonly message: Message;
  readonly row?: OutboxRow;
  readonly state?: State;
}

/**
 * Sends what waits: states, then answers, then events by their number. At most as many unacknowledged as the link allows,
 * one where it is critical; a row is deleted when the broker has it. Where the disk takes nothing, what was sent is known in
 * memory until it does. Lives as long as the fleet, and sends while a link is up.
 */
export class OutboxPublisher {
  readonly #ambient: Ambient;
  readonly #parts: DrainParts;
  readonly #bell: WakeSignal;
  readonly #underway = new Set<string>();
  readonly #blocked = new Map<string, { readonly failures: number; readonly until: Instant }>();
  readonly #denied = new Map<string, Instant>();
  /** Documents that the broker has no room for, by topic: its limit. */
  readonly #tooLarge = new Map<string, number>();
  /** Rows that the broker has, and that could not be deleted yet. */
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

  /** From the last message to its acknowledgement. */
  get rtt(): Millis | undefined {
    return this.#rtt;
  }

  /** There is something new to send. */
  ring(): void {
    this.#bell.ring();
  }

  /** What is told now or never. */
  unwritten(): readonly Message[] {
    return [...this.#parts.states.list()].filter(({ isUnwritten }) => isUnwritten);
  }

  /** Until the signal aborts, which is when the link ends. Throws where the outbox cannot be read. */
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

  /** A disk that is full or read-only is no reason to be silent: whoever could free it has to hear of it. */
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
    // What is critical is sent by itself: it is with the broker before anything that follows is under way.
    if (event?.rank === critical && this.#underway.size > 0) return undefined;
    return event && this.#itemOf(event, now);
  }

  /** The first that may be sent now: however many are refused, those behind them have their turn. */
  #next(of: OutboxClass, now: Instant): readonly OutboxRow[] {
    const refused = [...this.#blocked.keys()].filter((block) => this.#isBlocked(block, now));
    // Other keys are topics, or the class of events.
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
    // Nobody knows whether the broker has it: it is sent again with the next link.
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
      // The next document is as large as this one: that is a state of things, and told as one.
      const isKnown = this.#tooLarge.get(topic) === error.code;
      if (this.#tooLarge.size < mostTooLarge) this.#tooLarge.set(topic, error.code);
      this.#tellTooLarge();
      if (isKnown) return;
    }
    this.#ambient.log.warn("a message is larger than the broker takes and is not sent", { error: error.message });
    // The event that tells of it could be too large itself; nobody tells of that one.
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

  /** The broker says no: the row stays, and its turn comes later and later. */
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

  /** Until the first of: a blocked one is free, events may be told, letters expire. Anything new rings. */
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
