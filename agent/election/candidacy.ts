import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, timingProblems } from "../base/lease-timing.ts";
import type { Candidate } from "./lease-rules.ts";
import type { TermEnding } from "./term.ts";

/** A period in which this board does not stand for election. */
export interface Rest {
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
  readonly rememberRest?: (rest: Rest | undefined) => void;
  /** The rest stored by an earlier process of this board; undefined if there is none. */
  readonly formerRest?: Rest | undefined;
}

/** After this many fruitless claims in a row, and after each additional one, the board rests. */
const mostFruitless = 2;

/**
 * Slightly longer than a takeover, in which another board claims the Lease within two durations and a retry after the
 * last write to it (`FollowerPace`).
 */
export const longestTakeover = ({ duration, retry }: LeaseTiming): Millis => 2 * (duration + retry);

/** How long it rests if no other board made use of the last such rest. */
const briefRest = ({ retry }: LeaseTiming): Millis => 2 * retry;

/**
 * After this many brief rests in a row, there is a full one again, for the benefit of a board that has only recently
 * become a standby.
 */
const mostBriefRests = 3;

/** A term that lasted for this many lease durations was worth its claim, regardless of how it ended. */
const heldDurations = 5;

/** Decides whether this board stands for election: not while it rests, nor while `whyNotToStand` objects. */
export class Candidacy {
  readonly #ambient: Ambient;
  readonly #deps: CandidacyDeps;
  /** `isStored`: whether later processes of this board observe the rest too. */
  #rest: (Rest & { readonly isStored: boolean }) | undefined;
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
  /** The reason at the last `check`. */
  #reason: string | undefined;
  /**
   * Consecutive claims that were written to the Lease without winning a term that lasted. They keep the other boards
   * from leading, although this one does not lead either.
   */
  #fruitless = 0;
  /**
   * The number of rests after fruitless claims since another board last held the Lease, or a term of this board last
   * lasted.
   */
  #rests = 0;
  /** Whether `#fruitless` includes the last claim, or the term that it won. */
  #isCounted = false;

  constructor(ambient: Ambient, deps: CandidacyDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#rest = deps.formerRest && { ...deps.formerRest, isStored: true };
  }

  /** When the current rest ordered by an operator ends unless the Lease changes; undefined if there is none. */
  orderedUntil(now: Instant): Instant | undefined {
    if (!this.#rest?.isOrdered || !this.#isResting(now)) return undefined;
    const { until } = this.#rest;
    if (this.#freeAt === undefined) return until;
    const unused = shifted(this.#freeAt, Math.max(0, longestTakeover(this.#deps.timing) - this.#shownFree));
    return isAfter(until, unused) ? unused : until;
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

  /** Whether this board may claim the Lease, which is free. Logs when the reason changes. */
  check(now: Instant): boolean {
    this.#freeSince ??= now;
    this.#shownFree += this.#freeAt ? elapsed(this.#freeAt, now) : 0;
    this.#freeAt = now;
    this.#endUnusedRest(now);
    const reason = this.reason(now);
    if (reason !== this.#reason) {
      this.#ambient.log.info(reason ? "not standing for election" : "standing for election again", { reason });
    }
    this.#reason = reason;
    if (reason !== undefined) this.#deps.standsAside?.();
    return reason === undefined;
  }

  /** Why this board does not lead although its claims are written to the Lease; undefined if that is not the case. */
  get fruitless(): string | undefined {
    return this.#fruitless === 0 ? undefined : tooLate;
  }

  /** This board is about to send a claim. */
  claims(): void {
    this.#isCounted = false;
  }

  /** A read showed a claim, or a renewal, whose answer did not arrive in time. */
  foundUnanswered(): void {
    const now = this.#ambient.clock.now();
    if (!this.#isCounted) this.#countFruitless();
    // The write arrived after the rest had begun, so the other boards wait from then on.
    else if (this.#rest?.why === tooLate && this.#isResting(now))
      this.#rest = { ...this.#rest, until: shifted(now, this.#lengthOfRest(this.#rests - 1)) };
  }

  /**
   * A term of this board has ended. `isRenewed`: whether a renewal was answered during it. An expired term that was
   * renewed only for a while counts as fruitless if the next read shows that its last renewals were written.
   */
  termEnded({ is }: TermEnding, { isRenewed, lasted }: { readonly isRenewed: boolean; readonly lasted: Millis }): void {
    if (!isRenewed) {
      if (is === "expired") this.#countFruitless();
    } else if (is !== "expired" || lasted >= heldDurations * this.#deps.timing.duration) this.#endRow();
  }

  /** Another board holds the Lease, so this one does not keep it from any board. */
  otherHolds(): void {
    this.#endRow();
  }

  #endRow(): void {
    this.#fruitless = 0;
    this.#rests = 0;
  }

  /** The Lease is not free to claim. */
  leaseIsHeld(): void {
    this.#freeSince = undefined;
    this.#freeAt = undefined;
    this.#shownFree = 0;
  }

  /** The Lease could not be read or claimed. */
  attemptFailed(): void {
    this.#freeAt = undefined;
  }

  /** Makes this board not stand for `duration`. A restart ends this rest. */
  rest(why: string, duration: Millis): void {
    this.#rest = { until: shifted(this.#ambient.clock.now(), duration), why, isStored: false };
  }

  /**
   * Makes this board not stand for `duration`, even after a restart. If the rest cannot be stored, throws without
   * beginning it.
   */
  storeRest(why: string, duration: Millis, ordered: Pick<Rest, "isOrdered"> = {}): void {
    const rest: Rest = { until: shifted(this.#ambient.clock.now(), duration), why, ...ordered };
    this.#deps.rememberRest?.(rest);
    this.#rest = { ...rest, isStored: true };
  }

  #countFruitless(): void {
    const { clock, log } = this.#ambient;
    this.#fruitless++;
    this.#isCounted = true;
    if (this.#fruitless < mostFruitless || this.#isResting(clock.now())) return;
    const duration = this.#lengthOfRest(this.#rests++);
    // Only the first of several rests in a row is stored, because otherwise an outage of days would cost a write to
    // flash every few minutes.
    if (this.#fruitless > mostFruitless) {
      this.rest(tooLate, duration);
      return;
    }
    try {
      this.storeRest(tooLate, duration);
    } catch (error) {
      log.warn("this board's rest from leading cannot be stored", { error });
      this.rest(tooLate, duration);
    }
  }

  /** A full rest in which no other board took the Lease shows that there is no standby. */
  #lengthOfRest(before: number): Millis {
    const isWhole = before % (mostBriefRests + 1) === 0;
    return isWhole ? longestTakeover(this.#deps.timing) : briefRest(this.#deps.timing);
  }

  #isResting(now: Instant): boolean {
    return this.#rest !== undefined && isAfter(this.#rest.until, now);
  }

  /** Forgets a rest that has ended, and deletes it from the store, because a stored rest starts over after a reboot. */
  expire(now: Instant): void {
    if (this.#rest !== undefined && !this.#isResting(now)) this.#endRest(this.#rest);
  }

  /** An operator who orders a rest wants another board to lead. If none takes the Lease, the order is pointless. */
  #endUnusedRest(now: Instant): void {
    const rest = this.#rest;
    if (!rest?.isOrdered || !this.#isResting(now) || this.#shownFree < longestTakeover(this.#deps.timing)) return;
    this.#ambient.log.warn("the ordered rest ends early: no other board has taken the Lease", {
      left: elapsed(now, rest.until),
    });
    this.#endRest(rest);
  }

  #endRest({ isStored }: { readonly isStored: boolean }): void {
    this.#rest = undefined;
    if (!isStored) return;
    try {
      this.#deps.rememberRest?.(undefined);
    } catch (error) {
      this.#ambient.log.warn("the end of this board's rest from leading cannot be stored", { error });
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
