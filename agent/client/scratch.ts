/** A buffer that gathers what arrives in pieces, kept between uses so that a stream allocates once. */
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

  /** What was gathered, until more is. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Where these bytes begin, from `from` on; -1: nowhere. */
  indexOf(bytes: Uint8Array, from: number): number {
    return this.view().indexOf(bytes, from);
  }

  /** What was gathered, or a part of it, as text. */
  text(from = 0, to = this.#length): string {
    return this.#bytes.toString("utf8", from, Math.min(to, this.#length));
  }

  /** Drops what is before `count`. */
  drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }

  /** Empty again; answers with a copy of what was gathered. */
  taken(): Buffer {
    const bytes = Buffer.from(this.view());
    this.clear();
    return bytes;
  }

  /** Empty again. A buffer that one large object blew up is given back. */
  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > 262_144) this.#bytes = Buffer.allocUnsafeSlow(0);
  }
}
