import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { fullBucket, type TokenBucket, take } from "../base/token-bucket.ts";
import type { EventAction } from "./actions.ts";

export interface EventLimits {
  /** Number of Events of any kind that an object may cause in a burst; after that, one per `refill`. */
  readonly burst: number;
  readonly refill: Millis;
  /** Of the Events that differ only in their message, those from this number on are combined into one. */
  readonly similar: number;
  /** After this time without a similar Event, messages are counted anew. */
  readonly similarWindow: Millis;
  /** Maximum number of objects remembered. */
  readonly objects: number;
  /** Maximum number of kinds of Events that are remembered for each object, and of its written Events. */
  readonly perObject: number;
}

/**
 * The limits of client-go, except that client-go remembers 4096 objects, 4096 kinds and 4096 written Events. 256
 * objects with six Events of three kinds take about 1 MB.
 */
const eventLimits: EventLimits = {
  burst: 25,
  refill: 300_000,
  similar: 10,
  similarWindow: 600_000,
  objects: 256,
  perObject: 16,
};

/** An Event that was written to the API server. */
export interface WrittenEvent {
  readonly name: string;
  readonly count: number;
}

/** How an Event relates to earlier ones. */
export interface Correlation {
  /** The message to write: the Event's own, or a combined one once there are many similar Events. */
  readonly message: string;
  /** Events with the same key are written as a single one, whose count grows. */
  readonly key: string;
}

interface Subject {
  bucket: TokenBucket;
  /** By `Correlation.key`. */
  readonly written: Map<string, WrittenEvent>;
  /** By severity and reason. */
  readonly kinds: Map<string, Kind>;
}

/** Similar Events of an object, which differ at most in their message. */
interface Kind {
  /** When the last one was recorded. */
  readonly last: Instant;
  /** The messages that are not combined: the first distinct ones. */
  readonly messages: Set<string>;
}

/**
 * Finds Events that repeat or exceed a limit. Remembers only the objects with the most recent Events. As in client-go,
 * an object has one allowance for all its Events, and the window of similar Events begins again with each of them.
 *
 * An Event passes through these methods, in this order:
 *
 * 1. `correlate`, once, when it is recorded: counts it among the similar ones. If an earlier Event with its key still
 *    waits to be sent, the earlier one takes over the message and is counted once more, and the new one goes no
 *    further.
 * 2. `admits`, once, before it is queued: takes a token. Without one, the Event is dropped.
 * 3. `lastWritten`, when it is sent: the Event that was written before under its key is patched, or else a new one is
 *    created.
 * 4. `recordWritten`, after the answer. If the Event to be patched no longer exists: `forgetWritten`, and a new one is
 *    created.
 */
export class EventCorrelator {
  readonly #limits: EventLimits;
  readonly #subjects = new Map<string, Subject>();

  constructor(limits: EventLimits = eventLimits) {
    this.#limits = limits;
  }

  correlate({ about, severity, reason, message }: EventAction, now: Instant): Correlation {
    const { similar, similarWindow, perObject } = this.#limits;
    const { kinds } = this.#subject(about.uid, now);
    const name = `${severity} ${reason}`;
    const before = kinds.get(name);
    const isOver = before === undefined || elapsed(before.last, now) > similarWindow;
    const { messages } = isOver ? { messages: new Set<string>() } : before;
    remember(kinds, name, { last: now, messages }, perObject);
    if (messages.size < similar - 1) messages.add(message);
    const prefix = `${about.uid} ${name}`;
    if (messages.has(message)) return { message, key: `${prefix} ${message}` };
    return { message: `(combined from similar events): ${message}`, key: `${prefix} *` };
  }

  /** Takes a token of the object's allowance; false if there is none. */
  admits({ about }: EventAction, now: Instant): boolean {
    const { burst, refill } = this.#limits;
    const subject = this.#subject(about.uid, now);
    const [granted, rest] = take(subject.bucket, { perSecond: 1000 / refill, burst }, now);
    subject.bucket = rest;
    return granted;
  }

  lastWritten({ about }: EventAction, key: string): WrittenEvent | undefined {
    return this.#subjects.get(about.uid)?.written.get(key);
  }

  recordWritten({ about }: EventAction, key: string, written: WrittenEvent, now: Instant): void {
    remember(this.#subject(about.uid, now).written, key, written, this.#limits.perObject);
  }

  forgetWritten({ about }: EventAction, key: string): void {
    this.#subjects.get(about.uid)?.written.delete(key);
  }

  #subject(uid: string, now: Instant): Subject {
    const subject = this.#subjects.get(uid) ?? {
      bucket: fullBucket(now, this.#limits.burst),
      written: new Map(),
      kinds: new Map(),
    };
    remember(this.#subjects, uid, subject, this.#limits.objects);
    return subject;
  }
}

/** Makes this entry the newest; beyond `most` the least recently used one is dropped. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
