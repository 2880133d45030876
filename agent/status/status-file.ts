import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { jsonText } from "../base/text/terminal-text.ts";
import { fullBucket, nextToken, type Rate, type TokenBucket, take } from "../base/token-bucket.ts";
import type { Status } from "./schema.ts";
import { significantState } from "./snapshot.ts";

export interface StatusFileOptions {
  readonly file: string;
  /** The last status of an earlier run. */
  readonly last?: Status | undefined;
  /**
   * `minInterval`: the average interval between writes of a changed status; a few writes may directly follow one
   * another (`promptWrites`). `every`: the longest interval between two writes, changed or not.
   */
  readonly limits: { readonly minInterval: Millis; readonly every: Millis };
  /** Builds the current status. `before`: the last one built. `failures`: the number of failed writes. */
  take(before: Status | undefined, failures: number): Status;
  /** Replaces the file atomically. */
  replace(file: string, text: string): void;
}

/** Number of writes that may directly follow one another after a quiet time, for example when all controllers start. */
const promptWrites = 6;

/** Delay before a write, so that simultaneous changes cause only one. */
const settling: Millis = 100;

/**
 * Keeps status.json up to date: checks for changes every `minInterval`, and immediately after `changed()`. If the file
 * cannot be written, the failure is logged once and counted, and the write is retried.
 */
export class StatusFile {
  readonly #ambient: Ambient;
  readonly #options: StatusFileOptions;
  readonly #bell: WakeSignal;
  #last: Status | undefined;
  #written: { readonly at: Instant; readonly substance: string } | undefined;
  /** The rate at which changes may cause writes. */
  readonly #rate: Rate;
  #allowance: TokenBucket;
  /** Whether a change waits for the allowance to grant a write. */
  #waiting = false;
  #failures = 0;
  #failing = false;

  constructor(ambient: Ambient, options: StatusFileOptions) {
    this.#ambient = ambient;
    this.#options = options;
    this.#last = options.last;
    this.#bell = new WakeSignal(ambient.clock);
    this.#rate = { perSecond: 1000 / options.limits.minInterval, burst: promptWrites };
    this.#allowance = fullBucket(ambient.clock.now(), promptWrites);
  }

  get failures(): number {
    return this.#failures;
  }

  /** The last status built, whether written or not. */
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

  /** Called after each change that must appear in the file immediately. */
  changed(): void {
    this.#bell.ring();
  }

  /** Writes now even without a change: before the agent reports ready, and when it stops. */
  write(): void {
    this.#pass(true);
  }

  /** Time until the next check. */
  #rest(): Millis {
    const now = this.#ambient.clock.now();
    const { minInterval, every } = this.#options.limits;
    const next = this.#waiting ? nextToken(this.#allowance, this.#rate, now) : undefined;
    const due = this.#failing || !this.#written ? minInterval : every - elapsed(this.#written.at, now);
    return Math.max(0, Math.min(minInterval, due, next ? elapsed(now, next) : minInterval) - settling);
  }

  #pass(always: boolean): void {
    const { file, limits } = this.#options;
    const now = this.#ambient.clock.now();
    try {
      const status = this.#options.take(this.#last, this.#failures);
      this.#last = status;
      const content = significantState(status);
      const due = !this.#written || elapsed(this.#written.at, now) >= limits.every;
      if (!always && !due && !this.#mayWrite(content, now)) return;
      this.#options.replace(file, `${jsonText(status, 1)}\n`);
      this.#written = { at: now, substance: content };
      this.#waiting = false;
      if (this.#failing) this.#ambient.log.info("the status file can be written again", { file });
      this.#failing = false;
    } catch (error) {
      this.#failures++;
      if (!this.#failing) this.#ambient.log.warn("the status file cannot be written", { file, error });
      this.#failing = true;
    }
  }

  /** Whether the status has changed and the allowance grants a write. */
  #mayWrite(content: string, now: Instant): boolean {
    this.#waiting = content !== this.#written?.substance;
    if (!this.#waiting) return false;
    const [granted, rest] = take(this.#allowance, this.#rate, now);
    this.#allowance = rest;
    return granted;
  }
}
