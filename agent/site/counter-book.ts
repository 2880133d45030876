import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import {
  decodeCounters,
  encodeCounters,
  highestOf,
  mergeCounters,
  raiseCounter,
  type SiteCounters,
} from "./site-counters.ts";

const area = "counters";

/**
 * Time limit for writing a counter to the Lease. The command waits for this, and so does the connection to the broker.
 */
const writeLimit: Millis = 10_000;

export interface CounterBookDeps {
  readonly facts: KeyValueStore;
  /**
   * The name of the site. Counters belong to the site, because a signature covers the topic, which contains the name.
   */
  readonly site: string;
  /** Writes the carried annotations to the Lease; resolves once the Lease has them. */
  readonly publish: () => Promise<void>;
}

/**
 * The highest used counter of each key that signs commands of this site: the highest one that this board has stored or
 * ever read on the Lease. These counters never decrease. If the Lease was deleted or restored from a backup, the next
 * leader that knows higher counters writes them to the Lease again.
 */
export class CounterBook {
  readonly #ambient: Ambient;
  readonly #deps: CounterBookDeps;
  #counters: SiteCounters;
  /** The annotation as last read on the Lease. */
  #lastRead: string | undefined;

  constructor(ambient: Ambient, deps: CounterBookDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#counters = decodeCounters(deps.facts.get(area, deps.site) ?? "");
  }

  /** Takes the annotation after each read of the Lease, and stores counters higher than the known ones. */
  observe(text = ""): void {
    if (text === this.#lastRead) return;
    this.#lastRead = text;
    const found = decodeCounters(text);
    if (encodeCounters(found) !== text)
      this.#ambient.log.warn("the annotation with counters of signed commands is invalid", {});
    this.#counters = mergeCounters(this.#counters, found);
    try {
      this.#remember();
    } catch (error) {
      this.#ambient.log.warn("counters of signed commands cannot be stored on this board", { error });
    }
  }

  /** The highest used counter of the key with this fingerprint; undefined if none is used. */
  highest(key: string): number | undefined {
    return highestOf(this.#counters, key);
  }

  /** The text of the Lease's annotation; undefined (leave it unchanged) if no counter has ever been used. */
  carried(): string | undefined {
    return encodeCounters(this.#counters) || undefined;
  }

  /**
   * Marks a counter as used, for this board and every later leader. Resolves once the Lease has it. Rejects if that is
   * not certain, in which case the counter may count as used, and its command must not be executed.
   */
  async use(key: string, counter: number): Promise<void> {
    const used = this.highest(key);
    if (used !== undefined && counter <= used) throw new LeaseNotWrittenError(`the counter ${counter} was used before`);
    this.#counters = raiseCounter(this.#counters, key, counter);
    await writtenWithin(this.#ambient.clock, writeLimit, this.#deps.publish);
    this.#remember();
  }

  #remember(): void {
    const { facts, site } = this.#deps;
    const text = encodeCounters(this.#counters);
    if (text !== "") facts.set(area, site, text);
  }
}
