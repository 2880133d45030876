import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";

/** Position of this site among all sites on the API server; every site computes the same order. */
export interface SiteRank {
  readonly rank: number;
  readonly of: number;
}

export interface ComebackParts {
  /** Latest first attempt of an urgent board: before a reset becomes an outage. */
  readonly within: Millis;
  /** True while this board acts on the events of its streams. */
  readonly isUrgent: () => boolean;
  /** Undefined if the other sites are not known. */
  readonly rank: () => SiteRank | undefined;
}

/**
 * In milliseconds, for a board whose streams can wait: its next read of the Lease, within 70 s, usually comes first.
 */
const calm = { from: 60_000, to: 300_000 } as const;
/** Between the leaders of two sites. */
const apart: Millis = 500;

/**
 * Schedules when a board returns to a server that it lost. Its streams share a connection and lose it together, and a
 * server that is restarted, or whose links are reset, loses those of all boards at once: with client-go's backoff all
 * leaders would be back within the same second.
 *
 * A leader returns in its turn: the leaders of all sites lose the connection at the same moment, and all know the same
 * order of their sites. Its renewals wait for that turn too, or they would arrive in no order. The leader of an only
 * site waits for no other. A board that does not lead returns with its first answered request, usually a read of the
 * Lease, and those are spread over a term already; otherwise at a random moment, the same for all of its streams.
 *
 * It only adds to the backoff of a stream: a server that answers some requests and breaks others is not asked more
 * often.
 */
export class ReconnectScheduler {
  readonly #ambient: Ambient;
  readonly #parts: ComebackParts;
  readonly #waiting = new Set<() => void>();
  #due: Instant | undefined;
  #isAway = false;
  /** Other sites have their turn until then; undefined if nothing waits for a turn. */
  #turn: Instant | undefined;

  constructor(ambient: Ambient, parts: ComebackParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** The connection of a stream failed, whose own backoff is `wait`. Returns when it may reconnect. */
  lost(wait: Millis): Instant {
    const { clock, random } = this.#ambient;
    const now = clock.now();
    if (this.#due !== undefined && elapsed(now, this.#due) > 0) return this.#due;
    const isUrgent = this.#parts.isUrgent();
    // The square root makes late returns more likely than early ones; meanwhile reads of the Lease bring boards back.
    const from = isUrgent ? wait : Math.max(wait, calm.from);
    const [to, share] = isUrgent ? this.#place() : [calm.to, Math.sqrt(random.next())];
    const due = shifted(now, from + share * Math.max(0, to - from));
    // After many failures a stream's backoff exceeds a term, but the term must survive a flapping link.
    const turn = wait <= this.#parts.within ? due : shifted(now, share * to);
    this.#turn = isUrgent && !this.#isAway ? turn : undefined;
    this.#isAway = true;
    this.#due = due;
    return due;
  }

  /** A request of this board was answered. */
  reached(): void {
    this.#due = undefined;
    this.#isAway = false;
    for (const go of [...this.#waiting]) go();
  }

  /** Waits until `due`, an answer or the signal's abort. Returns at once if a request was answered since the loss. */
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

  /** Delays a leader's other requests until the turn of its streams. After a failed turn it does not wait again. */
  async inTurn(signal: AbortSignal): Promise<void> {
    if (this.#turn !== undefined && this.#parts.isUrgent()) await this.until(this.#turn, signal);
  }

  /** If the other sites are unknown, and after a failed turn, the moment is random. */
  #place(): [latest: Millis, share: number] {
    const { within, rank } = this.#parts;
    const sites = rank();
    const latest = sites === undefined ? within : Math.min(within, sites.of * apart);
    const isKnown = sites !== undefined && !this.#isAway;
    return [latest, isKnown ? (sites.rank + 0.5) / sites.of : this.#ambient.random.next()];
  }
}
