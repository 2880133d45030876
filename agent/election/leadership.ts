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

/** The Lease's annotations when the term began. */
export interface Found {
  readonly annotations: Readonly<Record<string, string>>;
  /** The annotations were written before this instant. */
  readonly written: Instant;
}

/** Annotations to write with each renewal; undefined: the annotation is left as it is. */
export type Carried = Readonly<Record<string, () => string | undefined>>;

export interface LeadershipParts {
  readonly lock: LeaderLock;
  readonly candidate: Candidate;
  readonly sight: LeaseObserver;
  /** The work of a term, until its signal aborts. Until it ends, this board neither leads again nor releases. */
  readonly lead: (term: Term, found: Found) => Promise<void>;
  readonly carried: Carried;
  /** Receives the annotations when the Lease is read again during the term because another writer changed it. */
  readonly saw: (found: Found) => void;
  readonly announce: (event: EventAction, term: Term) => void;
}

/** Why the Lease is no longer ours. `told`: the API server's answer showed it. */
interface Loss {
  readonly why: string;
  readonly told: boolean;
}

/** The last error of an attempt to acquire or renew the Lease, and when it occurred. */
export interface Failure {
  readonly error: unknown;
  readonly at: Instant;
}

interface Renewal {
  resolve(): void;
  reject(why: Error): void;
}

/** How long a stop may wait for the release of the Lease. */
const releaseTime: Millis = 3000;

const notInTime: Loss = { why: "the Lease was not renewed in time", told: false };

/** Between two attempts to renew, however slow they are. */
const shortestPause: Millis = 500;

/** One term, from the acquired Lease to the end of its work: renews the Lease, and releases it if it is still ours. */
export class Leadership {
  readonly term: LeaseTerm;
  readonly #ambient: Ambient;
  readonly #parts: LeadershipParts;
  readonly #leaving = new AbortController();
  readonly #bell: WakeSignal;
  readonly #found: Found;
  readonly #renewals = new DurationSample();
  #record: LeaseRecord;
  /** When the attempt began that renewed the Lease last. */
  #renewed: Instant;
  /** When the renewal under way must be over, or the next one begins. Stands still once the term has ended. */
  #next: Instant;
  #why: string | undefined;
  #successor: string | undefined;
  #idle = false;
  #isReleased = false;
  /** Callers of `renewNow` that wait for the next renewal. */
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

  /** The term for the Events about its end: stands while no other board can lead, until the release is sent. */
  get trusted(): Term {
    const { number, signal } = this.term;
    return { number, signal, standsAt: (now) => this.term.isTrustedAt(now) };
  }

  /** The Lease was released: the next leader need not wait. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  stats(): { readonly renewP95: Millis | undefined; readonly missed: number; readonly failure: Failure | undefined } {
    return { renewP95: this.#renewals.p95, missed: this.#missed, failure: this.#failure };
  }

  /** Ends the term by our own decision: stops the work and releases the Lease, for `successor` if one is named. */
  leave(why: string, successor?: string): void {
    this.#why ??= why;
    this.#successor ??= successor;
    this.#leaving.abort();
  }

  /** Renews at once. When it resolves, the Lease carries the annotations as they were at the call, or newer. */
  renewNow(): Promise<void> {
    if (this.#leaving.signal.aborted) return Promise.reject(new FencedError(`term ${this.term.number} is over`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#bell.ring();
    });
  }

  /**
   * left: ended by our own decision, with a Lease that was ours to release. lost: another board may hold it. idle: the
   * work ended by itself. Rejects with the error of the work.
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
    // Another board may lead already, or will once it reads the Lease.
    if (lost?.told) term.forfeit(this.#ambient.clock.now());
    // Announced however the term ended, as client-go does; the fence drops it once another board may lead or the
    // release is sent.
    this.#announce("stopped leading", this.trusted);
    if (ours) await this.#release();
    signal.removeEventListener("abort", stop);
    if (failure) throw failure.error;
    if (!ours) return "lost";
    return this.#idle ? "idle" : "left";
  }

  /** Errors after the term ended are a consequence of its end. */
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

  /** Renews until we leave. Returns the reason if the Lease was lost. */
  async #keep(): Promise<Loss | undefined> {
    const { clock, log } = this.#ambient;
    const { timing } = this.#parts.candidate;
    const rest = (): Millis => timing.renewDeadline - elapsed(this.#renewed, clock.now());
    const leaving = this.#leaving.signal;
    let attempt = this.#renewed;
    while (!leaving.aborted) {
      // Measured from attempt to attempt: the time that an unanswered attempt took is not waited for again.
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
   * One renewal. A conflict may come from another writer's label, or from our own renewal whose answer was lost; after
   * a server error the renewal may have been written. Then the Lease is read and renewed again, as in client-go.
   * Without any answer another request is pointless.
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

  /** Reads first: only a Lease that is still ours is released, and not after the trust in the term has run out. */
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

  /** A bug in the source of an annotation must not cost the term. */
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
