import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, shifted } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { decodeHolds, encodeHolds, type Holds, isAlike, isNothing, noHolds, pruned } from "./holds.ts";

const area = "holds";
/** The Lease went back, and its text has not been read since. */
const unread = "unread";
/** By how much two readings of the same hold may differ. */
const likeness: Millis = 120_000;

export interface HoldMemoryParts {
  readonly facts: Facts;
  readonly bootId: string;
  /** "kube-system/siteward-plant7" */
  readonly lease: string;
}

/** A board's own copy of the holds, in case somebody deletes the Lease. */
export class HoldMemory {
  readonly #ambient: Ambient;
  readonly #facts: Facts;
  readonly #bootId: string;
  /** Holds belong to a site, and so to its Lease. */
  readonly #key: string;
  /** Key of the note that the Lease is older than this memory, with the text first read after it went back. */
  readonly #olderKey: string;
  #noted: Holds | undefined;

  constructor(ambient: Ambient, { facts, bootId, lease }: HoldMemoryParts) {
    this.#ambient = ambient;
    this.#key = `kept ${lease}`;
    this.#olderKey = `older ${lease}`;
    this.#facts = facts;
    this.#bootId = bootId;
  }

  /** Exact within one boot. A reboot takes an unknown time: what was left when it was written counts from now on. */
  read(now: Instant): Holds {
    const text = this.#facts.get(area, this.#key) ?? "";
    if (text === "") return noHolds;
    try {
      const { boot, at, holds } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const ago = boot === this.#bootId && typeof at === "number" ? Math.max(0, now.mono - at) : 0;
      return decodeHolds(typeof holds === "string" ? holds : undefined, shifted(now, -ago)) ?? noHolds;
    } catch (error) {
      this.#ambient.log.warn("what this board kept of holds cannot be read", { error });
      return noHolds;
    }
  }

  /** A failed write costs no hold: the Lease is the truth. */
  write(holds: Holds, now: Instant): void {
    this.#noted = holds;
    try {
      const kept = { boot: this.#bootId, at: now.mono, holds: encodeHolds(holds, now) };
      const text = isNothing(holds) && holds.changes === 0 ? "" : JSON.stringify(kept);
      // A board that never knew of any hold writes nothing.
      if (text !== "" || (this.#facts.get(area, this.#key) ?? "") !== "") this.#facts.set(area, this.#key, text);
    } catch (error) {
      this.#ambient.log.warn("holds are not kept on this board", { error });
    }
  }

  /** The Lease went back to an earlier state. */
  restored(): void {
    this.#facts.set(area, this.#olderKey, unread);
  }

  /**
   * Whether the Lease is older than this memory. Once it went back it is older, until its text changes or it counts
   * more changes than this board knows: then another board has led since. A Lease that counts fewer changes went back
   * while this board was off, or mirrored nothing that could show it.
   */
  isOlder(text: string | undefined): boolean {
    const noted = this.#facts.get(area, this.#olderKey) ?? "";
    const known = noted === "" && this.#isAhead(text) ? unread : noted;
    if (known === "") return false;
    const found = `says ${text ?? "nothing"}`;
    if (known === unread && this.#isBehind(text)) {
      this.#facts.set(area, this.#olderKey, "");
      return false;
    }
    if (known === unread) this.#facts.set(area, this.#olderKey, found);
    else if (known !== found) this.#facts.set(area, this.#olderKey, "");
    return known === unread || known === found;
  }

  #isBehind(text: string | undefined): boolean {
    const now = this.#ambient.clock.now();
    return (decodeHolds(text, now)?.changes ?? 0) > this.read(now).changes;
  }

  #isAhead(text: string | undefined): boolean {
    const now = this.#ambient.clock.now();
    const found = decodeHolds(text, now);
    return found !== undefined && found.changes < this.read(now).changes;
  }

  /** Writes only if the orders have changed. */
  note(found: Holds, now: Instant): void {
    this.#noted ??= this.read(now);
    if (!isAlike(pruned(found, now), pruned(this.#noted, now), likeness)) this.write(found, now);
  }
}
