import { elapsed, type Instant, type Millis } from "../base/clock.ts";

const day: Millis = 86_400_000;

/** One mark an hour is enough to measure a day. */
const apart: Millis = 3_600_000;

/** The growth within the last day of a counter that starts at 0 with the process: wear of the flash. */
export class DailyWrites {
  /** Oldest first; only the first may be older than a day. */
  readonly #marks: { readonly at: Instant; readonly bytes: number }[] = [];
  #latest: number | undefined;

  add(at: Instant, bytes: number): void {
    const last = this.#marks.at(-1);
    if (last === undefined) this.#marks.push({ at, bytes: 0 });
    else if (elapsed(last.at, at) >= apart) this.#marks.push({ at, bytes });
    this.#latest = bytes;
    for (let [, next] = this.#marks; next && elapsed(next.at, at) >= day; [, next] = this.#marks) this.#marks.shift();
  }

  /** The period that `lastDay` covers: a day, or since the first measurement. */
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
