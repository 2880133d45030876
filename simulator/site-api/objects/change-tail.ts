import type { Entry } from "./object.ts";

/** One write, with the facts that watchers need. */
export interface LoggedChange {
  readonly deleted: boolean;
  readonly after: Entry;
  readonly before: Entry | undefined;
}

interface Limits {
  readonly changes: number;
  readonly characters: number;
}

/** Called with the revision of a change of an awaited resource. */
type Wake = (revision: number) => void;

/**
 * The newest changes, a limited number in memory, from which running watches read. A reader that falls behind continues
 * from the log, or starts over.
 */
export class ChangeTail {
  readonly #limits: Limits;
  readonly #changes: LoggedChange[] = [];
  readonly #waiting = new Map<string, Set<Wake>>();
  /** The newest revision; the tail holds the changes just before it, without gaps. */
  #revision: number;
  #characters = 0;

  constructor(revision: number, limits: Limits) {
    this.#revision = revision;
    this.#limits = limits;
  }

  get revision(): number {
    return this.#revision;
  }

  append(change: LoggedChange): void {
    const { key, revision, text } = change.after;
    // A gap shows that another process has written to the file; its changes are only in the log.
    if (revision !== this.#revision + 1) this.#forget(this.#changes.length);
    this.#changes.push(change);
    this.#revision = revision;
    this.#characters += text.length;
    while (this.#changes.length > this.#limits.changes || this.#characters > this.#limits.characters) this.#forget(1);
    const waiting = this.#waiting.get(resourceOf(key));
    if (waiting === undefined) return;
    this.#waiting.delete(resourceOf(key));
    for (const wake of waiting) wake(revision);
  }

  /** The changes after a revision; undefined if the tail does not reach back that far. */
  after(revision: number): readonly LoggedChange[] | undefined {
    const missing = this.#revision - revision;
    if (missing > this.#changes.length) return undefined;
    return missing <= 0 ? [] : this.#changes.slice(-missing);
  }

  /** Calls `wake` once, at the next change of a resource ("pods"). Returns a function that cancels the wait. */
  onChange(resource: string, wake: Wake): () => void {
    const waiting = this.#waiting.get(resource) ?? new Set();
    this.#waiting.set(resource, waiting.add(wake));
    return () => {
      const left = this.#waiting.get(resource);
      if (left?.delete(wake) && left.size === 0) this.#waiting.delete(resource);
    };
  }

  #forget(count: number): void {
    for (const { after } of this.#changes.splice(0, count)) this.#characters -= after.text.length;
  }
}

const resourceOf = (key: string): string => key.slice(0, key.indexOf("/"));
