import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import { decodeCounters, encodeCounters, highestOf, merged, raised, type SiteCounters } from "./site-counters.ts";

const area = "counters";

/** How long the broker's connection waits for a command whose number cannot be written. */
const patience: Millis = 10_000;

export interface CounterBookParts {
  readonly facts: Facts;
  /** Signatures cover a topic, which names the site: the site's counters are the same on every Lease. */
  readonly site: string;
  /** Writes the carried annotations into the Lease now; resolves once the Lease holds them. */
  readonly publish: () => Promise<void>;
}

/**
 * The used numbers of this site's signed commands, as far as this board knows: the higher one of its own memory and of
 * all that it ever read on the Lease. Nothing lowers them, so the next leader that remembers more corrects a Lease that
 * was deleted or restored from a backup.
 */
export class CounterBook {
  readonly #ambient: Ambient;
  readonly #parts: CounterBookParts;
  #counters: SiteCounters;
  /** The text last read on the Lease. */
  #seen: string | undefined;

  constructor(ambient: Ambient, parts: CounterBookParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#counters = decodeCounters(parts.facts.get(area, parts.site) ?? "");
  }

  /** Takes in the annotation after each read of the Lease. Writes to disk if it says more than was known. */
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

  /** The highest used number of the key with this fingerprint; undefined: none is. */
  highest(key: string): number | undefined {
    return highestOf(this.#counters, key);
  }

  /** Text for the Lease's annotation; undefined: nothing was ever counted, the annotation is left as it is. */
  carried(): string | undefined {
    return encodeCounters(this.#counters) || undefined;
  }

  /**
   * Uses a number up, for this board and every leader after it: resolves once the Lease holds it. Rejects if that is
   * not certain; the number may be used up all the same, so its command must not be carried out.
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
