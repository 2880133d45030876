import { elapsed, type Instant, shifted } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import type { CandidacyBackoff } from "./candidacy.ts";
import { isTerm, maxTerm } from "./lease-record.ts";

const area = "leader";

/**
 * The terms that this board led or saw, stored for its next process. Each site has its own Lease and terms, so a board
 * that moves to another site starts there without memory, and finds its earlier memory when it returns.
 */
export class LeaderMemo {
  readonly #facts: KeyValueStore;
  readonly #folderCopy: string;
  readonly #lease: string;
  /** The number of broken terms; undefined if it has not been read yet. */
  #broken: number | undefined;
  #shown: number | undefined;

  /**
   * `place` identifies this copy of the state folder on this machine. `lease`: such as "kube-system/siteward-plant7".
   */
  constructor({
    facts,
    place,
    lease,
  }: { readonly facts: KeyValueStore; readonly place: string; readonly lease: string }) {
    this.#facts = facts;
    this.#folderCopy = place;
    this.#lease = lease;
  }

  /**
   * The identity under which this board led before, if the process with that identity is certainly gone; undefined if
   * it may still be running, or there was none. Only one process uses the folder, so the previous one is gone unless
   * the folder was copied from another machine.
   */
  formerIdentity(): string | undefined {
    return this.#get("place") === this.#folderCopy ? this.#get("identity") : undefined;
  }

  /**
   * The highest term of any board that this board has seen. It applies even if the Lease was deleted, because the
   * previous holder may still believe that it leads.
   */
  formerTerm(): number | undefined {
    return termIn(this.#get("seen") ?? this.#get("term"));
  }

  /**
   * The stored rest; undefined if there is none or it has ended. After a reboot, the time that was left when it was
   * stored starts over.
   */
  formerRest(boot: string, now: Instant): CandidacyBackoff | undefined {
    const { boot: written, until, left, why, isOrdered } = recordIn(this.#get("rest") ?? "") ?? {};
    if (typeof until !== "number" || typeof left !== "number" || typeof why !== "string") return undefined;
    const rest = written === boot ? Math.min(left, until - now.mono) : left;
    if (rest > 0) return { until: shifted(now, rest), why, ...(isOrdered === true && { isOrdered }) };
    // Deleted, because otherwise the rest would start over after each reboot.
    this.#set("rest", "");
    return undefined;
  }

  rememberRest(rest: CandidacyBackoff | undefined, boot: string, now: Instant): void {
    const { until, why, isOrdered } = rest ?? {};
    const text = until && JSON.stringify({ boot, until: until.mono, left: elapsed(now, until), why, isOrdered });
    this.#set("rest", text ?? "");
  }

  /**
   * Called when the Lease was restored from a backup. It may name our previous process although other boards have led
   * since, so there is no `formerIdentity` after this call.
   */
  restored(): void {
    this.#set("place", "");
    this.replaced();
  }

  /**
   * Called when the Lease is gone, is another one or has a lower term than before, perhaps because of a restore that
   * nothing else shows.
   */
  replaced(): void {
    const undone = String(Math.max(this.formerTerm() ?? 0, this.#shown ?? 0));
    if (this.#get("undone") !== undone) this.#set("undone", undone);
  }

  /**
   * The highest term that was known when a restore of the API server was noticed, or may have happened: the server's
   * state from that term or an earlier one may be outdated. Undefined if that never was.
   */
  get undoneUntil(): number | undefined {
    return termIn(this.#get("undone"));
  }

  /** A read of the Lease outside of the election showed this term. */
  saw(term: number): void {
    this.#shown = Math.max(this.#shown ?? term, term);
  }

  /**
   * The highest term that a read outside of the election showed to this process; undefined if there was no such read.
   */
  get shownTerm(): number | undefined {
    return this.#shown;
  }

  rememberTerm(term: number): void {
    this.#set("seen", String(term));
  }

  /**
   * How many processes of this board in a row crashed, hung or lost power during a term before `resetBrokenTerms` was
   * called for it.
   */
  get brokenTerms(): number {
    if (this.#broken === undefined) {
      const stored = Number(this.#get("broken") ?? 0);
      this.#broken = Number.isSafeInteger(stored) ? stored : 0;
    }
    return this.#broken;
  }

  /** The current term has lasted, or has ended cleanly, so no term counts as broken any more. */
  resetBrokenTerms(): void {
    this.#set("broken", "0");
    this.#broken = 0;
  }

  /**
   * Called when this process leaves the Lease to others because of the broken terms. The next process does not, unless
   * terms break again; otherwise, a site whose other boards only appear to be standbys would have no leader as long as
   * processes kept ending.
   */
  deferred(): void {
    this.#set("broken", "0");
  }

  /**
   * Stores a term that this board begins, which counts as broken until `resetBrokenTerms`. True if, since this board's
   * last term, no other board has led this site and this board has led no other site.
   */
  beginTerm(identity: string, term: number): boolean {
    const last = this.#facts.get(area, "last led") === this.#lease ? termIn(this.#get("term")) : undefined;
    this.#facts.set(area, "last led", this.#lease);
    this.#set("identity", identity);
    this.#set("place", this.#folderCopy);
    this.#set("term", String(term));
    this.#set("broken", String(this.brokenTerms + 1));
    // The highest possible term is reused, so it does not show whether another board led in between.
    return term < maxTerm && (term === last || term - 1 === last);
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
