import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { ConfigError, hintOf, isUnforeseen, sentenceOf } from "../base/errors.ts";
import { writtenSeconds } from "../base/lease-timing.ts";
import type { Progress } from "../base/progress.ts";
import { isFatal } from "../base/reaction.ts";
import { isOfLink, isOvertaken } from "../client/api-error.ts";
import type { ObjectRef } from "../execution/actions.ts";
import { FencedError } from "../execution/fence.ts";
import { Candidacy, type CandidacyDeps, candidateProblems } from "./candidacy.ts";
import { type ElectorView, electorView } from "./elector-view.ts";
import { FollowerPace, type FollowerPaceDeps } from "./follower-pace.ts";
import { type LeaderLock, maxClaimDuration, maxRequestDuration, withTimeout } from "./lease-lock.ts";
import { LeaseObserver } from "./lease-observer.ts";
import type { LeaseRecord } from "./lease-record.ts";
import { type LeaseRenewalHealth, neverWritten } from "./lease-renewal-health.ts";
import type { Candidate, CandidateStep } from "./lease-rules.ts";
import {
  type AcquiredLease,
  type AnnotationSources,
  type ElectionFailure,
  TermRun,
  type TermRunDeps,
} from "./term-run.ts";

export interface ElectorDeps extends Omit<Candidate, "headStart">, CandidacyDeps, FollowerPaceDeps {
  readonly lock: LeaderLock;
  readonly blip: TermRunDeps["blip"];
  /** Emits the Events "became leader" and "stopped leading"; undefined if there are none. */
  readonly announce?: TermRunDeps["announce"];
  /**
   * The highest term that another part of this process has read from the Lease; undefined if none has. It counts like
   * one that the election read itself: the next claim writes a higher one.
   */
  readonly shownTerm?: () => number | undefined;
  /** The highest term that earlier processes of this board saw; undefined if there is none. */
  readonly formerTerm?: number | undefined;
  /** Stores each new highest term, which the next process receives as `formerTerm`. */
  readonly rememberTerm?: (term: number) => void;
  /** Called if the first Lease that is read has a lower term than `formerTerm`, or is missing. */
  readonly termWentBack?: () => void;
}

/** The work of each term, and the annotations that are read from the Lease and written to it. */
export interface LeaderCallbacks {
  /**
   * Does the work of a term until its signal aborts. The Lease is released, or claimed again, only after it has ended.
   */
  readonly lead: TermRunDeps["lead"];
  /** The annotations to write with each renewal. */
  readonly carried: AnnotationSources;
  /** Receives the Lease's annotations after every read by this board, regardless of whether it leads. */
  readonly onRead?: TermRunDeps["onRead"];
}

/** The result of an attempt to acquire the Lease: it was acquired, or another attempt follows after a pause. */
type Attempt = { readonly won: AcquiredLease } | { readonly pause: Millis };

/**
 * Stands for election until the process ends. Losing the Lease ends the work of the term and nothing else.
 *
 * 1. Every board reads the Lease (`LeaseLock`) and times its changes on its own clock, because times written by other
 *    boards mean nothing (`LeaseObserver`; the rules of steps 1 to 4 are in `lease-rules.ts`).
 * 2. While another board holds the Lease, a follower waits until the last change that it saw is a full duration old
 *    (`FollowerPace`).
 * 3. It claims a Lease that is absent, released, expired or held by its own previous process, unless it rests or
 *    `whyNotToStand` objects (`Candidacy`).
 * 4. `#claim` writes the holder and the highest term seen plus one. A conflict means that another board was faster.
 *    The claim has its own time limit. A board whose claims are written but answered too late rests
 *    (`FruitlessClaims`).
 * 5. `#lead` opens a `TermRun`, whose term is trusted from the start of the claim for the duration less a margin
 *    (`LeaseTerm`).
 * 6. `TermRun` runs the work (`lead`) and renews the Lease every `retry`; each renewal extends the trust.
 * 7. `fence` checks the term right before each write of that work, so that nothing is sent once another board may lead.
 * 8. A term ends on stop, on step-down, if its work ends, after `renewDeadline` without a renewal, or if the Lease is
 *    lost.
 * 9. The term's signal aborts. Once the work has ended, a Lease that is still ours is released, so that no board waits
 *    for it.
 * 10. The board follows again, from step 1. After a step-down, it does not stand before its rest has ended. A rest that
 *     an operator ordered also ends once no other board has taken the Lease for the length of a takeover.
 */
export class LeaderElector {
  readonly #ambient: Ambient;
  readonly #deps: ElectorDeps;
  readonly #pace: FollowerPace;
  readonly #candidate: Candidate;
  readonly #observer: LeaseObserver;
  readonly #candidacy: Candidacy;
  readonly #bell: WakeSignal;
  /** The current term of this process, or its last one; undefined if it has never led. */
  #termRun: TermRun | undefined;
  /** Resolves when `#termRun` has ended and its Lease is released, for `handOver` to wait for. */
  #leading: Promise<unknown> = Promise.resolve();
  /** The failure of the last attempt to acquire the Lease; undefined if there was none, or another board was faster. */
  #failure: ElectionFailure | undefined;
  /** If the election has made no progress by this instant, it hangs. */
  #progressDue: Instant | "idle" = "idle";

  constructor(ambient: Ambient, deps: ElectorDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#pace = new FollowerPace(ambient, deps);
    const { identity, board, timing, formerIdentity, formerTerm } = deps;
    this.#candidate = { identity, board, timing, headStart: this.#pace.longest, formerIdentity };
    this.#candidacy = new Candidacy(ambient, deps);
    this.#observer = new LeaseObserver(ambient, {
      candidate: this.#candidate,
      formerTerm,
      shownTerm: deps.shownTerm ?? (() => undefined),
      remember: deps.rememberTerm ?? (() => {}),
      wentBack: deps.termWentBack ?? (() => {}),
    });
    this.#bell = new WakeSignal(ambient.clock);
  }

  /** Runs until the signal aborts, the work of the term has ended and its Lease is released. */
  async run(signal: AbortSignal, callbacks: LeaderCallbacks): Promise<void> {
    const problems = candidateProblems(this.#deps);
    if (problems.length > 0) throw new ConfigError(problems);
    while (!signal.aborted) {
      const next = await this.#tryAcquire(signal, callbacks);
      if ("won" in next) await this.#lead(next.won, signal, callbacks);
      else {
        this.#progressDue = shifted(this.#ambient.clock.now(), next.pause);
        await this.#bell.wait(signal, next.pause);
      }
    }
    this.#progressDue = "idle";
  }

  view(): ElectorView {
    const { identity, timing } = this.#deps;
    const [observer, candidacy, termRun] = [this.#observer, this.#candidacy, this.#termRun];
    const parts = { identity, timing, observer, candidacy, termRun, failure: this.#failure };
    return electorView(parts, this.#ambient.clock.now());
  }

  /** Whether the API server accepts this leader's renewals, and so the heartbeats of boards. */
  get writes(): LeaseRenewalHealth {
    return this.#termRun?.writes ?? neverWritten;
  }

  /** The site's Lease, for Events about the site; undefined if this process has never led. */
  get lease(): ObjectRef | undefined {
    return this.#termRun?.about;
  }

  /** When the current attempt or renewal must have ended, or the next one begins; "idle" outside of `run`. */
  progress(): Progress {
    const [next, renewal] = [this.#progressDue, this.#termRun?.progressDue];
    return { name: "election", at: next !== "idle" && renewal && isAfter(renewal, next) ? renewal : next };
  }

  /** Reads the Lease now, because its holder may be gone. This never shortens a term. */
  readNow(): void {
    this.#bell.ring();
  }

  /** Releases the Lease if this board holds it; the board does not stand again for `rest`. */
  stepDown(why: string, rest: Millis): void {
    this.#candidacy.rest(why, rest);
    this.#termRun?.leave(why);
  }

  /**
   * Releases the Lease on an operator's order, in favour of the board `to` if one is named. This board does not stand
   * again for `rest`, even after a restart, unless no other board takes the Lease. Resolves once the work of the term
   * has ended, to false if the Lease was not ours or could not be released, so that other boards wait until it expires.
   */
  async handOver(
    why: string,
    { rest, to, message }: { readonly rest: Millis; readonly to: string | undefined; readonly message: string },
  ): Promise<boolean> {
    const termRun = this.#termRun;
    // Stored before the release, so that this board does not acquire the Lease again, no matter what happens
    // afterwards.
    this.#candidacy.storeRest(why, rest, { isOrdered: true });
    if (termRun === undefined || termRun.term.over !== undefined) return false;
    const { about, termForLastEvents } = termRun;
    this.#deps.announce?.(
      { do: "event", about, severity: "Normal", reason: "LeaderStepDown", message },
      termForLastEvents,
    );
    termRun.leave(why, to);
    await this.#leading;
    return termRun.isReleased;
  }

  /** Renews the Lease now, with the carried annotations. Rejects if this board does not lead, or stops leading. */
  async renewNow(): Promise<void> {
    if (this.#termRun === undefined) throw new FencedError("another board leads");
    await this.#termRun.renewNow();
  }

  /** Reads the Lease, and claims it if this board may stand and no other process can believe that it leads. */
  async #tryAcquire(signal: AbortSignal, { onRead }: LeaderCallbacks): Promise<Attempt> {
    const { clock } = this.#ambient;
    const { lock, timing } = this.#deps;
    const period = this.#pace.period();
    this.#candidacy.beginAttempt(clock.now());
    try {
      const found = await this.#within(maxRequestDuration(timing), signal, (bound) => lock.read(bound));
      const reading = this.#observer.asCandidate(found);
      const { step, seen } = reading;
      const hadFailed = this.#failure !== undefined;
      this.#failure = undefined;
      const written = seen.changedAt;
      if (found) onRead?.({ lease: found.uid, annotations: found.annotations, written });
      const began = clock.now();
      const mayClaim = this.#candidacy.noteRead(reading, began);
      if (step.do === "wait") {
        // While the Lease is missing, keep reading at short intervals, because otherwise a Lease that is created and
        // deleted in between would go unnoticed.
        if (seen.state.is === "absent") return { pause: period };
        return { pause: this.#pace.untilExpiry(period, step.until, { hadFailed }) };
      }
      if (!mayClaim) return { pause: period };
      const record = await this.#within(maxClaimDuration(timing), signal, (bound) =>
        this.#observer.write(began, () => this.#claim(step, began, bound)),
      );
      this.#observer.noteWritten(record);
      return { won: { record, began, written } };
    } catch (error) {
      if (signal.aborted) return { pause: period };
      // This is a bug, so the next attempt would fail as well, and the log would not show where.
      if (isUnforeseen(error)) throw error;
      this.#candidacy.noteFailure();
      return { pause: this.#failed(error, period) };
    }
  }

  /** One request of an attempt. Each has its own limit, so that a slow read does not reduce the time for the claim. */
  async #within<T>(limit: Millis, signal: AbortSignal, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#ambient;
    const bound = withTimeout(clock, limit, signal);
    this.#progressDue = shifted(clock.now(), limit);
    try {
      return await send(bound.signal);
    } finally {
      bound.dispose();
    }
  }

  /**
   * Writes the claim. If it has been delayed for too long, it is not sent, because the Lease may have changed since.
   */
  #claim(step: Exclude<CandidateStep, { do: "wait" }>, began: Instant, signal: AbortSignal): Promise<LeaseRecord> {
    const { clock } = this.#ambient;
    const { lock, identity, timing } = this.#deps;
    const guard = (): void => {
      if (elapsed(began, clock.now()) > maxRequestDuration(timing))
        throw new FencedError("the request to acquire the Lease was delayed for too long");
    };
    const durationSeconds = writtenSeconds(timing.duration);
    const write = { signal, guard };
    switch (step.do) {
      case "create":
        return lock.create({ holder: identity, durationSeconds, term: step.term }, began, write);
      case "take":
        return lock.take(step.record, { holder: identity, durationSeconds, term: step.term }, began, write);
      case "renew":
        return lock.renew(step.record, { durationSeconds, carried: {} }, began, write);
      default:
        return step satisfies never;
    }
  }

  async #lead(won: AcquiredLease, signal: AbortSignal, callbacks: LeaderCallbacks): Promise<void> {
    const { clock, log } = this.#ambient;
    const { lock, blip, announce = () => {}, timing } = this.#deps;
    const { lead, carried, onRead = () => {} } = callbacks;
    const [candidate, observer] = [this.#candidate, this.#observer];
    const deps = { lock, blip, lead, carried, onRead, announce, candidate, observer };
    const last = this.#termRun;
    // Renewals that failed until the last term ended may have begun an outage, which only this claim ends.
    const before = last?.term.number === won.record.term ? last.writes : undefined;
    const termRun = new TermRun(this.#ambient, deps, won, before);
    const { term } = termRun;
    const now = clock.now();
    // If the answer arrived too late, the next attempt reads the Lease again.
    if (!term.standsAt(now)) return this.#candidacy.noteLateAnswer(now);
    this.#termRun = termRun;
    this.#candidacy.noteTermBegun();
    try {
      const run = termRun.run(signal);
      this.#leading = run.catch(() => {});
      const ending = await run;
      if (ending.is === "left" && ending.byWork) this.#candidacy.rest("the term's controllers ended", timing.duration);
    } catch (error) {
      if (isFatal(error)) throw error;
      log.error("the controllers of this term failed", { term: term.number, error });
      this.#candidacy.rest(`the term's controllers failed: ${sentenceOf(error)}`, timing.duration);
    } finally {
      if (term.over) {
        const { ending, at } = term.over;
        this.#candidacy.noteTermEnded(ending, { isRenewed: termRun.isRenewed, lasted: elapsed(won.began, at) });
      }
      this.#progressDue = clock.now();
    }
  }

  /** Reports a failed attempt. Returns the pause after it. */
  #failed(error: unknown, period: Millis): Millis {
    const { clock, log } = this.#ambient;
    if (isOvertaken(error)) {
      log.debug("another board acquired the Lease first", { error });
      return this.#pace.afterOvertaken(period);
    }
    const isFirst = this.#failure === undefined;
    if (isFirst) log[isOfLink(error) ? "debug" : "warn"]("lease not acquired", { error, hint: hintOf(error) });
    this.#failure = { error, at: clock.now() };
    return this.#pace.afterFailure(period, { isFirst });
  }
}
