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
 * What a Reflector hears of its watch. What came is a proof only once it can be read: whoever looks at the cache before
 * does not see the renewals that are in it, and would take the boards for silent.
 */
export class WatchHealthTracker {
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  #health: WatchHealth = unheard;
  /** When something came that proves, and is not applied yet. */
  #unproven: Instant | undefined;

  constructor(clock: Clock, limits: WatchLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `isApplied`: nothing of what came still waits to be readable. */
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

  /** After a pause an event may be an old one: it proves where the stream flows. */
  event(): void {
    this.#heard(isFlowing(this.#health, this.#limits, this.#clock.now()));
  }

  /** Something came that says nothing about any object: the stream moves, and what it brought is not known. */
  noise(): void {
    this.#heard(false);
  }

  bookmark(hasMoved: boolean): void {
    this.#heard(hasMoved);
  }

  /** What was not applied by now is not of this watch any more. */
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
