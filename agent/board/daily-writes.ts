import { elapsed, type Instant, type Millis } from "../base/clock.ts";

const day: Millis = 86_400_000;

/** One mark an hour is enough to tell a day from the next. */
const apart: Millis = 3_600_000;

/** What a counter that only grows, from 0 at the start of the process, grew by within the last day: wear of the flash. */
export class DailyWrites {
  /** The oldest first; only that may be older than a day. */
  readonly #marks: { readonly at: Instant; readonly bytes: number }[] = [];
  #latest: number | undefined;

  add(at: Instant, bytes: number): void {
    const last = this.#marks.at(-1);
    if (last === undefined) this.#marks.push({ at, bytes: 0 });
    else if (elapsed(last.at, at) >= apart) this.#marks.push({ at, bytes });
    this.#latest = bytes;
    for (let [, next] = this.#marks; next && elapsed(next.at, at) >= day; [, next] = this.#marks) this.#marks.shift();
  }

  /** How long the time is that `lastDay` counts: a day, or since the process began to measure. */
  span(now: Instant): Millis | undefined {
    const [first] = this.#marks;
    return first && Math.min(day, elapsed(first.at, now));
  }

  /** In bytes. Undefined: nothing was measured yet. */
  get lastDay(): number | undefined {
    const [first] = this.#marks;
    return first === undefined || this.#latest === undefined ? undefined : Math.max(0, this.#latest - first.bytes);
  }
}
