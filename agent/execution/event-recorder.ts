import { apiVersionOf, events } from "../api/resources.ts";
import { timestamp } from "../api/timestamps.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { sleep } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { dispositionOf } from "../base/errors.ts";
import { Fifo } from "../base/fifo.ts";
import { jitter } from "../base/random.ts";
import { cleanText } from "../base/text/terminal-text.ts";
import { isNotFound } from "../client/api-error.ts";
import type { EventAction } from "./actions.ts";
import { EventCorrelator, type WrittenEvent } from "./event-correlator.ts";
import type { EventSink, Write, Writer } from "./executor.ts";
import { fence, type Term } from "./fence.ts";

const component = "siteward";

/** client-go queues 1000, which a board with little memory cannot afford. Beyond this many, new Events are dropped. */
const maxQueueLength = 200;

/**
 * client-go tries twelve times. Here, Events are sent one at a time, so after half a minute without an answer, the
 * Events that wait behind it are worth more than this one.
 */
const attempts = 4;

/** Between two attempts, as in client-go. */
const pause: Millis = 10_000;

/** The API server's limit for the message (`note`) of an events.k8s.io/v1 Event; core/v1 has none. */
const maxMessageLength = 1024;

/** An Event that has not been sent yet, with the number of its repetitions until then. */
interface Pending {
  readonly event: EventAction;
  /** The key by which the EventCorrelator knows the Event. */
  readonly key: string;
  readonly first: Instant;
  message: string;
  last: Instant;
  count: number;
  term: Term;
}

/**
 * Writes Events (core/v1) in the background, one at a time; they are merged, and limited per object. No pass waits for
 * them, and nothing depends on them: Events that exceed the queue or cannot be written are dropped and counted.
 */
export class EventRecorder implements EventSink {
  readonly #ambient: Ambient;
  readonly #client: Pick<Writer, "create" | "patch">;
  readonly #host: string;
  readonly #correlator = new EventCorrelator();
  readonly #queue = new Fifo<Pending>();
  readonly #pending = new Map<string, Pending>();
  readonly #bell: WakeSignal;
  #sent = 0;
  #dropped = 0;

  constructor(ambient: Ambient, deps: { readonly client: Pick<Writer, "create" | "patch">; readonly host: string }) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#host = deps.host;
    this.#bell = new WakeSignal(ambient.clock);
  }

  stats(): { readonly queued: number; readonly sent: number; readonly dropped: number } {
    return { queued: this.#queue.size, sent: this.#sent, dropped: this.#dropped };
  }

  record(event: EventAction, term: Term): void {
    const now = this.#ambient.clock.now();
    const { message, key } = this.#correlator.correlate(event, now);
    const pending = this.#pending.get(key);
    if (pending) {
      Object.assign(pending, { message, last: now, count: pending.count + 1, term });
      return;
    }
    if (this.#queue.size >= maxQueueLength || !this.#correlator.admits(event, now)) {
      this.#dropped++;
      return;
    }
    const entry = { event, key, first: now, message, last: now, count: 1, term };
    this.#pending.set(key, entry);
    this.#queue.push(entry);
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (!next) {
        await this.#bell.wait(signal);
        continue;
      }
      this.#pending.delete(next.key);
      await this.#deliver(next, signal);
    }
  }

  /** Sends an Event. Only errors with the disposition "retry" are retried: the API would only repeat a refusal. */
  async #deliver(pending: Pending, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#send(pending, signal);
        this.#sent++;
        return;
      } catch (error) {
        if (dispositionOf(error) !== "retry" || attempt === attempts) {
          this.#dropped++;
          log.debug("event dropped", { reason: pending.event.reason, about: pending.event.about.name, error });
          return;
        }
        await sleep(clock, jitter(random, pause, 0.25), signal);
      }
    }
  }

  async #send(pending: Pending, signal: AbortSignal): Promise<void> {
    const { event, key, term } = pending;
    const guard = fence(this.#ambient.clock, term);
    guard();
    const write: Write = { signal, guard, lane: "events" };
    const last = this.#correlator.lastWritten(event, key);
    const written = (last && (await this.#repeat(last, pending, write))) ?? (await this.#create(pending, write));
    this.#correlator.recordWritten(event, key, written, this.#ambient.clock.now());
  }

  /**
   * Adds to the count of a written Event; undefined if it no longer exists, because API servers keep Events for an hour
   * by default.
   */
  async #repeat(
    last: WrittenEvent,
    { event, key, last: lastTime, message, count }: Pending,
    write: Write,
  ): Promise<WrittenEvent | undefined> {
    const at = { namespace: namespaceOf(event), name: last.name };
    const patch = { count: last.count + count, lastTimestamp: timestamp(lastTime), message: cut(message) };
    try {
      await this.#client.patch(events, at, "merge", patch, { ...write, metadataOnly: true });
      return { name: last.name, count: patch.count };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#correlator.forgetWritten(event, key);
      return undefined;
    }
  }

  /** Writes a new Event. If it replaces one that no longer exists, its count starts again; in client-go, it goes on. */
  async #create(pending: Pending, write: Write): Promise<WrittenEvent> {
    const { event, count } = pending;
    const at = { namespace: namespaceOf(event), name: this.#newName(event) };
    await this.#client.create(events, at.namespace, this.#body(pending, at), write);
    return { name: at.name, count };
  }

  #newName({ about }: EventAction): string {
    return `${about.name.slice(0, 236)}.${this.#ambient.random.uuid().replaceAll("-", "").slice(0, 16)}`;
  }

  #body({ event, first, last, message, count }: Pending, at: { namespace: string; name: string }) {
    const { resource, namespace, name, uid, resourceVersion } = event.about;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: at,
      involvedObject: {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        namespace,
        name,
        uid,
        resourceVersion,
      },
      reason: event.reason,
      message: cut(message),
      type: event.severity,
      source: { component, host: this.#host },
      reportingComponent: component,
      reportingInstance: this.#host,
      firstTimestamp: timestamp(first),
      lastTimestamp: timestamp(last),
      count,
    };
  }
}

/** The namespace of an Event; "default" for cluster-scoped objects, as in Kubernetes. */
const namespaceOf = ({ about }: EventAction): string => about.namespace ?? "default";

/** The message within its limit, without characters that could control a terminal or reorder text. */
const cut = (message: string): string => cleanText(message.slice(0, maxMessageLength));
