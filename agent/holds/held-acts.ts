import { elapsed, type Instant, isAfter } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";

/** Numbers of held acts: boards waiting for their taint, and pods waiting for their deletion. */
export interface HeldCounts {
  readonly boards: number;
  readonly pods: number;
}

/** The peak number of acts held at the same time, during an outage and the quarantine after it. */
export class HeldActs {
  #since: Instant | undefined;
  #most: HeldCounts = { boards: 0, pods: 0 };
  #countedAt: Instant | undefined;

  /** The peak, if it was counted after that instant, so that an earlier outage is not included. */
  mostSince(instant: Instant): HeldCounts {
    const isOlder = this.#countedAt === undefined || isAfter(instant, this.#countedAt);
    return isOlder ? { boards: 0, pods: 0 } : this.#most;
  }

  /** Records the current counts. `waiting` is undefined if no outage or quarantine holds acts. */
  record(waiting: HeldCounts | undefined, log: Logger, now: Instant): void {
    if (waiting === undefined) {
      if (this.#since !== undefined)
        log.info("silent boards may be evicted again", {
          heldMs: Math.round(elapsed(this.#since, now)),
          boardsHeld: this.#most.boards,
          podsHeld: this.#most.pods,
        });
      this.#since = undefined;
      return;
    }
    if (this.#since === undefined) {
      this.#since = now;
      this.#most = waiting;
    }
    this.#countedAt = now;
    const { boards, pods } = this.#most;
    this.#most = { boards: Math.max(boards, waiting.boards), pods: Math.max(pods, waiting.pods) };
  }
}
