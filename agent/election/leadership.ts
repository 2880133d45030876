import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { DurationSample } from "../base/duration-sample.ts";
import { dispositionOf } from "../base/errors.ts";
import { writtenSeconds } from "../base/lease-timing.ts";
import { isFatal } from "../base/reaction.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { isOfLink } from "../client/api-error.ts";
import type { EventAction, ObjectRef } from "../execution/actions.ts";
import type { Term } from "../loop/controller.ts";
import { FencedError, fence } from "./fence.ts";
import type { LeaderLock } from "./lease-lock.ts";
import { type LeaseObserver, patience, within } from "./lease-observer.ts";
import { type Candidate, type LeaseRecord, trustedUntil } from "./lease-rules.ts";
import { LeaseTerm, TermOver } from "./term.ts";

/** What the Lease carried when the term began. */
export interface Found {
  readonly annotations: Readonly<Record<string, string>>;
  /** They were written before that. */
  readonly written: Instant;
}

/** What rides along with renewals, by annotation; undefined: it is left as it is. */
export type Carried = Readonly<Record<string, () => string | undefined>>;

export interface LeadershipParts {
  readonly lock: LeaderLock;
  readonly candidate: Candidate;
  readonly sight: LeaseObserver;
  /** The work of a term, until its signal aborts. Nobody leads here again, nor is the Lease released, before it ended. */
  readonly lead: (term: Term, found: Found) => Promise<void>;
  readonly carried: Carried;
  /** Receives what the Lease carries where it is read again in the middle of the term: another writer changed it. */
  readonly saw: (found: Found) => void;
  readonly announce: (event: EventAction, term: Term) => void;
}

/** Why the Lease is not ours any more. `told`: the API server said so itself. */
interface Loss {
  readonly why: string;
  readonly told: boolean;
}

/** What an attempt to take or to renew the Lease failed with last, and when. */
export interface Failure {
  readonly error: unknown;
  readonly at: Instant;
}

interface Renewal {
  resolve(): void;
  reject(why: Error): void;
}

/** How long a stop may wait for the Lease to be given back. */
const releaseTime: Millis = 3000;

const notInTime: Loss = { why: "the Lease was not renewed in time", told: false };

/** Between two attempts to renew, however slow they are. */
const shortestPause: Millis = 500;

/** One term, from the Lease that was won to the end of its work: renewed meanwhile, given back where it is still ours. */
export class Leadership {
  readonly term: LeaseTerm;
  readonly #ambient: Ambient;
  readonly #parts: LeadershipParts;
  readonly #leaving = new AbortController();
  readonly #bell: WakeSignal;
  readonly #found: Found;
  readonly #renewals = new DurationSample();
  #record: LeaseRecord;
  /** When the attempt began that renewed last. */
  #renewed: Instant;
  /** When the attempt to renew that is under way is over, or the next one begins; later: when the term's work had to end. */
  #next: Instant;
  #why: string | undefined;
  #successor: string | undefined;
  #idle = false;
  #isReleased = false;
  /** Who waits for the next renewal. */
  #waiting: Renewal[] = [];
  #missed = 0;
  #failure: Failure | undefined;

  constructor(
    ambient: Ambient,
    parts: LeadershipParts,
    won: { readonly record: LeaseRecord; readonly began: Instant; readonly written: Instant },
  ) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
    this.#record = won.record;
    this.#found = { annotations: won.record.annotations, written: won.written };
    this.#renewed = won.began;
    this.#next = won.began;
    const until = trustedUntil(won.began, parts.candidate.timing.duration);
    this.term = new LeaseTerm(ambient.clock, { number: won.record.transitions, until });
  }

  get next(): Instant {
    return this.#next;
  }

  get about(): ObjectRef {
    return this.#parts.lock.about(this.#record);
  }

  /** For what is told at its end: stands while nobody else can lead, and not after the Lease was given back. */
  get trusted(): Term {
    const { number, signal } = this.term;
    return { number, signal, standsAt: (now) => this.term.isTrustedAt(now) };
  }

  /** The Lease was given back: whoever comes next need not wait. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  stats(): { readonly renewP95: Millis | undefined; readonly missed: number; readonly failure: Failure | undefined } {
    return { renewP95: this.#renewals.p95, missed: this.#missed, failure: this.#failure };
  }

  /** Ends the term by our own will: the work is stopped and the Lease released, for `successor` where one is named. */
  leave(why: string, successor?: string): void {
    this.#why ??= why;
    this.#successor ??= successor;
    this.#leaving.abort();
  }

  /** Renews without waiting for its time. Once this resolves, the Lease holds what rides along as it was when it was called. */
  renewNow(): Promise<void> {
    if (this.#leaving.signal.aborted) return Promise.reject(new FencedError(`term ${this.term.number} is over`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#bell.ring();
    });
  }

  /**
   * left: by our own will, and the Lease was released. lost: it may be somebody else's. idle: the work ended by itself.
   * Rejects with what the work failed with.
   */
  async run(signal: AbortSignal): Promise<"left" | "lost" | "idle"> {
    const { log } = this.#ambient;
    const term = this.term;
    const stop = (): void => this.leave("the agent stops");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    term.signal.addEventListener("abort", () => this.#leaving.abort(), { once: true });
    term.watch();
    log.info("term began", { term: term.number });
    this.#announce("became leader", term);
    const work = this.#work();
    const lost = await this.#keep();
    for (const { reject } of this.#waiting.splice(0)) reject(new FencedError(`term ${term.number} is over`));
    const ours = lost === undefined && !term.signal.aborted;
    const isAnswered = this.#failure === undefined && (lost?.told ?? this.#why !== undefined);
    term.end(lost?.why ?? this.#why ?? notInTime.why, isAnswered);
    const { reason } = term.signal;
    log[ours ? "info" : "warn"]("term ended", {
      term: term.number,
      reason: reason instanceof TermOver ? reason.why : reason,
    });
    const failure = await work;
    // Somebody else may lead, or will once they see the Lease as it is.
    if (lost?.told) term.forfeit(this.#ambient.clock.now());
    // Told however the term ended, as client-go does; written only while nobody else leads, and before the release is sent.
    this.#announce("stopped leading", this.trusted);
    if (ours) await this.#release();
    signal.removeEventListener("abort", stop);
    if (failure) throw failure.error;
    if (!ours) return "lost";
    return this.#idle ? "idle" : "left";
  }

  /** What fails once the term is over fails because of that. */
  async #work(): Promise<{ readonly error: unknown } | undefined> {
    const { term } = this;
    try {
      await this.#parts.lead(term, this.#found);
      return undefined;
    } catch (error) {
      if (!term.signal.aborted || isFatal(error)) return { error };
      this.#ambient.log.debug("the work of the term was cut short", { error });
      return undefined;
    } finally {
      this.#idle = !this.#leaving.signal.aborted;
      this.leave("its work ended");
    }
  }

  /** Renews until we leave. Answers why, where the Lease is not ours any more. */
  async #keep(): Promise<Loss | undefined> {
    const { clock, log } = this.#ambient;
    const { timing } = this.#parts.candidate;
    const rest = (): Millis => timing.renewDeadline - elapsed(this.#renewed, clock.now());
    const leaving = this.#leaving.signal;
    let attempt = this.#renewed;
    while (!leaving.aborted) {
      // From one attempt to the next: what an attempt without an answer has used up is not waited for again.
      const longest = Math.max(shortestPause, timing.retry - elapsed(attempt, clock.now()));
      const pause = Math.min(longest, Math.max(0, rest()));
      this.#next = shifted(clock.now(), pause);
      await this.#bell.wait(leaving, pause);
      if (leaving.aborted) return undefined;
      if (rest() <= 0) return { why: `no renewal for ${formatDuration(timing.renewDeadline)}`, told: false };
      attempt = clock.now();
      const longestAttempt = Math.min(patience(timing), rest());
      this.#next = shifted(attempt, longestAttempt);
      const bound = within(clock, longestAttempt, leaving);
      try {
        const lost = await this.#renew(bound.signal);
        if (lost !== undefined) return { why: lost, told: true };
        this.#failure = undefined;
      } catch (error) {
        if (leaving.aborted) return undefined;
        if (error instanceof FencedError) return notInTime;
        if (this.#failure === undefined) log[isOfLink(error) ? "debug" : "warn"]("lease not renewed", { error });
        this.#failure = { error, at: clock.now() };
        this.#missed++;
      } finally {
        bound.dispose();
      }
    }
    return undefined;
  }

  /**
   * One renewal. A conflict may be a label that somebody set, or our own renewal whose answer was lost; a server that failed
   * may have written it: we look again, as client-go does. Only where there was no answer another request is in vain.
   */
  async #renew(signal: AbortSignal): Promise<string | undefined> {
    const { lock, sight, saw } = this.#parts;
    try {
      await this.#write(this.#record, signal);
    } catch (error) {
      if (signal.aborted || isOfLink(error) || error instanceof FencedError) throw error;
      const found = await lock.read(signal);
      const step = sight.take(found, true);
      if (step.do !== "renew") return step.do === "stepDown" ? step.why : "the Lease is not ours";
      saw({ annotations: step.record.annotations, written: this.#ambient.clock.now() });
      await this.#write(step.record, signal);
    }
    return undefined;
  }

  async #write(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { lock, sight, candidate } = this.#parts;
    const { duration } = candidate.timing;
    const began = clock.now();
    const asked = this.#waiting.length;
    const renewal = { durationSeconds: writtenSeconds(duration), carried: this.#carried() };
    const guard = fence(clock, this.term);
    guard();
    this.#record = await sight.write(began, () => lock.renew(record, renewal, began, { signal, guard }));
    this.#renewed = began;
    for (const { resolve } of this.#waiting.splice(0, asked)) resolve();
    sight.take(this.#record, true);
    this.#renewals.add(elapsed(began, clock.now()));
    this.term.extend(trustedUntil(began, duration));
  }

  /** Reads first: what is released must still be ours. Not after the term could be somebody else's. */
  async #release(): Promise<void> {
    const { clock, log } = this.#ambient;
    const { lock, candidate, sight } = this.#parts;
    const { until } = this.term;
    const guard = (): void => {
      const now = clock.now();
      if (elapsed(now, until) <= 0) throw new FencedError(`term ${this.term.number} is over`);
      this.term.forfeit(now);
    };
    const limit = Math.min(candidate.timing.renewDeadline, releaseTime);
    const bound = within(clock, limit, new AbortController().signal);
    try {
      for (;;) {
        const record = await lock.read(bound.signal);
        if (sight.take(record, false).do !== "renew" || record === undefined) return;
        try {
          await lock.release(record, this.#successor, clock.now(), { signal: bound.signal, guard });
          this.#isReleased = true;
          log.info("lease released", { term: this.term.number, successor: this.#successor });
          return;
        } catch (error) {
          if (dispositionOf(error) !== "refresh") throw error;
        }
      }
    } catch (error) {
      log.warn("lease not released", { term: this.term.number, error });
    } finally {
      bound.dispose();
    }
  }

  /** A bug in what rides along must not cost the term. */
  #carried(): Readonly<Record<string, string>> {
    const carried: Record<string, string> = {};
    for (const [annotation, tell] of Object.entries(this.#parts.carried)) {
      try {
        const text = tell();
        if (text !== undefined) carried[annotation] = text;
      } catch (error) {
        this.#ambient.log.error("an annotation of the Lease cannot be told", { annotation, error });
      }
    }
    return carried;
  }

  #announce(what: string, term: Term): void {
    const { lock, announce, candidate } = this.#parts;
    const about = lock.about(this.#record);
    const message = `${candidate.identity} ${what}`;
    announce({ do: "event", about, severity: "Normal", reason: "LeaderElection", message }, term);
  }
}
