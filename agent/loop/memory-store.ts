import type { Instant } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Durable } from "./controller.ts";

/** Stores short strings across restarts. Implemented by Memo. */
export interface MemoryStore {
  entries(area: string): Iterable<[key: string, text: string]>;
  set(area: string, key: string, text: string): void;
  delete(area: string, key: string): void;
}

/** The area of the store with a controller's durable memories. */
export const memoryArea = (controller: string): string => `memory/${controller}`;

/** Loads and stores the durable memories of one controller. Writes only changes, to spare the flash. */
export class KeptMemories<Memory> {
  readonly #store: MemoryStore;
  readonly #area: string;
  readonly #durable: Durable<Memory>;
  readonly #written = new Map<string, string>();

  constructor(deps: { readonly store: MemoryStore; readonly area: string; readonly durable: Durable<Memory> }) {
    this.#store = deps.store;
    this.#area = deps.area;
    this.#durable = deps.durable;
  }

  /** Loads the stored memories. An unreadable memory is dropped, because losing a memory is safe. */
  load(now: Instant, log: Logger): Map<string, Memory> {
    const memories = new Map<string, Memory>();
    const unreadable: string[] = [];
    this.#written.clear();
    for (const [key, text] of this.#store.entries(this.#area)) {
      try {
        memories.set(key, this.#durable.load(text, now));
        this.#written.set(key, text);
      } catch (error) {
        log.warn("the stored state of a controller cannot be read and is dropped", { key, error });
        unreadable.push(key);
      }
    }
    // Deleted after the loop, because the database cannot write while the iterator reads.
    for (const key of unreadable) this.#store.delete(this.#area, key);
    return memories;
  }

  /** Stores the memory of a key if its text changed; deletes it if `memory` is undefined. */
  save(key: string, memory: Memory | undefined, now: Instant): void {
    const text = memory === undefined ? undefined : this.#durable.save(memory, now);
    if (text === this.#written.get(key)) return;
    if (text === undefined) {
      this.#store.delete(this.#area, key);
      this.#written.delete(key);
    } else {
      this.#store.set(this.#area, key, text);
      this.#written.set(key, text);
    }
  }
}
