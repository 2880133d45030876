import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Timer } from "../base/clock.ts";
import { type Lane, Lanes } from "../base/concurrency/lanes.ts";
import { fullBucket, nextToken, type Rate, type TokenBucket, take } from "../base/token-bucket.ts";

export interface RequestRate {
  /** Sustained requests per second. */
  readonly qps: number;
  /** Maximum burst of requests after an idle period. */
  readonly burst: number;
}

export interface Allowance {
  /**
   * Resolves when a request may be sent. Rejects with the signal's reason if it aborts first, without using a token.
   */
  take(signal: AbortSignal, lane?: Lane): Promise<void>;
}

/**
 * Limits the rate of requests. Lanes take turns (see `Lanes`); within a lane, requests are sent in order of arrival.
 */
export class RequestLimiter implements Allowance {
  readonly #ambient: Ambient;
  readonly #rate: Rate;
  readonly #line = new Lanes();
  #bucket: TokenBucket;
  #timer: Timer | undefined;

  constructor(ambient: Ambient, { qps, burst }: RequestRate) {
    this.#ambient = ambient;
    this.#rate = { perSecond: qps, burst };
    this.#bucket = fullBucket(ambient.clock.now(), burst);
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
    const next = nextToken(this.#bucket, this.#rate, now);
    this.#timer?.cancel();
    if (next === undefined) return;
    this.#timer = this.#ambient.clock.after(elapsed(now, next), () => this.#release());
  }

  #release(): void {
    while (this.#line.size > 0 && this.#granted()) this.#line.next();
    if (this.#line.size > 0) this.#arm();
  }

  #granted(): boolean {
    const [granted, rest] = take(this.#bucket, this.#rate, this.#ambient.clock.now());
    this.#bucket = rest;
    return granted;
  }
}
