import type { Millis } from "./clock.ts";

const kept = 64;

/** The newest durations of something, for a percentile; constant memory. */
export class DurationSample {
  readonly #durations: Millis[] = [];
  #next = 0;

  add(duration: Millis): void {
    this.#durations[this.#next] = duration;
    this.#next = (this.#next + 1) % kept;
  }

  /** Half of them took no longer. Undefined: nothing measured yet. */
  get p50(): Millis | undefined {
    return this.#percentile(0.5);
  }

  /** 95 of 100 took no longer. */
  get p95(): Millis | undefined {
    return this.#percentile(0.95);
  }

  #percentile(share: number): Millis | undefined {
    const sorted = [...this.#durations].sort((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * share) - 1];
  }
}
