import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import { decodeCounters, encodeCounters, highestOf, merged, raised, type SiteCounters } from "./site-counters.ts";

const area = "counters";

/** The broker's connection waits so long for a command of which the number cannot be written. */
const patience: Millis = 10_000;

export interface CounterBookParts {
  readonly facts: Facts;
  /** Signatures cover a topic, and that names the site: its counters are the same on whichever Lease they lie. */
  readonly site: string;
  /** Writes what is carried into the Lease now; resolves once the Lease holds it. */
  readonly publish: () => Promise<void>;
}

/**
 * Which numbers of signed commands are used up on this site, as far as this board knows: the higher one of what it remembers
 * and of what it ever read on the Lease. Nothing lowers it, so a Lease that was deleted, or restored from a backup, is put
 * right by the next leader that remembers more.
 */
export class CounterBook {
  readonly #ambient: Ambient;
  readonly #parts: CounterBookParts;
  #counters: SiteCounters;
  /** The last text that was read of the Lease. */
  #seen: string | undefined;

  constructor(ambient: Ambient, parts: CounterBookParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#counters = decodeCounters(parts.facts.get(area, parts.site) ?? "");
  }

  /** What the Lease carries, each time that this board reads it. Costs a write where it is more than was known. */
  saw(text = ""): void {
    if (text === this.#seen) return;
    this.#seen = text;
    const found = decodeCounters(text);
    if (encodeCounters(found) !== text) this.#ambient.log.warn("counters on the Lease that cannot be read", {});
    this.#counters = merged(this.#counters, found);
    try {
      this.#remember();
    } catch (error) {
      this.#ambient.log.warn("counters of signed commands are not kept on this board", { error });
    }
  }

  /** The highest number that is used up of the key with this fingerprint; undefined: none is. */
  highest(key: string): number | undefined {
    return highestOf(this.#counters, key);
  }

  /** For the Lease's annotation; undefined: it is left as it is, where nothing was ever counted. */
  carried(): string | undefined {
    return encodeCounters(this.#counters) || undefined;
  }

  /**
   * Uses a number up, for this board and every leader after it: resolves once the Lease holds it. Rejects where that is
   * not known; the number may be used up then all the same, so what it came with must not be carried out.
   */
  async use(key: string, counter: number): Promise<void> {
    const used = this.highest(key);
    if (used !== undefined && counter <= used) throw new LeaseNotWrittenError(`the number ${counter} is used up`);
    this.#counters = raised(this.#counters, key, counter);
    await writtenWithin(this.#ambient.clock, patience, this.#parts.publish);
    this.#remember();
  }

  #remember(): void {
    const { facts, site } = this.#parts;
    const text = encodeCounters(this.#counters);
    if (text !== "") facts.set(area, site, text);
  }
}
