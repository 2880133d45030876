import { type Lane, Lanes, lanes } from "./lanes.ts";

/**
 * A semaphore with lanes. Each lane leaves an eighth of the permits to the lanes before it, so that unanswered requests
 * of one lane never block a more important one.
 */
export class PrioritySemaphore {
  readonly #most: number;
  readonly #line = new Lanes();
  readonly #taken = lanes.map(() => 0);

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#from(0);
  }

  /** Takes a permit without waiting. Returns false if none is free. */
  take(lane: Lane = "boards"): boolean {
    if (!this.#isFree(lane)) return false;
    this.#count(lane, 1);
    return true;
  }

  /**
   * Waits for a permit, to be returned with `release`. Resolves to false, without a permit, if the signal aborts first.
   */
  acquire(signal: AbortSignal, lane: Lane = "boards"): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return this.take(lane) ? Promise.resolve(true) : this.#line.wait(lane, signal);
  }

  /** Returns a permit, and passes it to a waiting caller if there is one. */
  release(lane: Lane = "boards"): void {
    this.#count(lane, -1);
    const next = this.#line.next((other) => this.#isFree(other));
    if (next) this.#count(next, 1);
  }

  /**
   * True if the lane may take a permit. The limits are cumulative: for each lane up to this one, they restrict the
   * permits that are held by that lane and all lanes after it.
   */
  #isFree(lane: Lane): boolean {
    const eighth = Math.ceil(this.#most / 8);
    return lanes
      .slice(0, lanes.indexOf(lane) + 1)
      .every((_, at) => this.#from(at) < Math.max(1, this.#most - at * eighth));
  }

  /** Permits taken by the lane at this index and all lanes after it. */
  #from(place: number): number {
    return this.#taken.slice(place).reduce((all, taken) => all + taken, 0);
  }

  #count(lane: Lane, by: number): void {
    const at = lanes.indexOf(lane);
    this.#taken[at] = (this.#taken[at] ?? 0) + by;
  }
}
