import { type Clock, elapsed, type Instant, isAfter, type Timer } from "../base/clock.ts";
import type { Term } from "../execution/fence.ts";

/** How a term ends. */
export type TermEnding =
  /**
   * This board decided to leave, and releases the Lease. `byWork`: whether the work ended by itself. `successor`: the
   * board for which the Lease is released; undefined for any board.
   */
  | {
      readonly is: "left";
      readonly why: string;
      readonly byWork: boolean;
      readonly successor: string | undefined;
    }
  /** The Lease was not renewed in time, so another board may lead once it has expired. */
  | { readonly is: "expired"; readonly why: string }
  /** The Lease, when read, was no longer ours, so another board may already lead. */
  | { readonly is: "lost"; readonly why: string };

/** How long a term lasts without another renewal. */
export interface TermLimits {
  /** Before this instant, no other board can lead. */
  readonly until: Instant;
  /** The instant by which another renewal is due. From then on, the work of the term writes nothing. */
  readonly deadline: Instant;
}

/**
 * A term of this board, valid until `until`, which each renewal extends, unless it is ended earlier. It ends once and
 * for one reason (`over`), and never becomes valid again, even if the answer to a renewal arrives late.
 */
export class LeaseTerm implements Term {
  readonly number: number;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #until: Instant;
  #deadline: Instant;
  #timer: Timer | undefined;

  constructor(clock: Clock, { number, until, deadline }: TermLimits & { readonly number: number }) {
    this.#clock = clock;
    this.number = number;
    this.#until = until;
    this.#deadline = deadline;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** How the term ended; undefined if it has not. The Lease may remain ours for longer than the term. */
  get over(): TermOver | undefined {
    const { reason } = this.#over.signal;
    return reason instanceof TermOver ? reason : undefined;
  }

  /** Before this instant, no other board can lead. */
  get until(): Instant {
    return this.#until;
  }

  standsAt(now: Instant): boolean {
    return !this.#over.signal.aborted && this.isTrustedAt(now);
  }

  /** Whether this board's claim still excludes every other leader. Can remain true after `end`. */
  isTrustedAt(now: Instant): boolean {
    return isAfter(this.#until, now);
  }

  /**
   * The term as its work sees it. It ends at the deadline, when the leader gives up. Without this limit, if the process
   * were suspended past the deadline, its work would continue with old observations until the elector ended the term.
   */
  get forWork(): Term {
    const standsAt = (now: Instant): boolean => this.standsAt(now) && isAfter(this.#deadline, now);
    return { number: this.number, signal: this.signal, standsAt };
  }

  /** Sets the timer that ends the term at `until`; called when the term begins, and by `extend`. */
  startTimer(): void {
    this.#timer?.cancel();
    if (this.#over.signal.aborted) return;
    this.#timer = this.#clock.after(elapsed(this.#clock.now(), this.#until), () =>
      this.end({ is: "expired", why: "the Lease could not be renewed in time" }, { serverAnswered: false }),
    );
  }

  /** Stops trusting the term, because another board may lead from now on. */
  forfeit(now: Instant): void {
    this.#until = now;
  }

  extend({ until, deadline }: TermLimits): void {
    if (this.#over.signal.aborted || !this.isTrustedAt(this.#clock.now())) {
      this.end({ is: "expired", why: "the renewal arrived too late" }, { serverAnswered: false });
      return;
    }
    if (isAfter(until, this.#until)) this.#until = until;
    if (isAfter(deadline, this.#deadline)) this.#deadline = deadline;
    this.startTimer();
  }

  /** Ends the term, unless it has already ended. `serverAnswered`: the API server answered the last request. */
  end(ending: TermEnding, { serverAnswered }: { readonly serverAnswered: boolean }): void {
    this.#timer?.cancel();
    if (this.#over.signal.aborted) return;
    if (ending.is === "lost") this.forfeit(this.#clock.now());
    this.#over.abort(new TermOver(this.number, { ending, serverAnswered, at: this.#clock.now() }));
  }
}

/** The abort reason of a term's signal. */
export class TermOver extends Error {
  override readonly name = "TermOver";
  readonly disposition = "drop";
  readonly ending: TermEnding;
  readonly at: Instant;
  /** True if the API server answered the last request, so the term did not end because of an outage. */
  readonly serverAnswered: boolean;

  constructor(
    term: number,
    end: { readonly ending: TermEnding; readonly at: Instant; readonly serverAnswered: boolean },
  ) {
    super(`term ${term} has ended: ${end.ending.why}`);
    this.ending = end.ending;
    this.at = end.at;
    this.serverAnswered = end.serverAnswered;
  }
}
