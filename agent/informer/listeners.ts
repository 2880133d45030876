import type { Logger } from "../base/logger.ts";
import type { Listen, Notice } from "./informer.ts";

/** Who wants to hear of changes. One that throws is named in the log; the others still hear. */
export class Listeners<T> {
  readonly #log: Logger;
  readonly #all = new Set<Listen<T>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Who joins twice hears twice. */
  add(listen: Listen<T>): () => void {
    const entry: Listen<T> = (changes) => listen(changes);
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  tell(changes: readonly Notice<T>[]): void {
    if (changes.length === 0) return;
    for (const listen of this.#all) {
      try {
        listen(changes);
      } catch (error) {
        const stack = error instanceof Error ? error.stack : undefined;
        this.#log.error("a listener failed", { error, stack, keys: changes.slice(0, 5).map(({ key }) => key) });
      }
    }
  }
}
