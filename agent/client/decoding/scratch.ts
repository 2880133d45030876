/** A growing buffer for data that arrives in pieces. Its memory is reused, so that a stream rarely allocates. */
export class Scratch {
  #bytes: Buffer = Buffer.allocUnsafeSlow(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length, 16_384));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** The gathered bytes; valid until the buffer changes. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Position of these bytes at or after `from`; -1 if there is none. */
  indexOf(bytes: Uint8Array, from: number): number {
    return this.view().indexOf(bytes, from);
  }

  /** The gathered bytes, or a part of them, as text. */
  text(from = 0, to = this.#length): string {
    return this.#bytes.toString("utf8", from, Math.min(to, this.#length));
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }

  /** Clears the buffer and returns a copy of its bytes. */
  taken(): Buffer {
    const bytes = Buffer.from(this.view());
    this.clear();
    return bytes;
  }

  /** Clears the buffer. Frees its memory if it has grown beyond 256 KiB. */
  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > 262_144) this.#bytes = Buffer.allocUnsafeSlow(0);
  }
}
