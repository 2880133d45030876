import { type Clock, type Instant, laterOf } from "../../base/clock.ts";
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
 * The instant up to which a watch has delivered every change, given that it has just delivered one with this
 * resourceVersion; undefined if that is unknown.
 */
export type DeliveredUpTo = (version: string, now: Instant) => Instant | undefined;

/**
 * Tracks the health of a Reflector's watch. An event is a proof only once it is applied to the cache: before that, a
 * reader of the cache would miss the renewal in it and consider the board silent.
 */
export class WatchHealthTracker {
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  readonly #deliveredUpTo: DeliveredUpTo;
  #health: WatchHealth = neverConnected;
  /** The latest instant for which a proof was received but is not applied yet; undefined if all proofs are applied. */
  #unproven: Instant | undefined;

  /** `deliveredUpTo`: by default, every event counts as just made. */
  constructor(clock: Clock, limits: WatchLimits, deliveredUpTo: DeliveredUpTo = (_, now) => now) {
    this.#clock = clock;
    this.#limits = limits;
    this.#deliveredUpTo = deliveredUpTo;
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
   * An event of a readable object arrived, with this resourceVersion. After a pause, it may be delayed, and so proves
   * nothing: see `isFlowing`.
   */
  event(version: string): void {
    const isProof = isFlowing(this.#health, this.#limits, this.#clock.now());
    this.#received({ isNews: true, proof: isProof ? version : undefined });
  }

  /** An event arrived whose object is unusable. */
  rejected(): void {
    this.#received({ isNews: true });
  }

  /** A bookmark arrived. `hasMoved`: its resourceVersion differs from the previous one. */
  bookmark(version: string, hasMoved: boolean): void {
    this.#received({ isNews: hasMoved, proof: hasMoved ? version : undefined });
  }

  /** The server has responded to another request about the resource of the silent watch. */
  answered(): void {
    this.#received({ isNews: false });
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

  /** `proof`: the resourceVersion that proves that earlier changes have arrived; undefined if nothing does. */
  #received({ isNews, proof }: { readonly isNews: boolean; readonly proof?: string | undefined }): void {
    const now = this.#clock.now();
    this.#health = recordReceipt(this.#health, this.#limits, now);
    if (isNews) this.#health = recordNews(this.#health, now);
    if (proof !== undefined) this.#unproven = laterOf(this.#unproven, this.#deliveredUpTo(proof, now));
  }
}
