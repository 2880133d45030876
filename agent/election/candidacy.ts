import type { Ambient } from "../base/ambient.ts";
import { earlierOf, elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, timingProblems } from "../base/lease-timing.ts";
import { maxTakeover } from "./follower-pace.ts";
import { type ClaimRest, FruitlessClaims } from "./fruitless-claims.ts";
import type { CandidateReading } from "./lease-observer.ts";
import type { Candidate } from "./lease-rules.ts";
import type { TermEnding } from "./term.ts";

/** A period in which this board does not stand for election. */
export interface CandidacyBackoff {
  readonly until: Instant;
  readonly why: string;
  /** An operator ordered it. */
  readonly isOrdered?: true | undefined;
}

export interface CandidacyDeps {
  readonly timing: LeaseTiming;
  /**
   * Why this board should not lead now; undefined if it may stand for election. `leaderlessFor`: how long the Lease has
   * been free.
   */
  readonly whyNotToStand: (leaderlessFor: Millis) => string | undefined;
  /** Called when this board leaves a free Lease to others. */
  readonly standsAside?: () => void;
  /**
   * Stores the rest for this board's next process (`formerRest`); called before the Lease is released. `undefined`
   * deletes the stored rest.
   */
  readonly rememberRest?: (rest: CandidacyBackoff | undefined) => void;
  /** The rest stored by an earlier process of this board; undefined if there is none. */
  readonly formerRest?: CandidacyBackoff | undefined;
}

/**
 * Decides whether this board stands for election: not while it rests, nor while `whyNotToStand` objects. The elector
 * calls it in this order:
 *
 * 1. `beginAttempt`, before the Lease is read: ends a rest that is over.
 * 2. `noteRead`, after the read: decides whether the Lease is claimed now.
 * 3. If the Lease is claimed, either `noteTermBegun` or `noteLateAnswer`. If the read or the claim failed,
 *    `noteFailure`.
 * 4. `noteTermEnded`, for a term that had begun.
 */
export class Candidacy {
  readonly #ambient: Ambient;
  readonly #deps: CandidacyDeps;
  readonly #fruitless: FruitlessClaims;
  /** `isStored`: whether later processes of this board observe the rest too. */
  #rest: (CandidacyBackoff & { readonly isStored: boolean }) | undefined;
  /** When this board first found the Lease free to claim; undefined if it was not free at the last read. */
  #freeSince: Instant | undefined;
  /**
   * When this board last read that the Lease is free to claim; undefined if the last read failed, or showed it held.
   */
  #freeAt: Instant | undefined;
  /**
   * For how long reads have shown the Lease to be free since it was last held. Time in which reads failed does not
   * count, because the other boards may not have been able to claim it either.
   */
  #shownFree: Millis = 0;
  /** The `reason` when this board last found the Lease free. */
  #reason: string | undefined;

  constructor(ambient: Ambient, deps: CandidacyDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#fruitless = new FruitlessClaims(deps.timing);
    this.#rest = deps.formerRest && { ...deps.formerRest, isStored: true };
  }

  /** When the current rest ordered by an operator ends if the Lease stays as it is; undefined if there is none. */
  orderedUntil(now: Instant): Instant | undefined {
    if (!this.#rest?.isOrdered || !this.#isResting(now)) return undefined;
    const { until } = this.#rest;
    if (this.#freeAt === undefined) return until;
    const unused = shifted(this.#freeAt, Math.max(0, maxTakeover(this.#deps.timing) - this.#shownFree));
    return earlierOf(until, unused);
  }

  /** Whether, at the last answer, no board held the Lease, or its holder had not renewed it in time. */
  get isLeaderless(): boolean {
    return this.#freeSince !== undefined;
  }

  /** Why this board does not stand for election; undefined if it stands. */
  reason(now: Instant): string | undefined {
    if (this.#rest && isAfter(this.#rest.until, now)) return this.#rest.why;
    return this.#deps.whyNotToStand(this.#freeSince ? elapsed(this.#freeSince, now) : 0);
  }

  /** Why this board does not lead although its claims are written to the Lease; undefined if that is not the case. */
  get fruitless(): string | undefined {
    return this.#fruitless.isEmpty ? undefined : tooLate;
  }

  /** Forgets a rest that has ended, and deletes it from the store, because a stored rest starts over after a reboot. */
  beginAttempt(now: Instant): void {
    if (this.#rest !== undefined && !this.#isResting(now)) this.#endRest(this.#rest);
  }

  /** Takes note of a read of the Lease. Returns whether this board claims the Lease now. */
  noteRead({ step, seen, isUnanswered }: CandidateReading, now: Instant): boolean {
    if (isUnanswered) this.noteLateAnswer(now);
    if (seen.state.is === "held") this.#fruitless.onOtherHolder();
    if (step.do === "wait") {
      this.#noteNotFree();
      return false;
    }
    this.#noteFree(now);
    this.#endUnusedRest(now);
    if (!this.#stands(now)) return false;
    this.#fruitless.onClaimSent();
    return true;
  }

  /** The claim won a term that can still be trusted. */
  noteTermBegun(): void {
    this.#noteNotFree();
  }

  /** A claim was written, but its answer did not arrive, or arrived too late for the term to be trusted. */
  noteLateAnswer(now: Instant): void {
    this.#restAfterClaim(this.#fruitless.onUnansweredClaim(this.#isResting(now)));
  }

  /** The Lease could not be read or claimed. */
  noteFailure(): void {
    this.#freeAt = undefined;
  }

  /** A term of this board has ended. `isRenewed`: whether a renewal was answered during it. */
  noteTermEnded(ending: TermEnding, term: { readonly isRenewed: boolean; readonly lasted: Millis }): void {
    const isResting = this.#isResting(this.#ambient.clock.now());
    this.#restAfterClaim(this.#fruitless.onTermEnded(ending, { ...term, isResting }));
  }

  /** Keeps this board from standing for election for `duration`. A restart ends this rest. */
  rest(why: string, duration: Millis): void {
    this.#rest = { until: shifted(this.#ambient.clock.now(), duration), why, isStored: false };
  }

  /**
   * Keeps this board from standing for election for `duration`, even after a restart. If the rest cannot be stored,
   * throws without beginning it.
   */
  storeRest(why: string, duration: Millis, ordered: Pick<CandidacyBackoff, "isOrdered"> = {}): void {
    const rest: CandidacyBackoff = { until: shifted(this.#ambient.clock.now(), duration), why, ...ordered };
    this.#deps.rememberRest?.(rest);
    this.#rest = { ...rest, isStored: true };
  }

  #noteFree(now: Instant): void {
    this.#freeSince ??= now;
    this.#shownFree += this.#freeAt ? elapsed(this.#freeAt, now) : 0;
    this.#freeAt = now;
  }

  #noteNotFree(): void {
    this.#freeSince = undefined;
    this.#freeAt = undefined;
    this.#shownFree = 0;
  }

  /** Whether this board may claim the Lease, which is free. Logs when the reason changes. */
  #stands(now: Instant): boolean {
    const reason = this.reason(now);
    if (reason !== this.#reason) {
      this.#ambient.log.info(reason ? "not standing for election" : "standing for election again", { reason });
    }
    this.#reason = reason;
    if (reason !== undefined) this.#deps.standsAside?.();
    return reason === undefined;
  }

  #restAfterClaim(rest: ClaimRest | undefined): void {
    const { clock, log } = this.#ambient;
    if (rest?.do === "begin" && rest.isStored) {
      try {
        this.storeRest(tooLate, rest.duration);
      } catch (error) {
        log.warn("cannot store how long this board must not stand for election", { error });
        this.rest(tooLate, rest.duration);
      }
    } else if (rest?.do === "begin") this.rest(tooLate, rest.duration);
    else if (rest?.do === "prolong" && this.#rest?.why === tooLate && this.#isResting(clock.now()))
      this.#rest = { ...this.#rest, until: shifted(clock.now(), rest.duration) };
  }

  #isResting(now: Instant): boolean {
    return this.#rest !== undefined && isAfter(this.#rest.until, now);
  }

  /** An operator who orders a rest wants another board to lead. If none takes the Lease, the order is pointless. */
  #endUnusedRest(now: Instant): void {
    const rest = this.#rest;
    if (!rest?.isOrdered || !this.#isResting(now) || this.#shownFree < maxTakeover(this.#deps.timing)) return;
    this.#ambient.log.warn(
      "the hold-off ordered with leader.step-down ends early: no other board has taken the Lease",
      {
        left: elapsed(now, rest.until),
      },
    );
    this.#endRest(rest);
  }

  #endRest({ isStored }: { readonly isStored: boolean }): void {
    this.#rest = undefined;
    if (!isStored) return;
    try {
      this.#deps.rememberRest?.(undefined);
    } catch (error) {
      this.#ambient.log.warn("cannot store that this board stands for election again", { error });
    }
  }
}

const tooLate = "its claims reach the Lease, but the answers arrive too late for it to lead";

/** The problems of a candidate's configuration, as sentences; empty if there are none. */
export function candidateProblems({ timing, identity }: Candidate): readonly string[] {
  const problems = timingProblems(timing).map(({ setting, message }) => `leader.${setting}: ${message}`);
  if (identity === "") problems.push("the identity that stands for election must not be empty");
  return problems;
}
