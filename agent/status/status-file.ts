import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../base/token-bucket.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import type { Status } from "./schema.ts";
import { substance } from "./snapshot.ts";

export interface StatusFileParts {
  readonly file: string;
  /** The last status of an earlier configuration. */
  readonly last?: Status | undefined;
  /** On average at most this often, when something changed; at least this often, whatever happens. */
  readonly limits: { readonly minInterval: Millis; readonly every: Millis };
  /** The status as it is now. `before`: the last one taken. `failures`: how often the file could not be written. */
  take(before: Status | undefined, failures: number): Status;
  /** Replaces the file's text in one step. */
  replace(file: string, text: string): void;
}

/** News that may be written at once after a quiet time: the start with all its controllers, a link that fails, what follows. */
const promptNews = 6;

/** What happens together is told together. */
const settling: Millis = 100;

/**
 * Keeps status.json true. It looks for news every `minInterval`, and at once where it is told that there is some. A folder
 * that is missing, read-only or full is no reason to stop looking after a site: it is said once in the log, counted, and
 * tried again with the next write.
 */
export class StatusFile {
  readonly #ambient: Ambient;
  readonly #parts: StatusFileParts;
  readonly #bell: WakeSignal;
  #last: Status | undefined;
  #written: { readonly at: Instant; readonly substance: string } | undefined;
  #allowance: TokenBucket;
  /** News that has to wait until the allowance permits a write. */
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

  /** As it was taken last, whether or not that was worth a write. */
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

  /** Something changed that a person may be waiting for. */
  news(): void {
    this.#bell.ring();
  }

  /** Writes now, whether or not something changed: before the agent says that it is ready, and when it stops. */
  write(): void {
    this.#pass(true);
  }

  /** Until the next look. */
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

  /** Only news costs of the allowance. */
  #mayWrite(news: string, now: Instant): boolean {
    this.#waiting = news !== this.#written?.substance;
    if (!this.#waiting) return false;
    const rate = 1000 / this.#parts.limits.minInterval;
    const [granted, rest] = take(this.#allowance, rate, now, promptNews);
    this.#allowance = rest;
    return granted;
  }
}
