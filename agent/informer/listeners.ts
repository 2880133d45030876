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

  /** Undefined: all listeners are done. Else they are when it resolves. */
  tell(changes: readonly Notice<T>[]): Promise<void> | undefined {
    if (changes.length === 0) return undefined;
    const fatal: unknown[] = [];
    const failed = (error: unknown): void => {
      if (["rebuild", "exit"].includes(dispositionOf(error))) {
        fatal.push(error);
        return;
      }
      const stack = error instanceof Error ? error.stack : undefined;
      this.#log.error("a listener failed", { error, stack, keys: changes.slice(0, 5).map(({ key }) => key) });
    };
    const unfinished: Promise<void>[] = [];
    for (const listen of this.#all) {
      try {
        const rest = listen(changes);
        if (rest instanceof Promise) unfinished.push(rest.catch(failed));
      } catch (error) {
        failed(error);
      }
    }
    if (fatal.length > 0) throw fatal[0];
    if (unfinished.length === 0) return undefined;
    return Promise.all(unfinished).then(() => {
      if (fatal.length > 0) throw fatal[0];
    });
  }
}
