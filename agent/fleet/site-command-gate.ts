import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Standing } from "../commands/desk/controls.ts";

/**
 * A new leader listens this much later: by then the former one, who looks at the election each second, does not any more.
 * Whoever sends in between is told by the broker that nobody listens.
 */
const handOver: Millis = 2500;

/**
 * take: it is this board's to carry out, or to refuse. late: it may have been sent to a leader of the past, who carried it
 * out. ignore: it was, or it is to be sent again: another board leads, and answers.
 */
export type Admission = "take" | "late" | "ignore";

/**
 * When this board listens to commands of the site, over many connections, so that each is carried out and answered by one
 * board. The broker keeps them for a leader that is away, also those that the next leader has had meanwhile.
 */
export class SiteCommandGate {
  /** The term in which this board listened last. */
  #term: number | undefined;
  #led: { readonly term: number; readonly since: Instant } | undefined;
  #connected: Instant | undefined;
  #isOpen = false;

  /** A connection is up. */
  begin(now: Instant): void {
    this.#connected = now;
    this.#isOpen = false;
  }

  /** Whether this board is to listen now. */
  wants({ isLeader, term }: Standing, now: Instant): boolean {
    if (!isLeader || term === undefined) return false;
    if (this.#led?.term !== term) this.#led = { term, since: now };
    if (this.#term === term) return true;
    const { since } = this.#led;
    return elapsed(since, now) >= handOver && elapsed(this.#connected ?? since, now) >= handOver;
  }

  /** From now on this connection listens. */
  open({ term }: Standing): void {
    this.#term = term;
    this.#isOpen = true;
  }

  /** What becomes of a command of the site that came. */
  hear({ isLeader, leader, term }: Standing, board: string): Admission {
    if (isLeader) return term !== undefined && term === this.#term ? "take" : "late";
    const isElsewhere = leader !== undefined && leader !== board;
    return this.#isOpen || !isElsewhere ? "take" : "ignore";
  }
}
