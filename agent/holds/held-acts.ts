import { elapsed, type Instant } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";

/** Acts that wait while silent boards are left alone: boards for their taint, pods for their deletion. */
export interface Waiting {
  readonly boards: number;
  readonly pods: number;
}

/** The most that an outage, and the quarantine after it, held back at one time. */
export class HeldActs {
  #since: Instant | undefined;
  #most: Waiting = { boards: 0, pods: 0 };
  #lookedAt: Instant | undefined;

  /** The most since that instant; an earlier outage that may have held more does not count. */
  mostSince(instant: Instant): Waiting {
    const isOlder = this.#lookedAt === undefined || elapsed(instant, this.#lookedAt) < 0;
    return isOlder ? { boards: 0, pods: 0 } : this.#most;
  }

  /** `waiting` undefined: no outage holds anything back. */
  look(waiting: Waiting | undefined, log: Logger, now: Instant): void {
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
    this.#lookedAt = now;
    const { boards, pods } = this.#most;
    this.#most = { boards: Math.max(boards, waiting.boards), pods: Math.max(pods, waiting.pods) };
  }
}
