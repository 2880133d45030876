import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";

/** The how manieth of the sites on one API server: each of them knows the same order. */
export interface SiteRank {
  readonly rank: number;
  readonly of: number;
}

export interface ComebackParts {
  /** By then whoever acts on what the streams bring tries for the first time: sooner than a reset becomes an outage. */
  readonly within: Millis;
  /** Somebody acts on what the streams bring. */
  readonly isUrgent: () => boolean;
  /** Undefined: the other sites are not known. */
  readonly rank: () => SiteRank | undefined;
}

/** Of a board whose streams can wait: its next look at the Lease, at the latest after 70 s, usually comes first. */
const calm = { from: 60_000, to: 300_000 } as const;
/** Between the leaders of two sites. */
const apart: Millis = 500;

/**
 * When a board goes back to a server that it lost. Its streams share a connection and lose it together, and a server that
 * is restarted or whose links are reset loses those of all boards at one moment: with client-go's pace all leaders would
 * be back within the same second.
 *
 * Who leads goes back in its turn: the loss is the same moment for the leaders of all sites, and they know the same order
 * of their sites. Its renewals wait for that turn as well, or they would come in no order. The leader of the only site
 * waits for nobody. Who does not lead goes back with the first request that is answered, which is mostly a look at the
 * Lease, and those are spread over a term already; or at a moment of its own choice, one for all of its streams.
 *
 * It only ever adds to the pace of a stream: a server that answers some requests and breaks others is not asked more often.
 */
export class ReconnectScheduler {
  readonly #ambient: Ambient;
  readonly #parts: ComebackParts;
  readonly #waiting = new Set<() => void>();
  #due: Instant | undefined;
  #isAway = false;
  /** Until then it is others' turn; undefined: nothing waits for a turn. */
  #turn: Instant | undefined;

  constructor(ambient: Ambient, parts: ComebackParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** The connection of a stream just failed, which would wait so long by itself: when it may go back. */
  lost(wait: Millis): Instant {
    const { clock, random } = this.#ambient;
    const now = clock.now();
    if (this.#due !== undefined && elapsed(now, this.#due) > 0) return this.#due;
    const isUrgent = this.#parts.isUrgent();
    // Of those in no hurry more come late than soon: meanwhile looks bring boards back.
    const from = isUrgent ? wait : Math.max(wait, calm.from);
    const [to, share] = isUrgent ? this.#place() : [calm.to, Math.sqrt(random.next())];
    const due = shifted(now, from + share * Math.max(0, to - from));
    // A stream that failed often waits longer than a term lasts, which must outlive a link that flaps.
    const turn = wait <= this.#parts.within ? due : shifted(now, share * to);
    this.#turn = isUrgent && !this.#isAway ? turn : undefined;
    this.#isAway = true;
    this.#due = due;
    return due;
  }

  /** A request of this board was answered. */
  reached(): void {
    this.#due = undefined;
    this.#isAway = false;
    for (const go of [...this.#waiting]) go();
  }

  /** Until `due`, or until a request is answered or the signal aborts. Not at all where one was answered meanwhile. */
  async until(due: Instant, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const rest = elapsed(clock.now(), due);
    if (!this.#isAway || rest <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", go);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = clock.after(rest, go);
      signal.addEventListener("abort", go, { once: true });
      this.#waiting.add(go);
    });
  }

  /** What else a leader asks: until its streams have their turn. A turn that was in vain is not waited for again. */
  async inTurn(signal: AbortSignal): Promise<void> {
    if (this.#turn !== undefined && this.#parts.isUrgent()) await this.until(this.#turn, signal);
  }

  /** Where nothing is known of others, and after a turn that was in vain, any moment is as good. */
  #place(): [latest: Millis, share: number] {
    const { within, rank } = this.#parts;
    const sites = rank();
    const latest = sites === undefined ? within : Math.min(within, sites.of * apart);
    const isKnown = sites !== undefined && !this.#isAway;
    return [latest, isKnown ? (sites.rank + 0.5) / sites.of : this.#ambient.random.next()];
  }
}
