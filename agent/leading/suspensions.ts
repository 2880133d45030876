import { type Clock, elapsed, type Instant, isAfter, type Millis, shifted, sleep } from "../base/clock.ts";

/**
 * The known suspensions: times in which this process did not run, because it was stopped or blocked, or its machine was
 * frozen.
 */
export interface Suspended {
  /** When the process last ran before the latest suspension; undefined if there was none. */
  readonly from: Instant | undefined;
  /**
   * The estimated time by which the process has received what arrived during that suspension; undefined if there was
   * none.
   */
  readonly settledAt: Instant | undefined;
  /** When the latest suspension longer than a blip ended; undefined if there was none. */
  readonly restoredAt: Instant | undefined;
}

export const neverSuspended: Suspended = { from: undefined, settledAt: undefined, restoredAt: undefined };

/** Interval at which the process checks whether it was suspended. */
const interval: Millis = 500;
/** How late such a check may be without counting as a suspension. */
const lateness: Millis = 500;
/** A process that has not been suspended for this long counts as recovered. */
const steadyAfter: Millis = 30_000;
/** How long a process must have been suspended again and again before that is reported. */
const reportedAfter: Millis = 60_000;
/** A process that is suspended again so soon after it has settled hardly judges boards in between: a pass runs every 5 s. */
const hardlyRuns: Millis = 3000;
/** Minimum time after a suspension before all sockets are assumed to have been read. */
const minSettling: Millis = 2000;

/**
 * Notices that the process was suspended. When it continues, its overdue timers run before its sockets are read. So a
 * suspension is noticed by the first caller that asks, not only by a timer. A machine that was frozen receives what it
 * missed only when the other side sends it again, which may be as long after the suspension as the suspension lasted.
 */
export class Suspensions {
  readonly #clock: Clock;
  readonly #blip: Millis;
  /** When the process last ran; undefined while `run` does not watch it. */
  #ranAt: Instant | undefined;
  #suspended = neverSuspended;
  readonly #stutter = new SuspensionSeries();
  readonly #standstill = new SuspensionSeries();

  /** `blip`: the longest interruption that is not an outage. */
  constructor(clock: Clock, blip: Millis) {
    this.#clock = clock;
    this.#blip = blip;
  }

  get now(): Suspended {
    if (this.#ranAt !== undefined) this.#runs(this.#ranAt, this.#clock.now());
    return this.#suspended;
  }

  /**
   * Since when the process has been suspended again and again, for a minute at least; undefined if it has not. Until it
   * has run for a few seconds after each of these times, it judges no board.
   */
  stutteringSince(now: Instant): Instant | undefined {
    const series = this.#stutter.at(now);
    return series && elapsed(series.since, series.last) >= reportedAfter ? series.since : undefined;
  }

  /**
   * Since when the process has been suspended so often that it has hardly judged any board; undefined if it runs long
   * enough at a time.
   */
  unableSince(now: Instant): Instant | undefined {
    return this.#standstill.at(now)?.since;
  }

  /** Watches the process until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const now = this.#clock.now();
        this.#runs(this.#ranAt ?? now, now);
        await sleep(this.#clock, interval, signal);
      }
    } finally {
      this.#ranAt = undefined;
      this.#stutter.end();
      this.#standstill.end();
    }
  }

  #runs(before: Instant, now: Instant): void {
    this.#ranAt = now;
    const length = elapsed(before, now) - interval;
    if (length <= lateness) return;
    const settledAt = shifted(now, Math.max(minSettling, Math.min(length, this.#blip)));
    this.#stutter.add(before, now, shifted(now, steadyAfter));
    this.#standstill.add(before, now, shifted(settledAt, hardlyRuns));
    this.#suspended = {
      from: before,
      settledAt,
      restoredAt: length > this.#blip ? now : this.#suspended.restoredAt,
    };
  }
}

/** Suspensions that follow one another closely. */
class SuspensionSeries {
  /** When the first and the last of them ended, and when the series is over unless another one follows. */
  #ends: { readonly since: Instant; readonly last: Instant; readonly over: Instant } | undefined;

  add(from: Instant, to: Instant, over: Instant): void {
    this.#ends = { since: this.at(from)?.since ?? to, last: to, over };
  }

  at(now: Instant): { readonly since: Instant; readonly last: Instant } | undefined {
    return this.#ends && isAfter(this.#ends.over, now) ? this.#ends : undefined;
  }

  end(): void {
    this.#ends = undefined;
  }
}
