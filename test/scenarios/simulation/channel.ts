/** A body that is filled piece by piece. Its reader waits for the next piece, the end or a failure. */
export class Channel implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  readonly #left: () => void;
  #end: { readonly error: unknown } | "over" | undefined;
  #wake: (() => void) | undefined;

  /** `left`: called when the reader leaves before the end. */
  constructor(left: () => void) {
    this.#left = left;
  }

  push(piece: Uint8Array): void {
    if (this.#end !== undefined) return;
    this.#pieces.push(piece);
    this.#wake?.();
  }

  end(): void {
    this.#end ??= "over";
    this.#wake?.();
  }

  /** Discards unread pieces, like a connection reset. */
  fail(error: unknown): void {
    if (this.#end !== undefined) return;
    this.#pieces.length = 0;
    this.#end = { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece;
        if (this.#end === "over") return;
        if (this.#end !== undefined) throw this.#end.error;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#left();
    }
  }
}
