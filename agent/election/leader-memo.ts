import { elapsed, type Instant, shifted } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { recordIn } from "../base/json.ts";
import type { Rest } from "./leader-elector.ts";
import { isTerm, lastTerm } from "./lease-rules.ts";

const area = "leader";

/**
 * What this board remembers, from one process to the next, of the terms that it led and of those that it saw. Each site has
 * a Lease and terms of its own: a board that changes its site is a newcomer there, and none when it comes back.
 */
export class LeaderMemo {
  readonly #facts: Facts;
  readonly #place: string;
  readonly #lease: string;

  /** `place`: names this very copy of the state folder in this very machine. `lease`: "kube-system/siteward-plant7". */
  constructor({ facts, place, lease }: { readonly facts: Facts; readonly place: string; readonly lease: string }) {
    this.#facts = facts;
    this.#place = place;
    this.#lease = lease;
  }

  /**
   * Who led from here before: gone, since this process has the folder to itself. A folder that was copied says the same of
   * a process that goes on elsewhere; hence only of the very file, in the very machine.
   */
  formerIdentity(): string | undefined {
    return this.#get("place") === this.#place ? this.#get("identity") : undefined;
  }

  /** The highest term seen, whoever led: a Lease that is gone was somebody's, and may still be believed in. */
  formerTerm(): number | undefined {
    return termIn(this.#get("seen") ?? this.#get("term"));
  }

  /** Until when this board shall not stand. After a reboot what was left when it was written counts from now on. */
  formerRest(boot: string, now: Instant): Rest | undefined {
    const { boot: written, until, left, why } = recordIn(this.#get("rest") ?? "") ?? {};
    if (typeof until !== "number" || typeof left !== "number" || typeof why !== "string") return undefined;
    const rest = written === boot ? Math.min(left, until - now.mono) : left;
    if (rest > 0) return { until: shifted(now, rest), why };
    // Or it would count once more after every reboot to come.
    this.#set("rest", "");
    return undefined;
  }

  rests(rest: Rest | undefined, boot: string, now: Instant): void {
    const { until, why } = rest ?? {};
    const text = until && JSON.stringify({ boot, until: until.mono, left: elapsed(now, until), why });
    this.#set("rest", text ?? "");
  }

  /** The Lease went back to an earlier state: if it names the former process of this board, others have led since. */
  restored(): void {
    this.#set("place", "");
  }

  saw(term: number): void {
    this.#set("seen", String(term));
  }

  /** A term of our own begins. Answers whether nobody else led since the last one, and this board no other site. */
  leads(identity: string, term: number): boolean {
    const last = this.#facts.get(area, "last led") === this.#lease ? termIn(this.#get("term")) : undefined;
    this.#facts.set(area, "last led", this.#lease);
    this.#set("identity", identity);
    this.#set("place", this.#place);
    this.#set("term", String(term));
    // The last term is led again and again, by anybody.
    return term < lastTerm && (term === last || term - 1 === last);
  }

  #get(what: string): string | undefined {
    return this.#facts.get(area, `${what} ${this.#lease}`);
  }

  #set(what: string, text: string): void {
    this.#facts.set(area, `${what} ${this.#lease}`, text);
  }
}

function termIn(text: string | undefined): number | undefined {
  const term = Number(text ?? Number.NaN);
  return isTerm(term) ? term : undefined;
}
