import { type Clock, elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";

/** What is known about times in which this process did not run: it was stopped, its machine was frozen, or it was blocked. */
export interface Suspended {
  /** When it last ran before the last of these times; undefined if there was none. */
  readonly from: Instant | undefined;
  /** When it has received what arrived in the meantime, as far as that can be known. */
  readonly settledAt: Instant | undefined;
  /** When the last one ended that was longer than a blip; undefined if there was none. */
  readonly restoredAt: Instant | undefined;
}

export const neverSuspended: Suspended = { from: undefined, settledAt: undefined, restoredAt: undefined };

/** Interval at which the process shows that it runs. */
const interval: Millis = 500;
/** How late that may be without meaning anything. */
const lateness: Millis = 500;
/** How long it takes at least until the sockets have been read after a suspension. */
const minSettling: Millis = 2000;

/**
 * Notices that the process was suspended. When it continues, its overdue timers run before its sockets are read, and a
 * machine that was frozen receives what it missed only when the other side sends it again, up to as long after the
 * suspension as that lasted. A suspension is therefore noticed by the first caller that asks, not only by a timer.
 */
export class Suspensions {
  readonly #clock: Clock;
  readonly #blip: Millis;
  /** When the process last ran; undefined while `run` does not watch it. */
  #ranAt: Instant | undefined;
  #suspended = neverSuspended;

  /** `blip`: the longest interruption that is not an outage. */
  constructor(clock: Clock, blip: Millis) {
    this.#clock = clock;
    this.#blip = blip;
  }

  get now(): Suspended {
    if (this.#ranAt !== undefined) this.#runs(this.#ranAt, this.#clock.now());
    return this.#suspended;
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
    }
  }

  #runs(before: Instant, now: Instant): void {
    this.#ranAt = now;
    const length = elapsed(before, now) - interval;
    if (length <= lateness) return;
    const settling = Math.max(minSettling, Math.min(length, this.#blip));
    this.#suspended = {
      from: before,
      settledAt: shifted(now, settling),
      restoredAt: length > this.#blip ? now : this.#suspended.restoredAt,
    };
  }
}
