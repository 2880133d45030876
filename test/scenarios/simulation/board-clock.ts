import type { Instant, Millis } from "../../../agent/base/clock.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Alarms are on a grid of microseconds: otherwise a clock with its own rate would be early by a rounding error. */
const grid = 1000;

/** The clocks of one board: a monotonic one that restarts with each boot, and a wall clock that can be set. */
export class BoardClock {
  readonly #time: VirtualTime;
  /** The clock's rate: counted seconds per real second. Quartzes differ. */
  readonly #pace: number;
  #bootedAt: Millis = 0;
  #monoAtBoot: Millis = 0;
  #wall: { readonly at: Millis; readonly shows: Millis };

  constructor(time: VirtualTime, { pace, wall }: { readonly pace: number; readonly wall: Millis }) {
    this.#time = time;
    this.#pace = pace;
    this.#wall = { at: time.now, shows: wall };
  }

  now(): Instant {
    const { now } = this.#time;
    return { mono: this.#monoAt(now), wall: this.#wall.shows + Math.floor((now - this.#wall.at) * this.#pace) };
  }

  boot(mono: Millis): void {
    this.#bootedAt = this.#time.now;
    this.#monoAtBoot = mono;
  }

  setWall(shows: Millis): void {
    this.#wall = { at: this.#time.now, shows };
  }

  /** The earliest world time at which this clock will have advanced by `delay`. */
  after(delay: Millis): Millis {
    const target = this.#monoAt(this.#time.now) + delay;
    const guess = this.#bootedAt + (target - this.#monoAtBoot) / this.#pace;
    let at = Math.max(this.#time.now, Math.ceil(guess * grid) / grid);
    while (this.#monoAt(at) < target) at = Math.floor(at * grid + 1.5) / grid;
    return at;
  }

  #monoAt(time: Millis): Millis {
    return this.#monoAtBoot + (time - this.#bootedAt) * this.#pace;
  }
}
