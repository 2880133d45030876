/** Maximum number of acts without a story that are counted; an entry takes about 150 bytes. */
const maxUnopened = 4096;

/** Counts the records of a term that were not stored, because there were too many at once. */
export class MissingRecords {
  #dropped = 0;
  /** The acts for which there was no room among the open stories. */
  readonly #unopened = new Set<string>();

  get count(): number {
    return this.#dropped + this.#unopened.size;
  }

  /** A record was dropped before it was stored. */
  drop(): void {
    this.#dropped++;
  }

  /** There is no room for the story of an act. Returns whether the act was not counted before. */
  addUnopened(id: string): boolean {
    if (this.#unopened.has(id) || this.#unopened.size >= maxUnopened) return false;
    this.#unopened.add(id);
    return true;
  }

  /** The act has a story after all. */
  removeUnopened(id: string): void {
    this.#unopened.delete(id);
  }

  clear(): void {
    this.#dropped = 0;
    this.#unopened.clear();
  }
}
