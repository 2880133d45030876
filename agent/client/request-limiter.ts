import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Timer } from "../base/clock.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../base/token-bucket.ts";

export interface RequestRate {
  /** Requests per second in the long run. */
  readonly qps: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** Where a request waits for its turn: resolves when it may go, rejects with the signal's reason and then costs no token. */
export interface Allowance {
  take(signal: AbortSignal): Promise<void>;
  /** The same tokens, for requests that go when none of the others waits. */
  readonly leftOver?: Allowance;
}

/** Lets requests through at a bounded rate, in the order in which they came. */
export class RequestLimiter implements Allowance {
  readonly #ambient: Ambient;
  readonly #rate: RequestRate;
  readonly #waiting = new Set<() => void>();
  readonly #last = new Set<() => void>();
  readonly leftOver: Allowance = { take: (signal) => this.#enter(this.#last, signal) };
  #bucket: TokenBucket | undefined;
  #timer: Timer | undefined;

  constructor(ambient: Ambient, rate: RequestRate) {
    this.#ambient = ambient;
    this.#rate = rate;
  }

  take(signal: AbortSignal): Promise<void> {
    return this.#enter(this.#waiting, signal);
  }

  #enter(line: Set<() => void>, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const isFirst = this.#waiting.size === 0 && (line === this.#waiting || this.#last.size === 0);
    if (isFirst && this.#granted()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.delete(go);
        signal.removeEventListener("abort", leave);
        if (this.#waits === 0) this.#timer?.cancel();
        reject(signal.reason);
      };
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      line.add(go);
      if (this.#waits === 1) this.#arm();
    });
  }

  get #waits(): number {
    return this.#waiting.size + this.#last.size;
  }

  #arm(): void {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const next = nextToken(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    if (next === undefined) return;
    this.#timer = this.#ambient.clock.after(elapsed(now, next), () => this.#release());
  }

  #release(): void {
    for (const line of [this.#waiting, this.#last]) {
      for (const go of line) {
        if (!this.#granted()) break;
        line.delete(go);
        go();
      }
      if (line.size > 0) break;
    }
    if (this.#waits > 0) this.#arm();
  }

  #granted(): boolean {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const [granted, rest] = take(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    this.#bucket = rest;
    return granted;
  }
}
