import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Timer } from "../base/clock.ts";
import { type Lane, Lanes } from "../base/lanes.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../base/token-bucket.ts";

export interface RequestRate {
  /** Sustained requests per second. */
  readonly qps: number;
  /** Requests that may be sent at once after a pause. */
  readonly burst: number;
}

/** Resolves when a request may be sent; rejects with the signal's reason, and then costs no token. */
export interface Allowance {
  take(signal: AbortSignal, lane?: Lane): Promise<void>;
}

/** Admits requests at a bounded rate, lane by lane, and within a lane in order of arrival. */
export class RequestLimiter implements Allowance {
  readonly #ambient: Ambient;
  readonly #rate: RequestRate;
  readonly #line = new Lanes();
  #bucket: TokenBucket | undefined;
  #timer: Timer | undefined;

  constructor(ambient: Ambient, rate: RequestRate) {
    this.#ambient = ambient;
    this.#rate = rate;
  }

  async take(signal: AbortSignal, lane: Lane = "boards"): Promise<void> {
    signal.throwIfAborted();
    if (this.#line.size === 0 && this.#granted()) return;
    const turn = this.#line.wait(lane, signal);
    if (this.#line.size === 1) this.#arm();
    if (await turn) return;
    if (this.#line.size === 0) this.#timer?.cancel();
    throw signal.reason;
  }

  #arm(): void {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const next = nextToken(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    this.#timer?.cancel();
    if (next === undefined) return;
    this.#timer = this.#ambient.clock.after(elapsed(now, next), () => this.#release());
  }

  #release(): void {
    while (this.#line.size > 0 && this.#granted()) this.#line.next();
    if (this.#line.size > 0) this.#arm();
  }

  #granted(): boolean {
    const now = this.#ambient.clock.now();
    const { qps, burst } = this.#rate;
    const [granted, rest] = take(this.#bucket ?? fullBucket(now, burst), qps, now, burst);
    this.#bucket = rest;
    return granted;
  }
}
