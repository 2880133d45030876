import { dispositionOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { InformerEvent, Listen } from "./informer.ts";

/**
 * The listeners of one informer. An error of one is logged and does not affect the others. Only errors that must end
 * the current run, such as a damaged cache, are rethrown after all listeners have been called.
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

  /** Adding a listener twice calls it twice. */
  add(listen: Listen<T>): () => void {
    const entry: Listen<T> = (changes) => listen(changes);
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  /** Calls all listeners. Returns undefined if all are done; otherwise a promise that resolves when they are. */
  notify(changes: readonly InformerEvent<T>[]): Promise<void> | undefined {
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
