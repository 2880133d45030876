import type { Clock, Instant } from "../base/clock.ts";
import {
  closed,
  heard,
  isFlowing,
  opened,
  paused,
  proven,
  unheard,
  type WatchHealth,
  type WatchLimits,
} from "./watch-health.ts";

/**
 * Tracks the health of a Reflector's watch. An event is a proof only once its object can be read: until then, a reader
 * of the cache would miss the renewals in it and take the boards for silent.
 */
export class WatchHealthTracker {
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  #health: WatchHealth = unheard;
  /** When a proof arrived that is not applied yet. */
  #unproven: Instant | undefined;

  constructor(clock: Clock, limits: WatchLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `isApplied`: everything received can be read. */
  health(isApplied: boolean): WatchHealth {
    if (isApplied && this.#unproven !== undefined) {
      this.#health = proven(this.#health, this.#unproven);
      this.#unproven = undefined;
    }
    return this.#health;
  }

  opened(): void {
    this.#health = opened(this.#health, this.#limits, this.#clock.now());
  }

  /** After a pause an event may be an old one: it is a proof only if the stream flows. */
  event(): void {
    this.#heard(isFlowing(this.#health, this.#limits, this.#clock.now()));
  }

  /** Input that concerns no known object: the stream moves, but its content is unknown. */
  noise(): void {
    this.#heard(false);
  }

  bookmark(hasMoved: boolean): void {
    this.#heard(hasMoved);
  }

  /** Events not applied by now no longer count for this watch. */
  closed(): void {
    this.#health = closed(this.#health, this.#limits, this.#clock.now());
    this.#unproven = undefined;
  }

  paused(since: Instant): void {
    this.#health = paused(this.#health, since);
  }

  #heard(isProof: boolean): void {
    const now = this.#clock.now();
    this.#health = heard(this.#health, this.#limits, now);
    if (isProof) this.#unproven = now;
  }
}
