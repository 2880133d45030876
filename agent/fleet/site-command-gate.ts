import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Standing } from "../commands/desk/controls.ts";

/**
 * Delay before a new leader subscribes. By then, the previous leader, which checks the election every second, has
 * unsubscribed. During the delay, the broker reports to senders that there is no subscriber.
 */
const handOver: Millis = 2500;

/**
 * What to do with a site command. take: the desk checks and answers it. late: the same, but a previous leader may have
 * executed it already. ignore: another board leads, and answers it.
 */
export type GateDecision = "take" | "late" | "ignore";

/**
 * Decides when this board subscribes to site commands, so that exactly one board executes and answers each command. The
 * gate outlives a connection, because the broker queues commands for an offline leader, even those that the next leader
 * also receives.
 */
export class SiteCommandGate {
  /** The last term in which this board subscribed. */
  #term: number | undefined;
  #led: { readonly term: number; readonly since: Instant } | undefined;
  /** When the current connection began. */
  #connected: Instant | undefined;
  /** Whether this board has subscribed on the current connection. */
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

  /** Records that this board subscribes on the current connection. */
  open({ term }: Standing): void {
    this.#term = term;
    this.#isOpen = true;
  }

  /** What to do with a site command that arrived. */
  decide({ isLeader, leader, term }: Standing, board: string): GateDecision {
    if (isLeader) return term !== undefined && term === this.#term ? "take" : "late";
    const isElsewhere = leader !== undefined && leader !== board;
    return this.#isOpen || !isElsewhere ? "take" : "ignore";
  }
}
