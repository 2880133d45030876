import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { timingProblems } from "../base/lease-timing.ts";
import type { Candidate } from "./lease-rules.ts";

/** A period in which this board does not stand for election. */
export interface Rest {
  readonly until: Instant;
  readonly why: string;
}

export interface CandidacyDeps {
  /**
   * Why this board should not lead now; undefined: it may stand for election. `leaderlessFor`: how long the Lease has
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
  /** The rest that an earlier process of this board stored; undefined: none. */
  readonly formerRest?: Rest | undefined;
}

/** Whether this board stands for election: not while it rests, and not while `whyNotToStand` objects. */
export class Candidacy {
  readonly #ambient: Ambient;
  readonly #deps: CandidacyDeps;
  /** `isStored`: later processes of this board observe the rest too. */
  #rest: (Rest & { readonly isStored: boolean }) | undefined;
  /** When this board first found the Lease free to claim; undefined if it was not free at the last read. */
  #freeSince: Instant | undefined;
  /** The reason at the last `check`. */
  #reason: string | undefined;

  constructor(ambient: Ambient, deps: CandidacyDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#rest = deps.formerRest && { ...deps.formerRest, isStored: true };
  }

  /** Why this board does not stand for election; undefined: it stands. */
  reason(now: Instant): string | undefined {
    if (this.#rest && isAfter(this.#rest.until, now)) return this.#rest.why;
    return this.#deps.whyNotToStand(this.#freeSince ? elapsed(this.#freeSince, now) : 0);
  }

  /** Whether this board may claim the Lease, which is free. Logs when the reason changes. */
  check(now: Instant): boolean {
    this.#freeSince ??= now;
    const reason = this.reason(now);
    if (reason !== this.#reason) {
      this.#ambient.log.info(reason ? "not standing for election" : "standing for election again", { reason });
    }
    this.#reason = reason;
    if (reason !== undefined) this.#deps.standsAside?.();
    return reason === undefined;
  }

  /** The Lease is not free to claim. */
  leaseIsHeld(): void {
    this.#freeSince = undefined;
  }

  /** Does not stand for `duration`. A restart ends this rest. */
  rest(why: string, duration: Millis): void {
    this.#rest = { until: shifted(this.#ambient.clock.now(), duration), why, isStored: false };
  }

  /** Does not stand for `duration`, even after a restart. If the rest cannot be stored, throws and does not rest. */
  storeRest(why: string, duration: Millis): void {
    const until = shifted(this.#ambient.clock.now(), duration);
    this.#deps.rememberRest?.({ until, why });
    this.#rest = { until, why, isStored: true };
  }

  /** Forgets a rest that is over, and deletes it from the store: after a reboot, a stored rest starts over. */
  expire(now: Instant): void {
    if (this.#rest === undefined || isAfter(this.#rest.until, now)) return;
    const { isStored } = this.#rest;
    this.#rest = undefined;
    if (!isStored) return;
    try {
      this.#deps.rememberRest?.(undefined);
    } catch (error) {
      this.#ambient.log.warn("the end of this board's rest from leading cannot be stored", { error });
    }
  }
}

/** The problems of a candidate's configuration, as sentences; empty: none. */
export function candidateProblems({ timing, identity }: Candidate): readonly string[] {
  const problems = timingProblems(timing).map(({ setting, message }) => `leader.${setting}: ${message}`);
  if (identity === "") problems.push("the identity that stands for election must not be empty");
  return problems;
}
