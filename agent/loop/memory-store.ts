import type { Instant } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Durable } from "./controller.ts";

/** Small texts that survive a restart of this board. A Memo is one. */
export interface MemoryStore {
  entries(area: string): Iterable<[key: string, text: string]>;
  set(area: string, key: string, text: string): void;
  delete(area: string, key: string): void;
}

/** The area of the store that holds a controller's durable memories. */
export const memoryArea = (controller: string): string => `memory/${controller}`;

/** The durable memories of one controller. Writes changes only: every write is one to flash. */
export class KeptMemories<Memory> {
  readonly #store: MemoryStore;
  readonly #area: string;
  readonly #durable: Durable<Memory>;
  readonly #written = new Map<string, string>();

  constructor(parts: { readonly store: MemoryStore; readonly area: string; readonly durable: Durable<Memory> }) {
    this.#store = parts.store;
    this.#area = parts.area;
    this.#durable = parts.durable;
  }

  /** Loads the stored memories. An unreadable text is dropped: losing a memory is safe. */
  load(now: Instant, log: Logger): Map<string, Memory> {
    const memories = new Map<string, Memory>();
    const unreadable: string[] = [];
    this.#written.clear();
    for (const [key, text] of this.#store.entries(this.#area)) {
      try {
        memories.set(key, this.#durable.load(text, now));
        this.#written.set(key, text);
      } catch (error) {
        log.warn("a stored memory cannot be read and is dropped", { key, error });
        unreadable.push(key);
      }
    }
    // Not while iterating: the database would be reading and writing at once.
    for (const key of unreadable) this.#store.delete(this.#area, key);
    return memories;
  }

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
