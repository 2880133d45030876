/** The body of an open watch: successive lines, until it ends. */
export class WatchStream implements AsyncIterable<Uint8Array> {
  readonly #lines: string[] = [];
  #ended: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  say(line: string): void {
    if (this.isOpen) this.#lines.push(line);
    this.#wake?.();
  }

  /** With an error: the connection broke. */
  end(error?: unknown): void {
    this.#ended ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) yield Buffer.from(line);
      else if (this.#ended === undefined) await this.#more();
      else if (this.#ended.error === undefined) return;
      else throw this.#ended.error;
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
