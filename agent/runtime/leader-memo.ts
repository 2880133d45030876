import { elapsed, type Instant, shifted } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { recordIn } from "../base/json.ts";
import type { Rest } from "./leader-elector.ts";
import { isTerm, lastTerm } from "./lease-rules.ts";

const area = "leader";

/** What this board remembers, from one process to the next, of the terms that it led and of those that it saw. */
export class LeaderMemo {
  readonly #facts: Facts;
  readonly #place: string;

  /** `place`: names this very copy of the state folder in this very machine. */
  constructor({ facts, place }: { readonly facts: Facts; readonly place: string }) {
    this.#facts = facts;
    this.#place = place;
  }

  /**
   * Who led from here before: gone, since this process has the folder to itself. A folder that was copied says the same of
   * a process that goes on elsewhere; hence only of the very file, in the very machine.
   */
  formerIdentity(): string | undefined {
    return this.#facts.get(area, "place") === this.#place ? this.#facts.get(area, "identity") : undefined;
  }

  /** The highest term seen, whoever led: a Lease that is gone was somebody's, and may still be believed in. */
  formerTerm(): number | undefined {
    return termIn(this.#facts.get(area, "seen") ?? this.#facts.get(area, "term"));
  }

  /** Until when this board shall not stand. After a reboot what was left when it was written counts from now on. */
  formerRest(boot: string, now: Instant): Rest | undefined {
    const { boot: written, until, left, why } = recordIn(this.#facts.get(area, "rest") ?? "") ?? {};
    if (typeof until !== "number" || typeof left !== "number" || typeof why !== "string") return undefined;
    const rest = written === boot ? Math.min(left, until - now.mono) : left;
    if (rest > 0) return { until: shifted(now, rest), why };
    // Or it would count once more after every reboot to come.
    this.#facts.set(area, "rest", "");
    return undefined;
  }

  rests(rest: Rest | undefined, boot: string, now: Instant): void {
    const { until, why } = rest ?? {};
    const text = until && JSON.stringify({ boot, until: until.mono, left: elapsed(now, until), why });
    this.#facts.set(area, "rest", text ?? "");
  }

  saw(term: number): void {
    this.#facts.set(area, "seen", String(term));
  }

  /** A term of our own begins. Answers whether nobody else led since the last one. */
  leads(identity: string, term: number): boolean {
    const last = termIn(this.#facts.get(area, "term"));
    this.#facts.set(area, "identity", identity);
    this.#facts.set(area, "place", this.#place);
    this.#facts.set(area, "term", String(term));
    // The last term is led again and again, by anybody.
    return term < lastTerm && (term === last || term - 1 === last);
  }
}

function termIn(text: string | undefined): number | undefined {
  const term = Number(text ?? Number.NaN);
  return isTerm(term) ? term : undefined;
}
