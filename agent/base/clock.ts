export type Millis = number;

/**
 * A moment, on two clocks that are never mixed. `mono` is for measuring: milliseconds of this machine's monotonic
 * clock, comparable only within one boot. `wall` is for display: milliseconds since 1970 by this machine's clock, which
 * is wrong by decades on a board without a battery clock. Rules decide by `wall` only if they are given a date: for
 * quiet hours, the expiry of commands, keys and certificates, and the creation times that kube-controller-manager
 * compares with its clock.
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

export const isAfter = (a: Instant, b: Instant): boolean => a.mono > b.mono;

/** The later of two instants; undefined counts as earlier than any instant. */
export function laterOf(a: Instant, b: Instant | undefined): Instant;
export function laterOf(a: Instant | undefined, b: Instant | undefined): Instant | undefined;
export function laterOf(a: Instant | undefined, b: Instant | undefined): Instant | undefined {
  return a === undefined || (b !== undefined && isAfter(b, a)) ? b : a;
}

/** The earlier of two instants; undefined counts as later than any instant. */
export function earlierOf(a: Instant, b: Instant | undefined): Instant;
export function earlierOf(a: Instant | undefined, b: Instant | undefined): Instant | undefined;
export function earlierOf(a: Instant | undefined, b: Instant | undefined): Instant | undefined {
  return a === undefined || (b !== undefined && isAfter(a, b)) ? b : a;
}

/** The instant `delay` milliseconds later, or earlier if `delay` is negative. */
export const shifted = (instant: Instant, delay: Millis): Instant => ({
  mono: instant.mono + delay,
  wall: instant.wall + delay,
});

/** CLOCK_MONOTONIC: shared by all processes of one boot, so that instants stored before a restart can be compared. */
function monotonic(): Millis {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/**
 * The longest delay for `setTimeout`, in milliseconds: with a longer one, it fires immediately, so longer timers are
 * set in several parts.
 */
const maxTimeout = 2 ** 31 - 1;

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
        Math.min(Math.max(0, rest), maxTimeout),
      );
    };
    arm(delay);
    return { cancel: () => clearTimeout(handle) };
  }
}

/** Resolves after `delay`, or as soon as the signal aborts; never rejects. Callers check the signal themselves. */
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

/** A signal that aborts with `reason` after `delay`, or together with the parent. Call `dispose` when done with it. */
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

/** Lets other work that is ready on the event loop run first. Adds no delay. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
