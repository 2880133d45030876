import { type Outbox, type OutboxClass, type OutboxRow, ttlLeft } from "../../../storage/outbox.ts";
import type { Ambient } from "../../base/ambient.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, isAfter, type Millis, nextTurn, shifted, sleep } from "../../base/clock.ts";
import { WakeSignal } from "../../base/concurrency/wake-signal.ts";
import { listed } from "../../base/text/listed.ts";
import { fullBucket, nextToken, type Rate, take } from "../../base/token-bucket.ts";
import { aclHint, hangUpHint, sizeHint } from "../mqtt/broker-hints.ts";
import { type BrokerLink, type LinkError, type MqttMessage, PublishError } from "../mqtt/link.ts";
import type { LinkProblems } from "../mqtt/link-problems.ts";
import { type FleetIdentity, ownPrefixes } from "../mqtt/topics.ts";
import { severities } from "./documents.ts";
import type { FleetEventSink } from "./fleet-events.ts";
import type { State, States } from "./states.ts";
import { Suspects } from "./suspects.ts";

export interface OutboxPublisherDeps {
  readonly identity: FleetIdentity;
  readonly outbox: Outbox;
  readonly states: States;
  readonly bootId: string;
  readonly events: FleetEventSink;
  readonly linkProblems: LinkProblems;
  /** Stores the event that reports dropped events. */
  readonly reportDropped: () => void;
}

/**
 * The maximum number of messages per second, so that a broker can cope with all boards reconnecting
 * (docs/interfaces.md#outbox).
 */
const rate: Rate = { perSecond: 10, burst: 1 };
/** If events are pending at the start of a connection, sending begins at a random moment within this interval. */
const startJitter: Millis = 10_000;
/** Backoff after a message was refused, in milliseconds. */
const refusal = { first: 30_000, max: 3_600_000 } as const;
/** Minimum interval between reports of refusals of the same kind. */
const deniedQuiet: Millis = 3_600_000;
/** Type of the problem for documents that are larger than the broker accepts. */
const tooLarge = "BrokerPacketLimit";
/** Type of the problem for messages that make the broker close the connection. */
const hangsUp = "BrokerHangsUp";
/**
 * Maximum number of topics remembered because their documents are too large, or because they make the broker close the
 * connection.
 */
const maxTopics = 16;
/** Type of the problem for messages that the broker refuses. */
const refuses = "BrokerRefuses";
/** Maximum number of refused topics that the problem names. */
const maxNamed = 3;
/** How many messages from a previous identity are dropped in one step. */
const dropStep = 100;
const expireEvery: Millis = 60_000;
/** Interval between attempts while the disk cannot be written. */
const writeAgain: Millis = 10_000;
const critical = severities.indexOf("critical");

/** One message to send: a row of the outbox or a state. */
interface Item {
  /** Identifies the message: the id of its row, or the topic of its state. */
  readonly key: string;
  /**
   * The queue this message belongs to: if one message is refused, the others of its queue wait. The events of a topic
   * share one queue, so that they stay in order.
   */
  readonly queue: string;
  /** The class of the message's row, or the topic of its state. */
  readonly kind: string;
  /**
   * Identifies the message among the suspects. A row's id alone would not be enough, because it is reused once the row
   * is deleted.
   */
  readonly name: string;
  readonly message: MqttMessage;
  readonly row?: OutboxRow;
  readonly state?: State;
}

/**
 * Publishes pending messages: first states, then answers, then events in order of their numbers. The number of
 * unacknowledged messages is at most the link's window. A critical event is sent alone, and so is a message that may
 * have made the broker close the last connection (see Suspects): nothing else is sent until it is acknowledged. An
 * acknowledged row is deleted; if the disk cannot be written, the row is remembered and deleted later. Exists as long
 * as the fleet link; `run` sends over one connection.
 */
export class OutboxPublisher {
  readonly #ambient: Ambient;
  readonly #deps: OutboxPublisherDeps;
  readonly #bell: WakeSignal;
  readonly #underway = new Set<string>();
  readonly #blocked = new Map<string, { readonly failures: number; readonly until: Instant }>();
  readonly #denied = new Map<string, Instant>();
  /** The topics of refused messages, by their `queue`. */
  readonly #refused = new Map<string, string>();
  /** For each topic whose document is too large: the broker's packet limit. */
  readonly #tooLarge = new Map<string, number>();
  readonly #suspects = new Suspects();
  /**
   * The kinds of messages that wait because one of them made the broker close the connection. The value is a text for
   * the operator: that message's topic and why the connection ended.
   */
  readonly #hungUp = new Map<string, string>();
  /** Acknowledged rows that could not be deleted yet. */
  readonly #delivered = new Set<number>();
  #unwritable: Instant | undefined;
  /** Whether a message that must be sent alone is unacknowledged. */
  #alone = false;
  #rtt: Millis | undefined;
  /** When expired rows were last deleted. */
  #expired: Instant | undefined;
  /** A storage error, which ends `run`. */
  #failure: unknown;

  constructor(ambient: Ambient, deps: OutboxPublisherDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
  }

  /** Time from the last PUBLISH to its acknowledgement; undefined before the first. */
  get rtt(): Millis | undefined {
    return this.#rtt;
  }

  /** Signals that new messages are pending. */
  ring(): void {
    this.#bell.ring();
  }

  /** The messages that exist only in memory, to be sent before the connection ends. */
  unwritten(): readonly MqttMessage[] {
    return [...this.#deps.states.list()].filter(({ isUnwritten }) => isUnwritten);
  }

  /** Sends over a connection until the signal aborts. Throws if the outbox cannot be read. */
  async run(link: BrokerLink, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    const hasBacklog = this.#deps.outbox.next("event", 1).length > 0;
    const eventsFrom = shifted(clock.now(), hasBacklog ? random.next() * startJitter : 0);
    const up = clock.now();
    let bucket = fullBucket(up, rate.burst);
    this.#failure = undefined;
    await this.#dropFormer();
    while (!signal.aborted && this.#failure === undefined) {
      const now = clock.now();
      this.#tidy(now);
      const item = this.#sendable(link, now, { up, maySendEvents: elapsed(eventsFrom, now) >= 0 });
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

  /**
   * Drops messages left over from a previous identity of this board, because the broker would refuse them until they
   * expire.
   */
  async #dropFormer(): Promise<void> {
    const { outbox, identity } = this.#deps;
    let dropped = 0;
    for (let step = dropStep; step === dropStep; dropped += step) {
      const drop = (): void => {
        step = outbox.dropOutside(ownPrefixes(identity), dropStep);
      };
      if (!this.#write(drop)) return;
      await nextTurn();
    }
    if (dropped > 0)
      this.#ambient.log.warn("messages under this board's previous name or site are dropped", { messages: dropped });
  }

  /** Deletes acknowledged and expired rows, and reports dropped events. */
  #tidy(now: Instant): void {
    const { outbox, bootId, reportDropped } = this.#deps;
    if (this.#unwritable && elapsed(this.#unwritable, now) < writeAgain) return;
    for (const id of this.#delivered) if (!this.#write(() => this.#forget(id))) return;
    this.#unwritable = undefined;
    if (this.#expired === undefined || elapsed(this.#expired, now) >= expireEvery) {
      if (!this.#write(() => outbox.expire({ boot: bootId, mono: now.mono }))) return;
      this.#expired = now;
      for (const [queue, { until }] of this.#blocked) {
        if (elapsed(until, now) > refusal.max) this.#allow(queue);
      }
    }
    if (outbox.dropped !== undefined && outbox.hasRoom) this.#write(reportDropped);
  }

  #forget(id: number): void {
    this.#deps.outbox.delete(id);
    this.#delivered.delete(id);
  }

  /**
   * Runs a write, and returns whether it succeeded, because the board keeps sending while the disk is full or
   * read-only.
   */
  #write(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (this.#unwritable === undefined)
        this.#ambient.log.warn("acknowledgements from the fleet's broker cannot be stored", { error });
      this.#unwritable = this.#ambient.clock.now();
      return false;
    }
  }

  /** The next message to send; undefined if none may be sent now. */
  #sendable(
    link: BrokerLink,
    now: Instant,
    connection: { readonly up: Instant; readonly maySendEvents: boolean },
  ): Item | undefined {
    if (this.#alone || this.#underway.size >= link.window) return undefined;
    for (;;) {
      const item = this.#pick(now, connection.maySendEvents);
      if (item === undefined) return undefined;
      const from = this.#suspects.sendableFrom(item.name, connection.up);
      if (isAfter(from, now)) {
        this.#blocked.set(item.queue, { failures: this.#failures(item.queue), until: from });
        continue;
      }
      // A message that must be sent alone waits until all others are acknowledged.
      return this.#goesAlone(item) && this.#underway.size > 0 ? undefined : item;
    }
  }

  /** The first message that is neither in flight nor delayed. */
  #pick(now: Instant, maySendEvents: boolean): Item | undefined {
    const { states } = this.#deps;
    const isFree = ({ key, queue }: Item): boolean => !this.#underway.has(key) && !this.#isBlocked(queue, now);
    for (const state of states.list()) {
      const { topic } = state;
      const item = { key: topic, queue: topic, kind: topic, name: topic, message: state, state };
      if (isFree(item)) return item;
    }
    const [response] = this.#isBlocked("response", now) ? [] : this.#next("response", now);
    if (response) return this.#itemOf(response, now);
    if (!maySendEvents || this.#isBlocked("event", now)) return undefined;
    const [event] = this.#next("event", now);
    return event && this.#itemOf(event, now);
  }

  #goesAlone({ name, row }: Item): boolean {
    return this.#suspects.has(name) || (row?.class === "event" && row.rank === critical);
  }

  /** The first row that may be sent now. A refused answer does not delay later answers. */
  #next(of: OutboxClass, now: Instant): readonly OutboxRow[] {
    const refused = [...this.#blocked.keys()].filter((queue) => this.#isBlocked(queue, now));
    // Numeric keys are row ids; the others are topics or a class.
    const rows = [...this.#underway, ...refused].map(Number).filter(Number.isInteger);
    const topics = refused.filter((queue) => !Number.isInteger(Number(queue)));
    return this.#deps.outbox.next(of, 1, { ids: [...rows, ...this.#delivered], topics });
  }

  #itemOf(row: OutboxRow, now: Instant): Item {
    const { topic, payload, retain } = row;
    const queue = row.class === "event" ? topic : `${row.id}`;
    const expiry = ttlLeft(row, { boot: this.#deps.bootId, mono: now.mono });
    const properties: unknown = JSON.parse(row.properties);
    const message = { topic, payload, retain, expiry, ...textsOf(properties) };
    return { key: `${row.id}`, queue, kind: row.class, name: `${row.id} ${row.boot} ${row.mono}`, row, message };
  }

  #send(link: BrokerLink, item: Item): void {
    this.#underway.add(item.key);
    const isAlone = this.#goesAlone(item);
    this.#alone = isAlone;
    const begun = this.#ambient.clock.now();
    link
      .publish(item.message)
      .then(
        () => {
          this.#rtt = elapsed(begun, this.#ambient.clock.now());
          this.#sent(item);
        },
        (error: unknown) => {
          if (!(error instanceof PublishError)) throw error;
          if (error.kind === "lost") this.#lost(item, link, { at: begun, isAlone });
          else this.#unsent(item, error);
        },
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

  #sent({ queue, kind, name, row, state }: Item): void {
    for (const delayed of [queue, kind]) this.#allow(delayed);
    this.#suspects.clear(name);
    if (row) {
      this.#delivered.add(row.id);
      this.#write(() => this.#forget(row.id));
    }
    if (!state) return;
    if (this.#tooLarge.delete(state.topic)) this.#reportTooLarge();
    this.#write(() => this.#deps.states.done(state));
  }

  /**
   * The connection ended before the acknowledgement. The message is sent again on the next connection, unless it may
   * itself be the reason why the connection ended.
   */
  #lost(item: Item, link: BrokerLink, sent: { readonly at: Instant; readonly isAlone: boolean }): void {
    const now = this.#ambient.clock.now();
    void link.ended.then((end) => {
      // If this agent ended the connection, or another client took it over, no message is to blame.
      if (end.kind === "stopped" || end.kind === "taken") return;
      if (this.#suspects.ended(item.name, sent, now)) this.#setAside(item, end);
    });
  }

  /**
   * Sets aside a message that makes the broker close the connection. A row is not sent again; a document is, at growing
   * intervals. All messages of its kind wait as well, so that if each of them makes the broker close the connection,
   * few are lost before an operator corrects the broker.
   */
  #setAside({ kind, name, row, message }: Item, end: LinkError): void {
    const { topic, payload } = message;
    this.#delay(kind);
    if (row && this.#write(() => this.#deps.outbox.markUndeliverable(row.id))) this.#suspects.clear(name);
    const isKnown = this.#hungUp.has(kind);
    if (isKnown || this.#hungUp.size < maxTopics) this.#hungUp.set(kind, `${topic}: ${end.message}`);
    this.#reportHungUp();
    if (isKnown && !row) return;
    this.#ambient.log.warn("a message is set aside because the broker ends the connection whenever it is sent", {
      topic,
      error: end,
    });
    // The event that reports this may also make the broker close the connection, which must not cause another event.
    if (topic.endsWith("/event/outbox.hangup")) return;
    const detail = { topic, bytes: Buffer.byteLength(payload), reason: end.message };
    this.#deps.events.note({ type: "outbox.hangup", severity: "warning", detail });
  }

  #reportHungUp(): void {
    const { linkProblems } = this.#deps;
    if (this.#hungUp.size === 0) {
      linkProblems.clear(hangsUp);
      return;
    }
    linkProblems.report({
      type: hangsUp,
      severity: "warning",
      message: `messages are set aside because the connection ended whenever they were sent: ${[...this.#hungUp.values()].join("; ")}`,
      hint: hangUpHint,
    });
  }

  #unsent(item: Item, error: PublishError): void {
    this.#suspects.clear(item.name);
    if (error.kind === "oversize") this.#giveUp(item, error);
    else this.#hold(item, error);
  }

  /** The message is larger than the broker accepts, so it is not sent again. */
  #giveUp({ queue, row, state, message }: Item, error: PublishError): void {
    const { outbox, states, events } = this.#deps;
    const { topic, payload } = message;
    if (row && !this.#write(() => outbox.markUndeliverable(row.id))) {
      this.#blocked.set(queue, { failures: 1, until: shifted(this.#ambient.clock.now(), refusal.first) });
      return;
    }
    if (state) {
      states.forget(topic);
      // The next document of this topic will be just as large, so this is a lasting problem, which is reported once.
      const isKnown = this.#tooLarge.get(topic) === error.code;
      if (this.#tooLarge.size < maxTopics) this.#tooLarge.set(topic, error.code);
      this.#reportTooLarge();
      if (isKnown) return;
    }
    this.#ambient.log.warn("a message is not sent because it is larger than the broker accepts", {
      error: error.message,
    });
    // The event that reports this may itself be too large, which must not cause another event.
    if (topic.endsWith("/event/outbox.oversize")) return;
    const detail = { topic, bytes: Buffer.byteLength(payload), limit: error.code };
    events.note({ type: "outbox.oversize", severity: "warning", detail });
  }

  #reportTooLarge(): void {
    const { linkProblems } = this.#deps;
    if (this.#tooLarge.size === 0) {
      linkProblems.clear(tooLarge);
      return;
    }
    const topics = [...this.#tooLarge.keys()].join(", ");
    const limit = Math.min(...this.#tooLarge.values());
    linkProblems.report({
      type: tooLarge,
      severity: "warning",
      message: `these documents were not sent because they exceed the broker's limit of ${limit} bytes: ${topics}`,
      hint: sizeHint,
    });
  }

  /** The broker refused the message, so it stays pending, with a growing backoff. */
  #hold({ queue, kind, message }: Item, error: PublishError): void {
    const now = this.#ambient.clock.now();
    this.#delay(queue);
    this.#refused.set(queue, message.topic);
    this.#reportRefused();
    const reportedAt = this.#denied.get(kind);
    if (reportedAt !== undefined && elapsed(reportedAt, now) < deniedQuiet) return;
    if (this.#denied.size > 100) this.#denied.clear();
    this.#denied.set(kind, now);
    this.#ambient.log.warn("the broker refuses messages from this board", { error: error.message });
    this.#deps.events.note({
      type: "mqtt.denied",
      severity: "warning",
      detail: { topic: message.topic, code: error.code },
    });
  }

  #reportRefused(): void {
    const { linkProblems, identity } = this.#deps;
    if (this.#refused.size === 0) {
      linkProblems.clear(refuses);
      return;
    }
    const topics = [...new Set(this.#refused.values())];
    linkProblems.report({
      type: refuses,
      severity: "warning",
      message: `messages are waiting because the broker refuses them: ${listed(topics.slice(0, maxNamed), topics.length)}`,
      hint: aclHint(identity),
    });
  }

  /** Delays all messages of this queue or kind, longer each time. */
  #delay(queue: string): void {
    const failures = this.#failures(queue) + 1;
    const until = shifted(this.#ambient.clock.now(), backoff(failures, refusal));
    this.#blocked.set(queue, { failures, until });
  }

  /**
   * Forgets the delay of this queue or kind, after one of its messages was acknowledged or none was sent for a long
   * time.
   */
  #allow(queue: string): void {
    this.#blocked.delete(queue);
    if (this.#hungUp.delete(queue)) this.#reportHungUp();
    if (this.#refused.delete(queue)) this.#reportRefused();
  }

  /** How often messages of this queue or kind have been delayed since one was last acknowledged. */
  #failures(queue: string): number {
    return this.#blocked.get(queue)?.failures ?? 0;
  }

  #isBlocked(queue: string, now: Instant): boolean {
    const found = this.#blocked.get(queue);
    return found !== undefined && isAfter(found.until, now);
  }

  /** Time until a refused message may be retried, events may be sent, or rows may have expired, whichever is first. */
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
