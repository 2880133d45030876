import { isTerm, lastTerm } from "./lease-rules.ts";

/** Small facts that survive a restart of this board. A Memo is one. */
export interface Facts {
  get(area: string, key: string): string | undefined;
  set(area: string, key: string, value: string): void;
}

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
