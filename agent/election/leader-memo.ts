import { elapsed, type Instant, shifted } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { recordIn } from "../base/json.ts";
import type { Rest } from "./leader-elector.ts";
import { isTerm, lastTerm } from "./lease-rules.ts";

const area = "leader";

/**
 * The terms that this board led or saw, kept from one process to the next. Each site has its own Lease and terms: a
 * board that moves to another site starts there without a memory, and finds the former one when it returns.
 */
export class LeaderMemo {
  readonly #facts: Facts;
  readonly #place: string;
  readonly #lease: string;

  /** `place`: identifies this copy of the state folder on this machine. `lease`: "kube-system/siteward-plant7". */
  constructor({ facts, place, lease }: { readonly facts: Facts; readonly place: string; readonly lease: string }) {
    this.#facts = facts;
    this.#place = place;
    this.#lease = lease;
  }

  /**
   * The identity that led from here before. Its process is gone, since this one has the folder to itself. In a copied
   * folder the former process may still run elsewhere, so this counts only for the same file on the same machine.
   */
  formerIdentity(): string | undefined {
    return this.#get("place") === this.#place ? this.#get("identity") : undefined;
  }

  /** The highest term seen, whoever led: the holder of a Lease that was deleted may still believe that it leads. */
  formerTerm(): number | undefined {
    return termIn(this.#get("seen") ?? this.#get("term"));
  }

  /** Until when this board does not stand. After a reboot, the time left when it was written counts from now on. */
  formerRest(boot: string, now: Instant): Rest | undefined {
    const { boot: written, until, left, why } = recordIn(this.#get("rest") ?? "") ?? {};
    if (typeof until !== "number" || typeof left !== "number" || typeof why !== "string") return undefined;
    const rest = written === boot ? Math.min(left, until - now.mono) : left;
    if (rest > 0) return { until: shifted(now, rest), why };
    // Otherwise it would count again after every further reboot.
    this.#set("rest", "");
    return undefined;
  }

  rests(rest: Rest | undefined, boot: string, now: Instant): void {
    const { until, why } = rest ?? {};
    const text = until && JSON.stringify({ boot, until: until.mono, left: elapsed(now, until), why });
    this.#set("rest", text ?? "");
  }

  /** The Lease went back to an earlier state: if it names this board's former process, others have led since. */
  restored(): void {
    this.#set("place", "");
  }

  saw(term: number): void {
    this.#set("seen", String(term));
  }

  /** Notes a term of our own. True if nobody else led since our last one, and this board led no other site. */
  leads(identity: string, term: number): boolean {
    const last = this.#facts.get(area, "last led") === this.#lease ? termIn(this.#get("term")) : undefined;
    this.#facts.set(area, "last led", this.#lease);
    this.#set("identity", identity);
    this.#set("place", this.#place);
    this.#set("term", String(term));
    // Terms do not count on beyond the last one, so leading it again says nothing about who led in between.
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
