import type { Key } from "../../../../storage/object.ts";

export interface ShownDelta {
  readonly type: string;
  readonly object: string;
  readonly uid: string;
  readonly tombstone?: boolean;
  readonly marked?: true;
}

/** An object that a list showed as it is stored. The queue has no row for it; `behind` is the preceding row. */
export interface Mark {
  readonly behind: number;
  readonly deltas: readonly ShownDelta[];
}

/** Marks of lists that have not been popped yet. Marks of a list in progress count once it is complete. */
export class Marks {
  readonly #marks = new Map<Key, Mark>();
  #staged: { readonly key: Key; readonly behind: number; readonly delta: ShownDelta }[] = [];

  stage(key: Key, behind: number, delta: ShownDelta): void {
    this.#staged.push({ key, behind, delta });
  }

  /** The list is complete. */
  commit(): void {
    for (const { key, behind, delta } of this.#staged.splice(0)) {
      const before = this.#marks.get(key);
      this.#marks.set(key, { behind: before?.behind ?? behind, deltas: [...(before?.deltas ?? []), delta] });
    }
  }

  /** The list is given up. */
  drop(): void {
    this.#staged = [];
  }

  deltas(key: Key): readonly ShownDelta[] {
    return this.#marks.get(key)?.deltas ?? [];
  }

  entries(): Iterable<[Key, Mark]> {
    return this.#marks;
  }

  delete(key: Key): void {
    this.#marks.delete(key);
  }

  clear(): void {
    this.drop();
    this.#marks.clear();
  }
}
