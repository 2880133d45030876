import { type Instant, type Millis, shifted } from "../../../../agent/base/clock.ts";
import { fullBucket } from "../../../../agent/base/token-bucket.ts";
import {
  addAll,
  dequeue,
  type EvictionQueue,
  firstEligible,
  levelAt,
  type QueuedBoard,
  removeAll,
  requeue,
  takeTurn,
  withRate,
} from "../../../../agent/controllers/node-lifecycle/zones/eviction-queue.ts";
import { MalformedCase } from "../../malformed.ts";
import type { Event, TurnResult } from "./forms.ts";

const anyone = (): boolean => true;

/** Upstream adds a nanosecond to the wait, so that a board whose turn failed is not due at the same instant. */
const nanosecond: Millis = 1e-6;

/** A case with more turns than this would never end: a turn takes longer than its board has to wait. */
const mostTurns = 10_000;

export const at = (mono: Millis): Instant => ({ mono, wall: mono });

interface Tried {
  readonly atMs: Millis;
  readonly name: string;
  readonly done: boolean;
  readonly addedAtMs: Millis;
  readonly processAtMs: Millis;
}

/** The queue of one zone, and the operations on it. */
export class QueueStory {
  readonly tried: Tried[] = [];
  #queue: EvictionQueue;
  /** The limiter of tests: a full bucket before every turn. */
  #always: boolean;

  constructor(queue: EvictionQueue, always: boolean) {
    this.#queue = queue;
    this.#always = always;
  }

  get handled(): readonly string[] {
    return this.tried.filter(({ done }) => done).map(({ name }) => name);
  }

  /** Whether the queue is another one afterwards. */
  happen(event: Event, now: Instant): boolean {
    const before = this.#queue;
    switch (event.do) {
      case "add":
        this.#queue = addAll(before, namesOf(event), now);
        break;
      case "remove":
        this.#queue = removeAll(before, namesOf(event));
        break;
      case "removeFromQueue":
        this.#queue = dequeue(before, event.name);
        break;
      case "replace":
        this.#queue = requeue(before, event.name, at(event.processAtMs));
        break;
      case "clear":
        this.#queue = removeAll(before, [...before.seen]);
        break;
      case "swapLimiter":
        this.#swap(event.qps, now);
        break;
      case "try":
        this.#try(event.results ?? new Map(), now);
        break;
      case "look":
        break;
      default:
        event satisfies never;
    }
    return this.#queue !== before;
  }

  state(now: Instant): object {
    const order: string[] = [];
    let rest = this.#queue;
    for (let entry = firstEligible(rest, anyone); entry; entry = firstEligible(rest, anyone)) {
      order.push(entry.name);
      rest = dequeue(rest, entry.name);
    }
    return { order, seen: [...this.#queue.seen].sort(), limiter: this.#limiter(now) };
  }

  #limiter(now: Instant): object {
    const { rate } = this.#queue;
    if (this.#always) return { kind: "always" };
    if (rate === 0) return { kind: "never", qps: 0 };
    return { kind: "bucket", qps: rate, tokens: Math.round(levelAt(this.#queue, now) * 1e6) / 1e6 };
  }

  #swap(qps: number, now: Instant): void {
    this.#refill(now);
    this.#queue = withRate(this.#queue, qps, now);
    this.#always = false;
  }

  #refill(now: Instant): void {
    if (this.#always) this.#queue = { ...this.#queue, bucket: fullBucket(now, 1) };
  }

  /** As many turns as there are tokens, until the head is not due. */
  #try(results: ReadonlyMap<string, TurnResult | readonly TurnResult[]>, begin: Instant): void {
    const turns = new Map<string, number>();
    let now = begin;
    for (;;) {
      this.#refill(now);
      const { queue, entry } = takeTurn(this.#queue, anyone, now);
      this.#queue = queue;
      if (entry === undefined) return;
      const turnsBefore = turns.get(entry.name) ?? 0;
      turns.set(entry.name, turnsBefore + 1);
      now = this.#turn(entry, resultOf(results.get(entry.name), turnsBefore), now);
    }
  }

  /** Returns the instant at which the turn ends. */
  #turn(entry: QueuedBoard, result: TurnResult, now: Instant): Instant {
    const { name, addedAt, due } = entry;
    const { done: isDone = true, waitMs = 0, takesMs = 0, remove = [], add = [] } = result;
    this.tried.push({ atMs: now.mono, name, done: isDone, addedAtMs: addedAt.mono, processAtMs: due.mono });
    if (this.tried.length > mostTurns) throw new MalformedCase([`the turns of ${name} never come to an end`]);
    const after = shifted(now, takesMs);
    this.#queue = addAll(removeAll(this.#queue, remove), add, after);
    this.#queue = isDone ? dequeue(this.#queue, name) : requeue(this.#queue, name, shifted(now, waitMs + nanosecond));
    return after;
  }
}

function resultOf(results: TurnResult | readonly TurnResult[] | undefined, turnsBefore: number): TurnResult {
  const many = isList(results) ? results : results === undefined ? [] : [results];
  return many[Math.min(turnsBefore, many.length - 1)] ?? {};
}

const isList = <T>(value: T | readonly T[] | undefined): value is readonly T[] => Array.isArray(value);

const namesOf = ({ name, names = [] }: { readonly name?: string; readonly names?: readonly string[] }) =>
  name === undefined ? names : [name, ...names];
