import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";

/** Position of this site among all sites on the API server; every site computes the same order. */
export interface SiteRank {
  /** This site's place in the order, from 0 to `of` - 1. */
  readonly rank: number;
  /** Number of sites. */
  readonly of: number;
}

export interface ReconnectDeps {
  /** A leader makes its first attempt within this time, so that an interruption does not become an outage. */
  readonly within: Millis;
  /** True while this board acts on the events of its streams, as a leader does. */
  readonly isUrgent: () => boolean;
}

/**
 * When a board that does not lead reconnects, in milliseconds after the loss. Usually its next read of the Lease,
 * within 70 s, reconnects it earlier.
 */
const calm = { from: 60_000, to: 300_000 } as const;
/** Time between the turns of two consecutive sites. */
const apart: Millis = 500;

/**
 * Schedules when a board reconnects to a server that it lost. A server that is restarted, or whose links are reset,
 * loses the connections of all boards at the same time. With client-go's backoff, all leaders would reconnect within
 * one second.
 *
 * Leaders take turns, which is possible because all of them lose the connection at the same moment and know the same
 * order of their sites. The renewals of a leader's Lease wait for its turn as well. A single site's leader does not
 * wait for others. A board that does not lead reconnects its streams after its first response, usually to a read of the
 * Lease, because those reads are already spread over time. Otherwise it reconnects at a random moment. All streams of a
 * board reconnect at the same moment.
 *
 * The schedule only adds to the backoff of a stream, so a server that responds to some requests and drops others does
 * not get more requests.
 */
export class ReconnectScheduler {
  readonly #ambient: Ambient;
  readonly #deps: ReconnectDeps;
  readonly #waiting = new Set<() => void>();
  /** This site's place among all sites; undefined while the other sites are unknown. */
  #rank: SiteRank | undefined;
  /** When the streams may reconnect; undefined while the server responds. */
  #due: Instant | undefined;
  /** True if a stream has lost its connection, and no response has arrived since. */
  #isAway = false;
  /** When this leader's turn begins; undefined if its other requests need not wait for a turn. */
  #turn: Instant | undefined;

  constructor(ambient: Ambient, deps: ReconnectDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** Sets this site's rank; undefined if the other sites are unknown. */
  ranked(rank: SiteRank | undefined): void {
    this.#rank = rank;
  }

  /**
   * Called when a stream has lost its connection. `wait`: the stream's backoff. Returns when the stream may reconnect.
   */
  lost(wait: Millis): Instant {
    const { clock, random } = this.#ambient;
    const now = clock.now();
    if (this.#due !== undefined && isAfter(this.#due, now)) return this.#due;
    const isUrgent = this.#deps.isUrgent();
    // The square root makes late moments more likely, because a read of the Lease usually reconnects a board before its
    // scheduled moment.
    const from = isUrgent ? wait : Math.max(wait, calm.from);
    const [to, share] = isUrgent ? this.#turnOfLeader() : [calm.to, Math.sqrt(random.next())];
    const due = shifted(now, from + share * Math.max(0, to - from));
    // After many failures, a stream's backoff may exceed a term; the renewals must not wait that long.
    const turn = wait <= this.#deps.within ? due : shifted(now, share * to);
    this.#turn = isUrgent && !this.#isAway ? turn : undefined;
    this.#isAway = true;
    this.#due = due;
    return due;
  }

  /** A response to a request of this board arrived. */
  reached(): void {
    this.#due = undefined;
    this.#isAway = false;
    for (const go of [...this.#waiting]) go();
  }

  /**
   * Waits until `due`, until a response arrives or until the signal aborts. Returns immediately if a response has
   * arrived since the loss.
   */
  async until(due: Instant, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const rest = elapsed(clock.now(), due);
    if (!this.#isAway || rest <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", go);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = clock.after(rest, go);
      signal.addEventListener("abort", go, { once: true });
      this.#waiting.add(go);
    });
  }

  /**
   * Delays a leader's other requests until its turn. After the turn, they are not delayed again, even if the attempt to
   * reconnect failed.
   */
  async inTurn(signal: AbortSignal): Promise<void> {
    if (this.#turn !== undefined && this.#deps.isUrgent()) await this.until(this.#turn, signal);
  }

  /**
   * The latest time by which a leader must have reconnected, and the share of that time (0 to 1) after which its own
   * turn begins. The share is random if the other sites are unknown, or after a failed turn.
   */
  #turnOfLeader(): [latest: Millis, share: number] {
    const { within } = this.#deps;
    const sites = this.#rank;
    const latest = sites === undefined ? within : Math.min(within, sites.of * apart);
    const isKnown = sites !== undefined && !this.#isAway;
    return [latest, isKnown ? (sites.rank + 0.5) / sites.of : this.#ambient.random.next()];
  }
}
