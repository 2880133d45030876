import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../base/token-bucket.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import type { Status } from "./schema.ts";
import { substance } from "./snapshot.ts";

export interface StatusFileParts {
  readonly file: string;
  /** The last status of an earlier run. */
  readonly last?: Status | undefined;
  /** `minInterval`: average minimum between writes on change. `every`: maximum between writes. */
  readonly limits: { readonly minInterval: Millis; readonly every: Millis };
  /** Takes the current status. `before`: the last one taken. `failures`: number of failed writes. */
  take(before: Status | undefined, failures: number): Status;
  /** Replaces the file atomically. */
  replace(file: string, text: string): void;
}

/**
 * Burst of writes allowed after a quiet time, enough for the start of all controllers or the consequences of a broken
 * link.
 */
const promptNews = 6;

/** Delay that merges changes happening together. */
const settling: Millis = 100;

/**
 * Keeps status.json current: checks for changes every `minInterval`, and at once after `news()`. A missing, read-only
 * or full folder does not stop the agent: the failure is logged once, counted, and the write retried.
 */
export class StatusFile {
  readonly #ambient: Ambient;
  readonly #parts: StatusFileParts;
  readonly #bell: WakeSignal;
  #last: Status | undefined;
  #written: { readonly at: Instant; readonly substance: string } | undefined;
  #allowance: TokenBucket;
  /** A change waits until the bucket grants a write. */
  #waiting = false;
  #failures = 0;
  #failing = false;

  constructor(ambient: Ambient, parts: StatusFileParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#last = parts.last;
    this.#bell = new WakeSignal(ambient.clock);
    this.#allowance = fullBucket(ambient.clock.now(), promptNews);
  }

  get failures(): number {
    return this.#failures;
  }

  /** The status taken last, written or not. */
  get last(): Status | undefined {
    return this.#last;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#pass(false);
      await this.#bell.wait(signal, this.#rest());
      await sleep(this.#ambient.clock, settling, signal);
    }
  }

  /** Reports a change that the file should show at once. */
  news(): void {
    this.#bell.ring();
  }

  /** Writes now even without a change: before the agent reports ready, and when it stops. */
  write(): void {
    this.#pass(true);
  }

  /** Time until the next check. */
  #rest(): Millis {
    const now = this.#ambient.clock.now();
    const { minInterval, every } = this.#parts.limits;
    const next = this.#waiting ? nextToken(this.#allowance, 1000 / minInterval, now, promptNews) : undefined;
    const due = this.#failing || !this.#written ? minInterval : every - elapsed(this.#written.at, now);
    return Math.max(0, Math.min(minInterval, due, next ? elapsed(now, next) : minInterval) - settling);
  }

  #pass(always: boolean): void {
    const { file, limits } = this.#parts;
    const now = this.#ambient.clock.now();
    try {
      const status = this.#parts.take(this.#last, this.#failures);
      this.#last = status;
      const news = substance(status);
      const due = !this.#written || elapsed(this.#written.at, now) >= limits.every;
      if (!always && !due && !this.#mayWrite(news, now)) return;
      this.#parts.replace(file, `${JSON.stringify(status, undefined, 1)}\n`);
      this.#written = { at: now, substance: news };
      this.#waiting = false;
      if (this.#failing) this.#ambient.log.info("status file written again", { file });
      this.#failing = false;
    } catch (error) {
      this.#failures++;
      if (!this.#failing) this.#ambient.log.warn("status file cannot be written", { file, error });
      this.#failing = true;
    }
  }

  /** Only changes take tokens. */
  #mayWrite(news: string, now: Instant): boolean {
    this.#waiting = news !== this.#written?.substance;
    if (!this.#waiting) return false;
    const rate = 1000 / this.#parts.limits.minInterval;
    const [granted, rest] = take(this.#allowance, rate, now, promptNews);
    this.#allowance = rest;
    return granted;
  }
}
