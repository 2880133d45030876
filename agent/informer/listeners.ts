import { dispositionOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Listen, Notice } from "./informer.ts";

/**
 * Who wants to hear of changes. One that throws is named in the log; the others still hear. Only what has to end the
 * program's present life, a damaged cache above all, is thrown on once all have heard.
 */
export class Listeners<T> {
  readonly #log: Logger;
  readonly #all = new Set<Listen<T>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Who joins twice hears twice. */
  add(listen: Listen<T>): () => void {
    const entry: Listen<T> = (changes) => listen(changes);
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  tell(changes: readonly Notice<T>[]): void {
    if (changes.length === 0) return;
    let fatal: unknown;
    for (const listen of this.#all) {
      try {
        listen(changes);
      } catch (error) {
        if (["rebuild", "exit"].includes(dispositionOf(error))) {
          fatal = error;
          continue;
        }
        const stack = error instanceof Error ? error.stack : undefined;
        this.#log.error("a listener failed", { error, stack, keys: changes.slice(0, 5).map(({ key }) => key) });
      }
    }
    if (fatal !== undefined) throw fatal;
  }
}
