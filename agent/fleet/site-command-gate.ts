import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Standing } from "../commands/desk/controls.ts";

/**
 * Delay before a new leader subscribes: by then the former one, which checks the election every second, has
 * unsubscribed. In between the broker tells senders that there is no subscriber.
 */
const handOver: Millis = 2500;

/**
 * take: this board executes or refuses it. late: it may have been sent to, and executed by, a former leader. ignore:
 * another board leads, and answers it.
 */
export type Admission = "take" | "late" | "ignore";

/**
 * Decides when this board listens to site commands, across connections, so that one board executes and answers each.
 * The broker queues them for an absent leader, including those that the next leader has received since.
 */
export class SiteCommandGate {
  /** The last term in which this board listened. */
  #term: number | undefined;
  #led: { readonly term: number; readonly since: Instant } | undefined;
  #connected: Instant | undefined;
  #isOpen = false;

  /** Resets for a new connection. */
  begin(now: Instant): void {
    this.#connected = now;
    this.#isOpen = false;
  }

  /** Whether this board should be subscribed now. */
  wants({ isLeader, term }: Standing, now: Instant): boolean {
    if (!isLeader || term === undefined) return false;
    if (this.#led?.term !== term) this.#led = { term, since: now };
    if (this.#term === term) return true;
    const { since } = this.#led;
    return elapsed(since, now) >= handOver && elapsed(this.#connected ?? since, now) >= handOver;
  }

  /** Records that this connection is subscribed. */
  open({ term }: Standing): void {
    this.#term = term;
    this.#isOpen = true;
  }

  /** How to treat a site command that arrived. */
  hear({ isLeader, leader, term }: Standing, board: string): Admission {
    if (isLeader) return term !== undefined && term === this.#term ? "take" : "late";
    const isElsewhere = leader !== undefined && leader !== board;
    return this.#isOpen || !isElsewhere ? "take" : "ignore";
  }
}
