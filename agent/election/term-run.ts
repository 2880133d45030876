import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { dispositionOf } from "../base/errors.ts";
import { type LeaseTiming, trustedUntil, writtenSeconds } from "../base/lease-timing.ts";
import { isFatal } from "../base/reaction.ts";
import { formatDuration } from "../base/time/duration.ts";
import { DurationSample } from "../base/time/duration-sample.ts";
import { isOfLink } from "../client/api-error.ts";
import type { EventAction, ObjectRef } from "../execution/actions.ts";
import { FencedError, fence, type Term } from "../execution/fence.ts";
import { type CarriedTexts, type LeaderLock, maxRequestDuration, withTimeout } from "./lease-lock.ts";
import type { LeaseObserver } from "./lease-observer.ts";
import type { LeaseRecord } from "./lease-record.ts";
import {
  firstWrite,
  type LeaseRenewalHealth,
  recordAttempt,
  recordFailure,
  recordSuccess,
} from "./lease-renewal-health.ts";
import type { Candidate } from "./lease-rules.ts";
import { LeaseTerm, type TermEnding, type TermLimits } from "./term.ts";

/** The Lease's annotations, as found by a read or at the start of a term. */
export interface LeaseAnnotations {
  /** The uid of the Lease. */
  readonly lease: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The annotations were written before this instant. */
  readonly written: Instant;
}

/**
 * The annotations to write with each renewal, as functions that return their texts; undefined for one that is not
 * written, null for one that is removed.
 */
export type AnnotationSources = Readonly<Record<string, () => string | null | undefined>>;

export interface TermRunDeps {
  readonly lock: LeaderLock;
  readonly candidate: Candidate;
  readonly observer: LeaseObserver;
  /** The longest interruption of writes that is not an outage. */
  readonly blip: Millis;
  /**
   * Does the work of a term until its signal aborts. The Lease is released, or claimed again, only after it has ended.
   */
  readonly lead: (term: Term, found: LeaseAnnotations) => Promise<void>;
  readonly carried: AnnotationSources;
  /** Receives the annotations after a read during the term, which happens if another writer has changed the Lease. */
  readonly onRead: (found: LeaseAnnotations) => void;
  readonly announce: (event: EventAction, term: Term) => void;
}

/** An acquired Lease. */
export interface AcquiredLease {
  readonly record: LeaseRecord;
  /** When the claim was begun. */
  readonly began: Instant;
  /** The instant before which the annotations of `record` were written. */
  readonly written: Instant;
}

/** The last error of an attempt to acquire or renew the Lease, and when it occurred. */
export interface ElectionFailure {
  readonly error: unknown;
  readonly at: Instant;
}

/** A waiting caller of `renewNow`. */
interface Renewal {
  resolve(): void;
  reject(why: Error): void;
}

/** How long a stop may wait for the release of the Lease. */
const releaseTime: Millis = 3000;

/** Shortest pause between two attempts to renew, regardless of how long they take. */
const minPause: Millis = 500;

/**
 * Runs one term, from the acquired Lease to the end of the term's work. Renews the Lease meanwhile, and releases it at
 * the end if it is still ours. The end of the term is recorded once, in `term.over`; the term's signal stops the work
 * and the renewals.
 */
export class TermRun {
  readonly term: LeaseTerm;
  readonly #ambient: Ambient;
  readonly #deps: TermRunDeps;
  readonly #bell: WakeSignal;
  readonly #found: LeaseAnnotations;
  readonly #renewals = new DurationSample();
  #record: LeaseRecord;
  /** When the last successful attempt to renew the Lease began. */
  #renewed: Instant;
  /** When the current renewal must have ended, or the next one begins. Unchanged once the term has ended. */
  #progressDue: Instant;
  #isReleased = false;
  /** Callers of `renewNow` that wait for the next renewal. */
  #waiting: Renewal[] = [];
  #missed = 0;
  #failure: ElectionFailure | undefined;
  #writes: LeaseRenewalHealth;

  /** `before`: the health of writes when this process's last term ended, if no other board has led since. */
  constructor(ambient: Ambient, deps: TermRunDeps, won: AcquiredLease, before: LeaseRenewalHealth | undefined) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
    this.#record = won.record;
    this.#found = { lease: won.record.uid, annotations: won.record.annotations, written: won.written };
    this.#renewed = won.began;
    this.#progressDue = won.began;
    const now = ambient.clock.now();
    this.#writes = before ? recordSuccess(before, won.began, deps.blip, now) : firstWrite(won.began, now);
    const limits = limitsOf(won.began, deps.candidate.timing);
    this.term = new LeaseTerm(ambient.clock, { number: won.record.term, ...limits });
  }

  get progressDue(): Instant {
    return this.#progressDue;
  }

  get writes(): LeaseRenewalHealth {
    return this.#writes;
  }

  get about(): ObjectRef {
    return this.#deps.lock.about(this.#record);
  }

  /** The term for Events about its own end: it remains valid as long as no other board can lead. */
  get termForLastEvents(): Term {
    const { number, signal } = this.term;
    return { number, signal, standsAt: (now) => this.term.isTrustedAt(now) };
  }

  /** Whether the Lease was released; the next leader then need not wait. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Whether a renewal was answered during the term. */
  get isRenewed(): boolean {
    return this.#renewals.p95 !== undefined;
  }

  stats(): {
    readonly renewP95: Millis | undefined;
    readonly missed: number;
    readonly failure: ElectionFailure | undefined;
  } {
    return { renewP95: this.#renewals.p95, missed: this.#missed, failure: this.#failure };
  }

  /**
   * Ends the term by our own decision: stops the work and releases the Lease, in favour of `successor` if one is named.
   */
  leave(why: string, successor?: string): void {
    this.#end({ is: "left", why, byWork: false, successor });
  }

  /** Renews now. Once this resolves, the Lease has the annotations as of this call, or newer ones. */
  renewNow(): Promise<void> {
    if (this.term.over) return Promise.reject(new FencedError(`term ${this.term.number} has ended`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#bell.ring();
    });
  }

  /**
   * Runs the term. Resolves once its work has ended and the Lease is released or lost; rejects with the work's error.
   */
  async run(signal: AbortSignal): Promise<TermEnding> {
    const { log } = this.#ambient;
    const { term } = this;
    term.startTimer();
    log.info("term began", { term: term.number });
    this.#announce("became leader", term);

    const work = this.#work();
    const stop = (): void => this.leave("the agent is stopping");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const ending = await this.#renewUntilOver();
    const unsure = `term ${term.number} has ended; the Lease may have been written before that, so the change may take effect under the next leader`;
    for (const { reject } of this.#waiting.splice(0)) reject(new FencedError(unsure));
    log[ending.is === "left" ? "info" : "warn"]("term ended", { term: term.number, reason: ending.why });
    const failure = await work;

    // Announced regardless of how the term ended, as in client-go. The fence drops the Event once another board may
    // lead.
    this.#announce("stopped leading", this.termForLastEvents);
    if (ending.is === "left") await this.#release(ending.successor);
    signal.removeEventListener("abort", stop);
    if (failure) throw failure.error;
    return ending;
  }

  /** Ends the term, unless it has already ended. */
  #end(ending: TermEnding): void {
    this.term.end(ending, { serverAnswered: ending.is !== "expired" && this.#failure === undefined });
  }

  /**
   * Runs the work of the term and returns its error. An error after the end of the term is a consequence of that end.
   */
  async #work(): Promise<{ readonly error: unknown } | undefined> {
    const { term } = this;
    try {
      await this.#deps.lead(term.forWork, this.#found);
      return undefined;
    } catch (error) {
      if (!term.signal.aborted || isFatal(error)) return { error };
      this.#ambient.log.debug("the end of the term interrupted its work", { error });
      return undefined;
    } finally {
      this.#end({ is: "left", why: "the term's controllers ended", byWork: true, successor: undefined });
    }
  }

  /**
   * Renews every `retry` until the term ends. Returns how it ended. After a failure, the next attempt follows within a
   * quarter of a blip, so that one lost request does not count as an outage.
   */
  async #renewUntilOver(): Promise<TermEnding> {
    const { clock, log } = this.#ambient;
    const { term } = this;
    const { timing } = this.#deps.candidate;
    const rest = (): Millis => timing.renewDeadline - elapsed(this.#renewed, clock.now());
    let attempt = this.#renewed;
    for (;;) {
      if (term.over) return term.over.ending;
      // The pause counts from the start of the last attempt, so it includes the duration of that attempt.
      const period = this.#writes.failures > 0 ? Math.min(timing.retry, this.#deps.blip / 4) : timing.retry;
      const longest = Math.max(minPause, period - elapsed(attempt, clock.now()));
      const pause = Math.min(longest, Math.max(0, rest()));
      this.#progressDue = shifted(clock.now(), pause);
      await this.#bell.wait(term.signal, pause);
      if (term.over) continue;
      if (rest() <= 0) {
        this.#end({ is: "expired", why: `no renewal for ${formatDuration(timing.renewDeadline)}` });
        continue;
      }
      attempt = clock.now();
      const longestAttempt = Math.min(maxRequestDuration(timing), rest());
      this.#progressDue = shifted(attempt, longestAttempt);
      const bound = withTimeout(clock, longestAttempt, term.signal);
      this.#writes = recordAttempt(this.#writes, attempt);
      try {
        const lost = await this.#renew(bound.signal);
        if (lost) {
          this.#end(lost);
          continue;
        }
        this.#failure = undefined;
        this.#writes = recordSuccess(this.#writes, attempt, this.#deps.blip, clock.now());
      } catch (error) {
        if (term.over) continue;
        this.#writes = recordFailure(this.#writes);
        if (error instanceof FencedError) {
          this.#end({ is: "expired", why: "the Lease was not renewed in time" });
          continue;
        }
        if (this.#failure === undefined) log[isOfLink(error) ? "debug" : "warn"]("lease not renewed", { error });
        this.#failure = { error, at: clock.now() };
        this.#missed++;
      } finally {
        bound.dispose();
      }
    }
  }

  /**
   * One renewal. Returns how the term ends if the Lease is no longer ours. After a conflict or a server error, the
   * Lease is read and renewed again, as in client-go, because another client may have changed a label, or our own
   * renewal may have been written although its answer was lost. Without any answer, another request is pointless.
   */
  async #renew(signal: AbortSignal): Promise<TermEnding | undefined> {
    const { lock, observer, onRead } = this.#deps;
    try {
      await this.#write(this.#record, signal);
    } catch (error) {
      if (signal.aborted || isOfLink(error) || error instanceof FencedError) throw error;
      const found = await lock.read(signal);
      const step = observer.asLeader(found);
      if (step.do === "stepDown") return { is: "lost", why: step.why };
      onRead({ lease: step.record.uid, annotations: step.record.annotations, written: this.#ambient.clock.now() });
      await this.#write(step.record, signal);
    }
    return undefined;
  }

  async #write(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { lock, observer, candidate } = this.#deps;
    const { duration } = candidate.timing;
    const began = clock.now();
    // A caller that arrives during this write waits for the next write, which carries its annotations.
    const callers = this.#waiting.length;
    const renewal = { durationSeconds: writtenSeconds(duration), carried: this.#carried() };
    const guard = fence(clock, this.term);
    guard();
    this.#record = await observer.write(began, () => lock.renew(record, renewal, began, { signal, guard }));
    this.#renewed = began;
    for (const { resolve } of this.#waiting.splice(0, callers)) resolve();
    observer.noteWritten(this.#record);
    this.#renewals.add(elapsed(began, clock.now()));
    this.term.extend(limitsOf(began, candidate.timing));
  }

  /** Releases the Lease if a read shows that it is still ours, but only as long as no other board can lead. */
  async #release(successor: string | undefined): Promise<void> {
    const { clock, log } = this.#ambient;
    const { lock, candidate, observer } = this.#deps;
    const { until } = this.term;
    const guard = (): void => {
      const now = clock.now();
      if (!isAfter(until, now)) throw new FencedError(`term ${this.term.number} has ended`);
      this.term.forfeit(now);
    };
    const limit = Math.min(candidate.timing.renewDeadline, releaseTime);
    const bound = withTimeout(clock, limit, new AbortController().signal);
    try {
      for (;;) {
        const record = await lock.read(bound.signal);
        const { step } = observer.asCandidate(record);
        if (step.do !== "renew") return;
        try {
          await lock.release(step.record, successor, clock.now(), { signal: bound.signal, guard });
          this.#isReleased = true;
          log.info("lease released", { term: this.term.number, successor });
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

  /** The texts of the carried annotations. An error in one of them is logged but does not end the term. */
  #carried(): CarriedTexts {
    const carried: Record<string, string | null> = {};
    for (const [annotation, textOf] of Object.entries(this.#deps.carried)) {
      try {
        const text = textOf();
        if (text !== undefined) carried[annotation] = text;
      } catch (error) {
        this.#ambient.log.error("the content of a Lease annotation cannot be built", { annotation, error });
      }
    }
    return carried;
  }

  #announce(what: string, term: Term): void {
    const { lock, announce, candidate } = this.#deps;
    const about = lock.about(this.#record);
    const message = `${candidate.identity} ${what}`;
    announce({ do: "event", about, severity: "Normal", reason: "LeaderElection", message }, term);
  }
}

/** The limits of a term whose claim or latest renewal began at `attempt`. */
const limitsOf = (attempt: Instant, { duration, renewDeadline }: LeaseTiming): TermLimits => ({
  until: trustedUntil(attempt, duration),
  deadline: shifted(attempt, renewDeadline),
});
