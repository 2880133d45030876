import type { Instant } from "../../../base/clock.ts";
import { nextToken, type Rate, refill, type TokenBucket, take } from "../../../base/token-bucket.ts";

/** A board waiting for its NoExecute taint. */
export interface QueuedBoard {
  readonly name: string;
  readonly addedAt: Instant;
  /** The earliest time at which the board may have its turn. */
  readonly due: Instant;
}

/**
 * The boards of one zone that are to be tainted, at a limited rate: Kubernetes' RateLimitedTimedQueue as a value. Every
 * function returns the new queue, or the same one if nothing changed.
 */
export interface EvictionQueue {
  /** The waiting boards, in the order in which they are served. */
  readonly waiting: ReadonlyMap<string, QueuedBoard>;
  /** Boards added so far. Until a board is removed it cannot be added again, not even after its turn. */
  readonly seen: ReadonlySet<string>;
  /** Boards per second. 0 means that only the tokens left in the bucket are used. */
  readonly rate: number;
  readonly bucket: TokenBucket;
}

export const newQueue = (rate: number, bucket: TokenBucket): EvictionQueue => ({
  waiting: new Map(),
  seen: new Set(),
  rate,
  bucket,
});

/** The rate of the bucket. With a burst of 1, at most one board has its turn at any time. */
const rateOf = ({ rate }: EvictionQueue): Rate => ({ perSecond: rate, burst: 1 });

/** The level of the bucket, between 0 and 1. */
export const levelAt = (queue: EvictionQueue, now: Instant): number => refill(queue.bucket, rateOf(queue), now).level;

/** Adds boards at the end. Takes a list, because every change copies the queue. */
export function addAll(queue: EvictionQueue, names: readonly string[], now: Instant): EvictionQueue {
  const fresh = names.filter((name) => !queue.seen.has(name));
  if (fresh.length === 0) return queue;
  const waiting = new Map(queue.waiting);
  for (const name of fresh) if (!waiting.has(name)) waiting.set(name, { name, addedAt: now, due: now });
  return { ...queue, waiting, seen: new Set([...queue.seen, ...fresh]) };
}

export function removeAll(queue: EvictionQueue, names: readonly string[]): EvictionQueue {
  const present = names.filter((name) => queue.seen.has(name));
  if (present.length === 0) return queue;
  const waiting = new Map(queue.waiting);
  const seen = new Set(queue.seen);
  for (const name of present) {
    waiting.delete(name);
    seen.delete(name);
  }
  return { ...queue, waiting, seen };
}

/** Moves those of `names` that are queued to the front of the queue. */
export function putFirst(queue: EvictionQueue, names: readonly string[]): EvictionQueue {
  const due = firstEligible(queue, () => true)?.due;
  const entries = names.flatMap((name) => queue.waiting.get(name) ?? []);
  if (due === undefined || entries.length === 0) return queue;
  const ahead = new Map(entries.map((entry) => [entry.name, { ...entry, due }]));
  const behind = [...queue.waiting].filter(([name]) => !ahead.has(name));
  return { ...queue, waiting: new Map([...ahead, ...behind]) };
}

/** Ends a board's turn; the board remains in `seen`. */
export function dequeue(queue: EvictionQueue, name: string): EvictionQueue {
  if (!queue.waiting.has(name)) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting };
}

/**
 * Queues a board again after a failed turn: its next turn comes no earlier than `due`, after boards that are due before
 * then. A board that has been removed since then remains removed.
 */
export function requeue(queue: EvictionQueue, name: string, due: Instant): EvictionQueue {
  const entry = queue.waiting.get(name);
  if (!entry) return queue;
  const waiting = new Map(queue.waiting);
  waiting.delete(name);
  return { ...queue, waiting: waiting.set(name, { ...entry, due }) };
}

/** The first board that may have a turn: the one with the earliest `due` or, among equals, the first to arrive. */
export function firstEligible(queue: EvictionQueue, may: (name: string) => boolean): QueuedBoard | undefined {
  let first: QueuedBoard | undefined;
  for (const entry of queue.waiting.values()) {
    if (may(entry.name) && (first === undefined || entry.due.mono < first.due.mono)) first = entry;
  }
  return first;
}

export interface Turn {
  readonly queue: EvictionQueue;
  /** The board whose turn it is. It stays in `waiting` until `dequeue` or `requeue` is called for it. */
  readonly entry: QueuedBoard | undefined;
}

/**
 * Gives the first board a turn if the bucket has a token. As in Kubernetes, the token is taken before checking whether
 * the head is due, and is lost if the turn fails.
 */
export function takeTurn(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Turn {
  const entry = firstEligible(queue, may);
  if (entry === undefined) return { queue, entry: undefined };
  const [granted, bucket] = take(queue.bucket, rateOf(queue), now);
  return { queue: { ...queue, bucket }, entry: granted && entry.due.mono <= now.mono ? entry : undefined };
}

/** When the next turn is due. undefined if no board is waiting, or no token will ever be added. */
export function nextTurnAt(queue: EvictionQueue, may: (name: string) => boolean, now: Instant): Instant | undefined {
  const entry = firstEligible(queue, may);
  if (entry === undefined) return undefined;
  const token = nextToken(queue.bucket, rateOf(queue), now);
  return token !== undefined && token.mono < entry.due.mono ? entry.due : token;
}

/**
 * Changes the rate. The new bucket is full only if the old one has a token now, so that a change never grants an extra
 * token. A stopped queue resumes without a token. In kube-controller-manager a stopped queue reports a rate of 1, and
 * so never resumes if its new rate is 1.
 */
export function withRate(queue: EvictionQueue, rate: number, now: Instant): EvictionQueue {
  if (rate === queue.rate) return queue;
  const [granted] = queue.rate > 0 ? take(queue.bucket, rateOf(queue), now) : [false];
  return { ...queue, rate: Math.max(0, rate), bucket: { level: granted && rate > 0 ? 1 : 0, at: now } };
}
