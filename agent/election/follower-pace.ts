import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { jitterFactor, type LeaseTiming } from "../base/lease-timing.ts";
import { jitter } from "../base/random.ts";

export interface FollowerPaceDeps {
  /**
   * expiry: followers read the Lease when it would expire. poll: after each jittered retry period, as client-go does.
   */
  readonly followers: "expiry" | "poll";
  readonly timing: LeaseTiming;
}

/**
 * Pauses after a failed attempt with followers "expiry", in retry periods: 1 to 5 after the first failure, 3 to 7 after
 * each additional one.
 */
const [firstRetry, laterRetry, retrySpread] = [1, 3, 4];

/**
 * Slightly longer than the longest takeover: another board claims the Lease at most two durations and a retry after the
 * last write to it (`FollowerPace`).
 */
export const maxTakeover = ({ duration, retry }: LeaseTiming): Millis => 2 * (duration + retry);

/**
 * How long a follower pauses between two reads of the Lease. With followers "poll", it always pauses for a `period`.
 */
export class FollowerPace {
  readonly #ambient: Ambient;
  readonly #polls: boolean;
  readonly #timing: LeaseTiming;

  constructor(ambient: Ambient, { followers, timing }: FollowerPaceDeps) {
    this.#ambient = ambient;
    this.#polls = followers === "poll";
    this.#timing = timing;
  }

  /** A jittered retry period. */
  period(): Millis {
    return jitter(this.#ambient.random, this.#timing.retry, jitterFactor);
  }

  /**
   * The pause after a read of a Lease that no board can acquire before `until`. A Lease with a longer duration than
   * ours is read before it expires, because it may be corrected. `hadFailed`: whether the previous read failed.
   */
  untilExpiry(period: Millis, until: Instant, { hadFailed }: { readonly hadFailed: boolean }): Millis {
    if (this.#polls) return period;
    const { clock, random } = this.#ambient;
    const { duration, retry } = this.#timing;
    const rest = Math.min(Math.max(0, elapsed(clock.now(), until)), duration + retry);
    // After an outage of the server, all boards read the Lease within the same few seconds. Without this spread, they
    // would continue to do so.
    if (hadFailed) return rest * (1 - random.next());
    // A takeover may need two reads, each up to half a retry late, so it takes at most two durations and a retry.
    return rest + (random.next() * retry) / 2;
  }

  /**
   * The pause after losing a claim to another board. The next read, which shows the leader, is at a random time on each
   * board.
   */
  afterOvertaken(period: Millis): Millis {
    return this.#polls ? period : this.#timing.retry * this.#ambient.random.next();
  }

  /**
   * The pause after a failed attempt. Spreads out boards that have lost the same server, because a hundred reads in the
   * second of its return would cause its next outage. The longer the pauses, the fewer boards read in that second.
   */
  afterFailure(period: Millis, { isFirst }: { readonly isFirst: boolean }): Millis {
    if (this.#polls) return period;
    return this.#timing.retry * ((isFirst ? firstRetry : laterRetry) + retrySpread * this.#ambient.random.next());
  }

  /**
   * The longest pause without failures. With "expiry", a Lease with the same duration as ours expires within this
   * pause.
   */
  get longest(): Millis {
    const { duration, retry } = this.#timing;
    return this.#polls ? 2 * jitterFactor * retry : duration + retry;
  }
}
