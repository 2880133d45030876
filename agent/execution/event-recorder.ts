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
import { EventCorrelator } from "./event-correlator.ts";
import type { EventSink, Writer } from "./executor.ts";
import { fence, type Term } from "./fence.ts";

const component = "siteward";
const maxQueueLength = 200;
const attempts = 4;
const pause: Millis = 10_000;
const maxMessageLength = 1024;

/** An Event that has not been sent yet, with the number of its repetitions until then. */
interface Pending {
  readonly event: EventAction;
  /** By which the EventCorrelator knows it. */
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
    const guard = fence(this.#ambient.clock, pending.term);
    guard();
    const write = { signal, guard, lane: "events" } as const;
    const { event, key, last, message } = pending;
    const written = this.#correlator.lastWritten(event, key);
    const at = { namespace: namespaceOf(event), name: written?.name ?? this.#newName(event) };
    const count = (written?.count ?? 0) + pending.count;
    if (written) {
      try {
        const patch = { count, lastTimestamp: timestamp(last), message: cut(message) };
        await this.#client.patch(events, at, "merge", patch, { ...write, metadataOnly: true });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        this.#correlator.forgetWritten(event, key);
        await this.#send(pending, signal);
        return;
      }
    } else {
      await this.#client.create(events, at.namespace, this.#body(pending, at), write);
    }
    this.#correlator.recordWritten(event, key, { name: at.name, count }, this.#ambient.clock.now());
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
