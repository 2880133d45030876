import type { Instant } from "../base/clock.ts";
import { elapsed, type Millis } from "../base/clock.ts";
import { fullBucket, type TokenBucket, take } from "../base/token-bucket.ts";
import type { EventAction } from "./actions.ts";

export interface EventLimits {
  /** Number of Events that an object may cause in a burst; after that, one per `refill`. */
  readonly burst: number;
  readonly refill: Millis;
  /** From this many on, Events within `similarWindow` that differ only in their message are combined into one. */
  readonly similar: number;
  readonly similarWindow: Millis;
  /** Maximum number of objects remembered. */
  readonly objects: number;
  readonly messagesPerObject: number;
}

/** The limits of client-go, except that fewer objects and messages are remembered. */
const eventLimits: EventLimits = {
  burst: 25,
  refill: 300_000,
  similar: 10,
  similarWindow: 600_000,
  objects: 256,
  messagesPerObject: 16,
};

/** An Event that was written to the API server. */
export interface WrittenEvent {
  readonly name: string;
  readonly count: number;
}

interface Subject {
  bucket: TokenBucket;
  readonly written: Map<string, WrittenEvent>;
  /** The distinct messages for each severity and reason, and the start of their collection. */
  readonly reasons: Map<string, { since: Instant; readonly messages: Set<string> }>;
}

/** Finds Events that repeat or exceed a limit. Remembers only the objects with the most recent Events. */
export class EventCorrelator {
  readonly #limits: EventLimits;
  readonly #subjects = new Map<string, Subject>();

  constructor(limits: EventLimits = eventLimits) {
    this.#limits = limits;
  }

  /** The message to write: the Event's own, or a combined one once there are many similar Events. */
  messageOf({ about, severity, reason, message }: EventAction, now: Instant): string {
    const { similar, similarWindow, messagesPerObject } = this.#limits;
    const { reasons } = this.#subject(about.uid, now);
    const kind = `${severity} ${reason}`;
    let seen = reasons.get(kind);
    if (!seen || elapsed(seen.since, now) > similarWindow) seen = { since: now, messages: new Set() };
    remember(reasons, kind, seen, messagesPerObject);
    if (seen.messages.size < similar) seen.messages.add(message);
    return seen.messages.size < similar ? message : `(combined from similar events): ${message}`;
  }

  /** Takes a token of the object's allowance; false if there is none. */
  admits({ about }: EventAction, now: Instant): boolean {
    const { burst, refill } = this.#limits;
    const subject = this.#subject(about.uid, now);
    const [granted, rest] = take(subject.bucket, { perSecond: 1000 / refill, burst }, now);
    subject.bucket = rest;
    return granted;
  }

  written(uid: string, text: string): WrittenEvent | undefined {
    return this.#subjects.get(uid)?.written.get(text);
  }

  wrote(uid: string, text: string, event: WrittenEvent, now: Instant): void {
    remember(this.#subject(uid, now).written, text, event, this.#limits.messagesPerObject);
  }

  lost(uid: string, text: string): void {
    this.#subjects.get(uid)?.written.delete(text);
  }

  #subject(uid: string, now: Instant): Subject {
    const subject = this.#subjects.get(uid) ?? {
      bucket: fullBucket(now, this.#limits.burst),
      written: new Map(),
      reasons: new Map(),
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
