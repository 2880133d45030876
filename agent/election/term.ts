import { type Clock, elapsed, type Instant, type Timer } from "../base/clock.ts";
import type { Term } from "../loop/controller.ts";

/**
 * A term issued by the elector. It stands until the instant up to which it is trusted; renewals move that instant. Once
 * it was over it never stands again, even if an answer arrives late.
 */
export class LeaseTerm implements Term {
  readonly number: number;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #until: Instant;
  #timer: Timer | undefined;

  constructor(clock: Clock, { number, until }: { readonly number: number; readonly until: Instant }) {
    this.#clock = clock;
    this.number = number;
    this.#until = until;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** End of the trust; the instant itself no longer counts. */
  get until(): Instant {
    return this.#until;
  }

  standsAt(now: Instant): boolean {
    return !this.#over.signal.aborted && this.isTrustedAt(now);
  }

  /** True also after `end`: no other board may lead yet. */
  isTrustedAt(now: Instant): boolean {
    return elapsed(now, this.#until) > 0;
  }

  /** Arms the timer that ends the term when its trust runs out; called at its beginning and by `extend`. */
  watch(): void {
    this.#timer?.cancel();
    if (this.#over.signal.aborted) return;
    this.#timer = this.#clock.after(elapsed(this.#clock.now(), this.#until), () =>
      this.end("the Lease could not be renewed in time", false),
    );
  }

  /** Another board may lead from now on. */
  forfeit(now: Instant): void {
    this.#until = now;
  }

  extend(until: Instant): void {
    if (!this.standsAt(this.#clock.now())) {
      this.end("the renewal came too late", false);
      return;
    }
    if (elapsed(this.#until, until) > 0) this.#until = until;
    this.watch();
  }

  /** `heard`: the API server answered up to now. */
  end(why: string, heard: boolean): void {
    this.#timer?.cancel();
    if (this.#over.signal.aborted) return;
    this.#over.abort(new TermOver(this.number, { why, heard, at: this.#clock.now() }));
  }
}

/** Abort reason of a term's signal. */
export class TermOver extends Error {
  override readonly name = "TermOver";
  readonly disposition = "drop";
  readonly why: string;
  readonly at: Instant;
  /** The API server answered to the end: the term ended on purpose, not because of an outage. */
  readonly heard: boolean;

  constructor(term: number, end: { readonly why: string; readonly at: Instant; readonly heard: boolean }) {
    super(`term ${term} is over: ${end.why}`);
    this.why = end.why;
    this.at = end.at;
    this.heard = end.heard;
  }
}
