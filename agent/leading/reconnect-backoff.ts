import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Config } from "../config/settings.ts";

/**
 * How long a leader's problem with its API server must last before another board should lead: at least the renew
 * deadline, because a leader whose entire link is down also leads for that long.
 */
export const minTroubleDuration = ({
  sickFor,
  renewDeadline,
}: Pick<Config["leader"], "sickFor" | "renewDeadline">): Millis => Math.max(sickFor, renewDeadline);

/**
 * Opens a new connection during a problem that a different API server may not have: first after a quarter of
 * `minTroubleDuration`, then each time the problem has lasted twice as long.
 */
export class ReconnectBackoff {
  readonly #first: Millis;
  readonly #renew: () => void;
  #since: Instant | undefined;
  #after: Millis;

  /** `renew`: makes the next requests use a new connection, which may reach another API server. */
  constructor(lasting: Millis, renew: () => void) {
    this.#first = lasting / 4;
    this.#renew = renew;
    this.#after = this.#first;
  }

  /** Returns whether a new connection was opened. `since`: when the trouble began; undefined if there is none. */
  renewIfDue(since: Instant | undefined, now: Instant): boolean {
    if (since?.mono !== this.#since?.mono) this.#after = this.#first;
    this.#since = since;
    if (since === undefined || elapsed(since, now) < this.#after) return false;
    this.#after = 2 * elapsed(since, now);
    this.#renew();
    return true;
  }
}
