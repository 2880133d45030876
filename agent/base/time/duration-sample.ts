import type { Millis } from "../clock.ts";

const kept = 64;

/** The newest 64 durations of an operation, for percentiles; constant memory. */
export class DurationSample {
  readonly #durations: Millis[] = [];
  #next = 0;

  add(duration: Millis): void {
    this.#durations[this.#next] = duration;
    this.#next = (this.#next + 1) % kept;
  }

  /** The median; undefined if nothing has been measured yet. */
  get p50(): Millis | undefined {
    return this.#percentile(0.5);
  }

  /** The 95th percentile; undefined if nothing has been measured yet. */
  get p95(): Millis | undefined {
    return this.#percentile(0.95);
  }

  #percentile(share: number): Millis | undefined {
    const sorted = [...this.#durations].sort((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * share) - 1];
  }
}
