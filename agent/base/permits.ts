import { type Lane, Lanes, lanes } from "./lanes.ts";

/**
 * A limit on concurrent work; further work waits in line. Each lane leaves an eighth to those before it, so unanswered
 * writes of one lane never block all others.
 */
export class Permits {
  readonly #most: number;
  readonly #line = new Lanes();
  readonly #taken = lanes.map(() => 0);

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#from(0);
  }

  /** Takes a permit if one is free, without waiting. */
  take(lane: Lane = "boards"): boolean {
    if (!this.#isFree(lane)) return false;
    this.#count(lane, 1);
    return true;
  }

  /** Waits for a permit, to be returned with `release`. False, without a permit: the signal aborted first. */
  acquire(signal: AbortSignal, lane: Lane = "boards"): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return this.take(lane) ? Promise.resolve(true) : this.#line.wait(lane, signal);
  }

  /** Passes the permit to the next in line, if any. */
  release(lane: Lane = "boards"): void {
    this.#count(lane, -1);
    const next = this.#line.next((other) => this.#isFree(other));
    if (next) this.#count(next, 1);
  }

  /** Checks the bound of each lane up to this one, each for itself and the lanes behind it. */
  #isFree(lane: Lane): boolean {
    const eighth = Math.ceil(this.#most / 8);
    return lanes
      .slice(0, lanes.indexOf(lane) + 1)
      .every((_, at) => this.#from(at) < Math.max(1, this.#most - at * eighth));
  }

  /** Permits taken by the lane at that place and those behind it. */
  #from(place: number): number {
    return this.#taken.slice(place).reduce((all, taken) => all + taken, 0);
  }

  #count(lane: Lane, by: number): void {
    const at = lanes.indexOf(lane);
    this.#taken[at] = (this.#taken[at] ?? 0) + by;
  }
}
