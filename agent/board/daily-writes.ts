import { elapsed, type Instant, type Millis } from "../base/clock.ts";

const day: Millis = 86_400_000;

/** The time between two marks, and so the precision of the one-day window. */
const markEvery: Millis = 3_600_000;

/** Bytes written within the last day, computed from the total since the process started; a measure of flash wear. */
export class DailyWrites {
  /**
   * Earlier totals, oldest first. Only the first may be older than a day, because it marks the beginning of the window.
   */
  readonly #marks: { readonly at: Instant; readonly bytes: number }[] = [];
  #latest: number | undefined;

  add(at: Instant, bytes: number): void {
    const last = this.#marks.at(-1);
    if (last === undefined) this.#marks.push({ at, bytes: 0 });
    else if (elapsed(last.at, at) >= markEvery) this.#marks.push({ at, bytes });
    this.#latest = bytes;
    for (let [, next] = this.#marks; next && elapsed(next.at, at) >= day; [, next] = this.#marks) this.#marks.shift();
  }

  /** The period that `lastDay` covers: a day, or the time since the first measurement; undefined before that. */
  span(now: Instant): Millis | undefined {
    const [first] = this.#marks;
    return first && Math.min(day, elapsed(first.at, now));
  }

  /** The bytes written within the last day; undefined before the first measurement. */
  get lastDay(): number | undefined {
    const [first] = this.#marks;
    return first === undefined || this.#latest === undefined ? undefined : Math.max(0, this.#latest - first.bytes);
  }
}
