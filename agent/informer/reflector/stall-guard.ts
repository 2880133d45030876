import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../../base/clock.ts";
import { IdleTimer } from "../../client/transport/idle-timer.ts";

/** Ends a stream that has been silent for too long. The time runs from the first `touch`. */
export interface StallGuard {
  /** Aborts with the parent signal, with a `StalledError`, or by `abort`. */
  readonly signal: AbortSignal;
  /** Call when the stream has been opened, or an event has arrived. */
  touch(): void;
  /** Call when part of an event has arrived. Over a slow link, a large event takes longer than the limit. */
  arrived(bytes: number): void;
  /** Ends the stream for another reason. */
  abort(reason: unknown): void;
  dispose(): void;
}

export interface StallGuardOptions {
  /** A stream that is silent for this long is ended. */
  readonly limit: Millis;
  readonly parent: AbortSignal;
  /** The stream, for messages. */
  readonly what: string;
  /**
   * Checks whether a stream that has delivered nothing since it was opened may be silent. If so, the limit starts
   * again, once.
   */
  readonly ask: (signal: AbortSignal) => Promise<boolean>;
}

/** A stream was silent for too long. Its connection may be half-open, which goes unnoticed while nothing is written. */
export class StalledError extends Error {
  override readonly name: string = "StalledError";
  readonly disposition = "retry";
}

/** A stream stalled within an event, so the next stream that begins at the same position may stall too. */
export class IncompleteEventError extends StalledError {
  override readonly name = "IncompleteEventError";
  readonly hint =
    "The link may be too slow for a large object. If this happens twice, the agent lists the resource, because lists are compressed.";
}

/**
 * The part of the limit after which `ask` is called. With the default limit of 90 s that is 75 s, so that a regular
 * bookmark, which arrives within 65 s, makes the request unnecessary, and 15 s are left for the response.
 */
const askAfter = 5 / 6;

/**
 * Receiving this many bytes within the limit keeps a stream open; at a lower rate, an event would never arrive
 * completely.
 */
const minProgress = 16 * 1024;
/**
 * An event that takes longer than this many limits ends the stream. With the default of 90 s that is 15 min, in which 8
 * MB, the longest event, arrive at 75 kbit/s.
 */
const maxEventLimits = 10;

export function guardAgainstStall(clock: Clock, { limit, parent, what, ask }: StallGuardOptions): StallGuard {
  const controller = new AbortController();
  const asking = new AbortController();
  const follow = (): void => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  /** The event that is arriving. `unsettled`: the bytes since the limit last restarted. */
  let partial: { readonly began: Instant; bytes: number; unsettled: number } | undefined;
  const timer = new IdleTimer(clock, limit, () => controller.abort(stalled()));
  const stalled = (): StalledError => {
    if (partial === undefined) return new StalledError(`${what}: received nothing for ${Math.round(limit / 1000)} s`);
    const [seconds, kilobytes] = [elapsed(partial.began, clock.now()) / 1000, partial.bytes / 1000].map(Math.round);
    return new IncompleteEventError(`${what}: an event is incomplete after ${seconds} s and ${kilobytes} kB`);
  };
  const question = async (): Promise<void> => {
    const signal = AbortSignal.any([controller.signal, asking.signal]);
    try {
      if (await ask(signal)) timer.touch();
    } catch {
      // Without a response, the stream is ended at the limit.
    }
  };
  let asked: Timer | undefined;
  return {
    signal: controller.signal,
    touch: () => {
      partial = undefined;
      if (asked === undefined) asked = clock.after(limit * askAfter, () => void question());
      else asked.cancel();
      timer.start();
      timer.touch();
    },
    arrived: (bytes) => {
      // The resource is not idle, so there is nothing to ask.
      asked?.cancel();
      partial ??= { began: clock.now(), bytes: 0, unsettled: 0 };
      partial.bytes += bytes;
      partial.unsettled += bytes;
      if (partial.unsettled < minProgress || elapsed(partial.began, clock.now()) >= maxEventLimits * limit) return;
      partial.unsettled = 0;
      timer.touch();
    },
    abort: (reason) => controller.abort(reason),
    dispose: () => {
      timer.stop();
      asked?.cancel();
      asking.abort();
      parent.removeEventListener("abort", follow);
    },
  };
}
