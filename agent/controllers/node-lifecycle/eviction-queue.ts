import type { Instant } from "../../base/clock.ts";
import { nextToken, type TokenBucket, take } from "../../base/token-bucket.ts";

/** A board waiting for its NoExecute taint. */
export interface Waiting {
  readonly name: string;
  readonly addedAt: Instant;
  readonly due: Instant;
}

/**
 * The boards of one zone that are to be tainted, at a limited rate: Kubernetes' RateLimitedTimedQueue as a value. Every
 * function returns the new queue, or the same one if nothing changed.
 */
export interface EvictionQueue {
  /** In order of arrival. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Boards added so far. They are not added again, not even after their turn, until they are removed. */
  readonly seen: ReadonlySet<string>;
  /** Boards per second. 0: only the tokens left in the bucket are used. */
  readonly rate: number;
  readonly bucket: TokenBucket;
}

export const newQueue = (rate: number, bucket: TokenBucket): EvictionQueue => ({
  waiting: new Map(),
  seen: new Set(),
  rate,
  bucket,
});

/** Takes a list because every change copies the queue: one copy per pass. */
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

/** Moves those of them that wait ahead of all others. */
export function putFirst(queue: EvictionQueue, names: readonly string[]): EvictionQueue {
  const due = head(queue, () => true)?.due;
  const entries = names.flatMap((name) => queue.waiting.get(name) ?? []);
  if (due === undefined || entries.length === 0) return queue;
  const ahead = new Map(entries.map((entry) => [entry.name, { ...entry, due }]));
  const behind = [...queue.waiting].filter(([name]) => !ahead.has(name));
  return { ...queue, waiting: new Map([...ahead, ...behind]) };
}

/** Ends a board's turn; it stays in `seen`. */
export function done(queue: EvictionQueue, name: string): EvictionQueue {
  if (!queue.waiting.has(name)) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting };
}

/**
 * After a failed turn: the board may go again at `due`, behind those that are due earlier. A removed board stays
 * removed.
 */
export function again(queue: EvictionQueue, name: string, due: Instant): EvictionQueue {
  const entry = queue.waiting.get(name);
  if (!entry) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting: waiting.set(name, { ...entry, due }) };
}

/** The first board that may have a turn: earliest `due`, then order of arrival. */
export function head(queue: EvictionQueue, may: (name: string) => boolean): Waiting | undefined {
  let first: Waiting | undefined;
  for (const entry of queue.waiting.values()) {
    if (may(entry.name) && (first === undefined || entry.due.mono < first.due.mono)) first = entry;
  }
  return first;
}

export interface Turn {
  readonly queue: EvictionQueue;
  /** The board whose turn it is. It stays in `waiting` until `done` or `again` is called for it. */
  readonly entry: Waiting | undefined;
}

/**
 * Gives the first board a turn if the bucket has a token. As in Kubernetes, the token is taken before checking whether
 * the head is due, and is lost if the turn fails.
 */
export function turn(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Turn {
  const entry = head(queue, may);
  if (entry === undefined) return { queue, entry: undefined };
  const [granted, bucket] = take(queue.bucket, queue.rate, now);
  return { queue: { ...queue, bucket }, entry: granted && entry.due.mono <= now.mono ? entry : undefined };
}

/** When the next turn is due. `undefined`: no board waits, or no token will ever come. */
export function nextTurnAt(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Instant | undefined {
  const entry = head(queue, may);
  if (entry === undefined) return undefined;
  const token = nextToken(queue.bucket, queue.rate, now);
  return token !== undefined && token.mono < entry.due.mono ? entry.due : token;
}

/**
 * Changes the rate. The new bucket is full only if the old one has a token now, so that a change of state never grants
 * an extra one. A stopped queue has no token, and resumes without one. Kubernetes differs: a stopped queue there
 * reports a rate of 1, and so never resumes if its new rate is 1.
 */
export function withRate(queue: EvictionQueue, rate: number, now: Instant): EvictionQueue {
  if (rate === queue.rate) return queue;
  const [granted] = queue.rate > 0 ? take(queue.bucket, queue.rate, now) : [false];
  return { ...queue, rate: Math.max(0, rate), bucket: { level: granted && rate > 0 ? 1 : 0, at: now } };
}
