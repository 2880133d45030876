import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Timer } from "../base/clock.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../base/token-bucket.ts";

export interface RequestRate {
  /** Requests per second in the long run. */
  readonly qps: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** Lets requests through at a bounded rate, in the order in which they came. */
export class RequestLimiter {
  readonly #ambient: Ambient;
  readonly #rate: RequestRate;
  readonly #waiting = new Set<() => void>();
  #bucket: TokenBucket | undefined;
  #timer: Timer | undefined;

  constructor(ambient: Ambient, rate: RequestRate) {
    this.#ambient = ambient;
    this.#rate = rate;
  }

  /** Resolves when the request may go; rejects with the signal's reason if it aborts first, and then costs no token. */
  take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.size === 0 && this.#granted()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener("abort", leave);
        if (this.#waiting.size === 0) this.#timer?.cancel();
        reject(signal.reason);
      };
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(go);
      if (this.#waiting.size === 1) this.#arm();
    });
  }

  #arm(): void {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const next = nextToken(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    if (next === undefined) return;
    this.#timer = this.#ambient.clock.after(elapsed(now, next), () => this.#release());
  }

  #release(): void {
    for (const go of this.#waiting) {
      if (!this.#granted()) break;
      this.#waiting.delete(go);
      go();
    }
    if (this.#waiting.size > 0) this.#arm();
  }

  #granted(): boolean {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const [granted, rest] = take(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    this.#bucket = rest;
    return granted;
  }
}
