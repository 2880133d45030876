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

  /** What was gathered, or its beginning, as text. */
  text(most = this.#length): string {
    return this.#bytes.toString("utf8", 0, Math.min(most, this.#length));
  }

  /** Empty again. A buffer that one large object blew up is given back. */
  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > 262_144) this.#bytes = Buffer.allocUnsafeSlow(0);
  }
}
