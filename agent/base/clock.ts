export type Millis = number;

/**
 * A moment. `mono` measures: milliseconds of this machine's monotonic clock, for one boot, meaningless elsewhere.
 * `wall` is for showing: milliseconds since 1970 as this machine believes, wrong by decades on a board without a
 * battery clock. The two never mix, and nothing is decided by `wall`.
 */
export interface Instant {
  readonly mono: Millis;
  readonly wall: Millis;
}

export interface Timer {
  cancel(): void;
}

export interface Clock {
  now(): Instant;
  /** Calls `run` once, no earlier than after `delay` milliseconds of monotonic time. Any finite delay is allowed. */
  after(delay: Millis, run: () => void): Timer;
}

export const elapsed = (from: Instant, to: Instant): Millis => to.mono - from.mono;

/** The instant `delay` after (or, if negative, before) another. */
export const shifted = (instant: Instant, delay: Millis): Instant => ({
  mono: instant.mono + delay,
  wall: instant.wall + delay,
});

/** CLOCK_MONOTONIC: shared by all processes of one boot, so that instants stored before a restart can be compared. */
function monotonic(): Millis {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** In milliseconds. `setTimeout` fires at once beyond this, so longer timers are armed again. */
const longestTimeout = 2 ** 31 - 1;

export class SystemClock implements Clock {
  now(): Instant {
    return { mono: monotonic(), wall: Date.now() };
  }

  after(delay: Millis, run: () => void): Timer {
    const due = monotonic() + delay;
    let handle: NodeJS.Timeout;
    const arm = (rest: Millis): void => {
      handle = setTimeout(
        () => {
          const left = due - monotonic();
          if (left > 0) arm(left);
          else run();
        },
        Math.min(Math.max(0, rest), longestTimeout),
      );
    };
    arm(delay);
    return { cancel: () => clearTimeout(handle) };
  }
}

/** Waits. Ends early, without an error, when the signal aborts: loops check the signal, not why they woke up. */
export function sleep(clock: Clock, delay: Millis, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(delay, done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** A signal that aborts with `reason` after `delay`, or with the parent. `dispose` frees its timer. */
export function deadline(
  clock: Clock,
  delay: Millis,
  parent: AbortSignal,
  reason: () => Error,
): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const follow = (): void => controller.abort(parent.reason);
  const timer = clock.after(delay, () => controller.abort(reason()));
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    dispose: () => {
      timer.cancel();
      parent.removeEventListener("abort", follow);
    },
  };
}

/** Yields one turn of the event loop to everything else that is due, without a delay. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
