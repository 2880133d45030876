import type { Clock, Instant } from "../../base/clock.ts";
import {
  isFlowing,
  neverConnected,
  recordClose,
  recordDelivery,
  recordNews,
  recordOpen,
  recordPause,
  recordProof,
  recordReceipt,
  type WatchHealth,
  type WatchLimits,
} from "../watch-health.ts";

/**
 * Tracks the health of a Reflector's watch. An event is a proof only once it is applied to the cache: before that, a
 * reader of the cache would miss the renewal in it and consider the board silent.
 */
export class WatchHealthTracker {
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  #health: WatchHealth = neverConnected;
  /** When the last proof arrived, if it has not been applied yet; undefined if all proofs have been. */
  #unproven: Instant | undefined;

  constructor(clock: Clock, limits: WatchLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The current health. `isApplied`: whether all received events have been applied to the cache. */
  health(isApplied: boolean): WatchHealth {
    if (isApplied && this.#unproven !== undefined) {
      this.#health = recordProof(this.#health, this.#unproven);
      this.#unproven = undefined;
    }
    return this.#health;
  }

  opened(): void {
    this.#health = recordOpen(this.#health, this.#limits, this.#clock.now());
  }

  /**
   * An event of a readable object arrived. After a pause, it may be delayed, and so proves nothing: see `isFlowing`.
   */
  event(): void {
    this.#received({ isNews: true, isProof: isFlowing(this.#health, this.#limits, this.#clock.now()) });
  }

  /** An event arrived whose object is unusable. */
  rejected(): void {
    this.#received({ isNews: true, isProof: false });
  }

  /** A bookmark arrived. `hasMoved`: its resourceVersion differs from the previous one. */
  bookmark(hasMoved: boolean): void {
    this.#received({ isNews: hasMoved, isProof: hasMoved });
  }

  /** The server has responded to another request about the resource of the silent watch. */
  answered(): void {
    this.#received({ isNews: false, isProof: false });
  }

  /** An object of a list arrived. */
  listed(): void {
    this.#health = recordDelivery(this.#health);
  }

  /**
   * The server refused a request about the resource. Returns whether the refusal matters, which it does not while the
   * watch is open.
   */
  refused(): boolean {
    if (this.#health.connected) return false;
    this.closed();
    return true;
  }

  /** The watch ended. Proofs that have not been applied by now are ignored. */
  closed(): void {
    this.#health = recordClose(this.#health, this.#limits, this.#clock.now());
    this.#unproven = undefined;
  }

  paused(since: Instant): void {
    this.#health = recordPause(this.#health, since);
  }

  #received({ isNews, isProof }: { readonly isNews: boolean; readonly isProof: boolean }): void {
    const now = this.#clock.now();
    this.#health = recordReceipt(this.#health, this.#limits, now);
    if (isNews) this.#health = recordNews(this.#health, now);
    if (isProof) this.#unproven = now;
  }
}
