import type { Millis } from "../base/clock.ts";
import type { LeaseTiming } from "../base/lease-timing.ts";
import { maxTakeover } from "./follower-pace.ts";
import type { TermEnding } from "./term.ts";

/** The rest to take now, so that another board can acquire the Lease. */
export type ClaimRest =
  /** Begin a rest. `isStored`: it must outlast this process. */
  | { readonly do: "begin"; readonly duration: Millis; readonly isStored: boolean }
  /** If a rest after a fruitless claim is under way, it lasts for `duration` from now. */
  | { readonly do: "prolong"; readonly duration: Millis };

/** After this many fruitless claims in a row, and after each additional one, the board rests. */
const maxFruitless = 2;

/** How long the board rests after a rest in which no other board took the Lease. */
const briefRest = ({ retry }: LeaseTiming): Millis => 2 * retry;

/**
 * After this many brief rests in a row, the next rest is a full one, for the benefit of a board that has only recently
 * become a standby.
 */
const maxBriefRests = 3;

/** A term that lasted for this many lease durations was worth its claim, regardless of how it ended. */
const heldDurations = 5;

/**
 * Counts the claims in a row that were written to the Lease without winning a term that lasted. They keep the other
 * boards from leading, although this board does not lead either, so it rests after the second claim and each further
 * one.
 *
 * event                                           | effect
 * ------------------------------------------------|------------------------------------------------------------------
 * a claim is sent                                 | it is not counted yet
 * a read shows a write whose answer did not come, | counts the claim; if counted already, the write arrived after the
 * or the answer came too late                     | rest had begun: the rest starts over, for the others wait from now
 * a term expired before any renewal was answered  | counts the claim
 * it ended otherwise, before any was answered     | none: this board gave the Lease back, or lost it to another one
 * a term expired that was renewed for a while     | none yet: a read will show whether its last renewals were written
 * it was renewed, and lasted or ended otherwise   | ends the row
 * another board holds the Lease                   | ends the row: this one does not keep it from any board
 */
export class FruitlessClaims {
  readonly #timing: LeaseTiming;
  #count = 0;
  /** The number of rests in this row. */
  #rests = 0;
  /** Whether `#count` includes the last claim, or the term that it won. */
  #isCounted = false;

  constructor(timing: LeaseTiming) {
    this.#timing = timing;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  onClaimSent(): void {
    this.#isCounted = false;
  }

  /** `isResting`: this board rests already, for whatever reason. */
  onUnansweredClaim(isResting: boolean): ClaimRest | undefined {
    if (!this.#isCounted) return this.#add(isResting);
    return { do: "prolong", duration: this.#lengthOfRest(this.#rests - 1) };
  }

  /** `isRenewed`: whether a renewal was answered during the term. */
  onTermEnded(
    { is }: TermEnding,
    {
      isRenewed,
      lasted,
      isResting,
    }: { readonly isRenewed: boolean; readonly lasted: Millis; readonly isResting: boolean },
  ): ClaimRest | undefined {
    if (!isRenewed) return is === "expired" ? this.#add(isResting) : undefined;
    if (is !== "expired" || lasted >= heldDurations * this.#timing.duration) this.#end();
    return undefined;
  }

  onOtherHolder(): void {
    this.#end();
  }

  #add(isResting: boolean): ClaimRest | undefined {
    this.#count++;
    this.#isCounted = true;
    if (this.#count < maxFruitless || isResting) return undefined;
    const duration = this.#lengthOfRest(this.#rests++);
    // Only the first of several rests in a row is stored, because otherwise an outage of days would cost a write to
    // flash every few minutes.
    return { do: "begin", duration, isStored: this.#count === maxFruitless };
  }

  #end(): void {
    this.#count = 0;
    this.#rests = 0;
  }

  /** A full rest in which no other board took the Lease shows that there is no standby. */
  #lengthOfRest(before: number): Millis {
    const isFull = before % (maxBriefRests + 1) === 0;
    return isFull ? maxTakeover(this.#timing) : briefRest(this.#timing);
  }
}
