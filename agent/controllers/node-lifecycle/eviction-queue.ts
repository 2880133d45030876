import type { Instant } from "../../base/clock.ts";
import { nextToken, type TokenBucket, take } from "../../base/token-bucket.ts";

/** A board that waits for its NoExecute taint. */
export interface Waiting {
  readonly name: string;
  readonly addedAt: Instant;
  readonly due: Instant;
}

/**
 * The boards of one zone that shall be tainted, at a limited rate: the RateLimitedTimedQueue of Kubernetes as a value.
 * Every function answers the queue as it is afterwards, the same one where nothing changed.
 */
export interface EvictionQueue {
  /** In the order in which they came. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Boards once added are not added again, also when their turn is over, until they are removed. */
  readonly seen: ReadonlySet<string>;
  /** Boards per second. 0: none but those that the allowance still has a token for. */
  readonly rate: number;
  readonly bucket: TokenBucket;
}

export const newQueue = (rate: number, bucket: TokenBucket): EvictionQueue => ({
  waiting: new Map(),
  seen: new Set(),
  rate,
  bucket,
});

/** Takes a list, because each change copies: one per pass. */
export function addAll(queue: EvictionQueue, names: readonly string[], now: Instant): EvictionQueue {
  const fresh = names.filter((name) => !queue.seen.has(name));
  if (fresh.length === 0) return queue;
  const waiting = new Map(queue.waiting);
  for (const name of fresh) if (!waiting.has(name)) waiting.set(name, { name, addedAt: now, due: now });
  return { ...queue, waiting, seen: new Set([...queue.seen, ...fresh]) };
}

export function removeAll(queue: EvictionQueue, names: readonly string[]): EvictionQueue {
  const known = names.filter((name) => queue.seen.has(name));
  if (known.length === 0) return queue;
  const waiting = new Map(queue.waiting);
  const seen = new Set(queue.seen);
  for (const name of known) {
    waiting.delete(name);
    seen.delete(name);
  }
  return { ...queue, waiting, seen };
}

/** Those of them that wait go before all others from now on. */
export function putFirst(queue: EvictionQueue, names: readonly string[]): EvictionQueue {
  const due = head(queue, () => true)?.due;
  const entries = names.flatMap((name) => queue.waiting.get(name) ?? []);
  if (due === undefined || entries.length === 0) return queue;
  const ahead = new Map(entries.map((entry) => [entry.name, { ...entry, due }]));
  const behind = [...queue.waiting].filter(([name]) => !ahead.has(name));
  return { ...queue, waiting: new Map([...ahead, ...behind]) };
}

/** Its turn is over. It stays seen. */
export function done(queue: EvictionQueue, name: string): EvictionQueue {
  if (!queue.waiting.has(name)) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting };
}

/** Its turn failed: it may go again at `due`, behind those that are due earlier. One that was removed stays removed. */
export function again(queue: EvictionQueue, name: string, due: Instant): EvictionQueue {
  const entry = queue.waiting.get(name);
  if (!entry) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting: waiting.set(name, { ...entry, due }) };
}

/** The first of those that may have a turn; among equals the one that came first. */
export function head(queue: EvictionQueue, may: (name: string) => boolean): Waiting | undefined {
  let first: Waiting | undefined;
  for (const entry of queue.waiting.values()) {
    if (may(entry.name) && (first === undefined || entry.due.mono < first.due.mono)) first = entry;
  }
  return first;
}

export interface Turn {
  readonly queue: EvictionQueue;
  /** Whose turn it is. It keeps waiting until `done` or `again` says what became of it. */
  readonly entry: Waiting | undefined;
}

/**
 * A turn for the first board, if the zone's allowance has a token. As in Kubernetes the token is taken before anybody
 * asks whether the head is due, and is gone also when its turn fails.
 */
export function turn(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Turn {
  const entry = head(queue, may);
  if (entry === undefined) return { queue, entry: undefined };
  const [granted, bucket] = take(queue.bucket, queue.rate, now);
  return { queue: { ...queue, bucket }, entry: granted && entry.due.mono <= now.mono ? entry : undefined };
}

/** When the next turn is due; `undefined`: nobody waits, or no token will ever come. */
export function nextTurnAt(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Instant | undefined {
  const entry = head(queue, may);
  if (entry === undefined) return undefined;
  const token = nextToken(queue.bucket, queue.rate, now);
  return token !== undefined && token.mono < entry.due.mono ? entry.due : token;
}

/**
 * Another rate. The new allowance is full only if the old one had a token just now, so that no change of state gives
 * one away. A queue that stands still has none, nor when it goes on: unlike in Kubernetes, where such a queue reports a
 * rate of 1 and never resumes when 1 is the rate it should resume with.
 */
export function withRate(queue: EvictionQueue, rate: number, now: Instant): EvictionQueue {
  if (rate === queue.rate) return queue;
  const [granted] = queue.rate > 0 ? take(queue.bucket, queue.rate, now) : [false];
  return { ...queue, rate: Math.max(0, rate), bucket: { level: granted && rate > 0 ? 1 : 0, at: now } };
}
