import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";

export interface ComebackParts {
  /** An interruption up to here is no outage. */
  readonly blip: Millis;
  /** Somebody acts on what the streams bring. */
  readonly isUrgent: () => boolean;
}

/** Of a board whose streams can wait: its next look at the Lease, at the latest after 50 s, usually comes first. */
const calm = { from: 60_000, to: 300_000 } as const;
/** Parts of a blip: the first try lies between them. Sooner comes who renews the Lease in that time. */
const [soonest, latest] = [0.5, 0.9];

/**
 * When the streams of a board go back to a server that they lost. They share a connection and lose it together, and a
 * server that is restarted or whose links are reset loses those of all boards at one moment: with client-go's pace all
 * leaders would be back within the same second. So a board goes back with the first request that is answered, which is
 * mostly the renewal of its Lease, and those are spread over a retry period already; or at a moment of its own choice, one
 * for all of its streams. Who leads does not wait so long that a reset becomes an outage.
 *
 * It only ever adds to the pace of a stream: a server that answers some requests and breaks others is not asked more often.
 */
export class Comeback {
  readonly #ambient: Ambient;
  readonly #parts: ComebackParts;
  readonly #waiting = new Set<() => void>();
  #due: Instant | undefined;
  #isAway = false;

  constructor(ambient: Ambient, parts: ComebackParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** The connection of a stream just failed, which would wait so long by itself: when it may go back. */
  lost(wait: Millis): Instant {
    const { clock, random } = this.#ambient;
    const now = clock.now();
    if (this.#due !== undefined && elapsed(now, this.#due) > 0) return this.#due;
    const { blip, isUrgent } = this.#parts;
    const urgent = { from: this.#isAway ? 0 : soonest * blip, to: latest * blip };
    const { from, to } = isUrgent() ? urgent : calm;
    this.#isAway = true;
    // More of them late than soon: meanwhile renewals bring boards back.
    this.#due = shifted(now, Math.max(wait, from + Math.sqrt(random.next()) * (to - from)));
    return this.#due;
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
}
