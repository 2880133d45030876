/** Runs pieces of work on the same subject one after the other, in the order of the calls. */
export class Turns {
  /** For each subject with unfinished work, a promise that resolves at the end of the last piece. */
  readonly #last = new Map<string, Promise<void>>();

  async inTurn<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(subject);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(subject, ended);
    try {
      await before;
      return await work();
    } finally {
      end();
      if (this.#last.get(subject) === ended) this.#last.delete(subject);
    }
  }
}
