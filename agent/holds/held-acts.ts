import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";

/** Harmful acts that are due: boards waiting for their taint, and the number of pods waiting for their deletion. */
export interface DueActs {
  readonly boards: ReadonlySet<string>;
  readonly pods: number;
}

export interface HeldCounts {
  readonly boards: number;
  readonly pods: number;
}

/** An outage and the quarantine after it. */
interface Hold {
  readonly from: Instant;
  /** When it was last counted. */
  to: Instant;
  most: HeldCounts;
}

const nothing: HeldCounts = { boards: 0, pods: 0 };
const nothingDue: DueActs = { boards: new Set(), pods: 0 };

/** A quarantine begins with the judge's next pass, up to this long after the end of its outage. */
const begunBy: Millis = 10_000;
const maxRemembered = 8;

/**
 * The peak number of acts held at the same time during an outage and the quarantine after it, without those that
 * something else held before: a freeze, the safety valve, or that an eviction would gain nothing.
 */
export class HeldActs {
  readonly #holds: Hold[] = [];
  #current: Hold | undefined;
  #before = nothingDue;

  /** The peak during the outage from `from` to `to`. */
  mostDuring({ from, to }: { readonly from: Instant; readonly to: Instant }): HeldCounts {
    const latest = shifted(to, begunBy);
    return this.#holds
      .filter((hold) => !isAfter(hold.from, latest) && !isAfter(from, hold.to))
      .reduce((most, hold) => larger(most, hold.most), nothing);
  }

  /** Records that no outage or quarantine holds acts now; `others`: the acts that something else holds. */
  free(others: DueActs, log: Logger, now: Instant): void {
    this.#before = others;
    if (this.#current === undefined) return;
    const { from, most } = this.#current;
    log.info("silent boards may be evicted again", {
      heldMs: Math.round(elapsed(from, now)),
      boardsHeld: most.boards,
      podsHeld: most.pods,
    });
    this.#current = undefined;
  }

  /** Records that an outage or a quarantine holds these acts now. */
  hold(due: DueActs, now: Instant): void {
    const { boards, pods } = this.#before;
    const held = {
      boards: [...due.boards].filter((board) => !boards.has(board)).length,
      pods: Math.max(0, due.pods - pods),
    };
    this.#current ??= this.#begun(now);
    this.#current.to = now;
    this.#current.most = larger(this.#current.most, held);
  }

  /** What held acts in one term is not known to hold them in the next one. A hold lasts beyond the end of a term. */
  endTerm(): void {
    if (this.#current === undefined) this.#before = nothingDue;
  }

  #begun(now: Instant): Hold {
    const hold = { from: now, to: now, most: nothing };
    this.#holds.push(hold);
    if (this.#holds.length > maxRemembered) this.#holds.shift();
    return hold;
  }
}

const larger = (a: HeldCounts, b: HeldCounts): HeldCounts => ({
  boards: Math.max(a.boards, b.boards),
  pods: Math.max(a.pods, b.pods),
});
