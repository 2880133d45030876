/**
 * Follows MQTT's packets by their headers alone: one that is larger than we said we take is known by its first bytes.
 * Whoever reads whole packets would have had all of it in memory by the time it could look.
 */
export class PacketGuard {
  readonly #most: number;
  /** Bytes of the header that came so far, and the length that they tell. */
  #header = 0;
  #length = 0;
  /** Bytes of the packet that are still to come, once its header is whole. */
  #rest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the next bytes of the connection. False: they announce a packet that is too large, and it ends here. */
  accepts(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; ) {
      if (this.#rest > 0) {
        const taken = Math.min(this.#rest, bytes.length - at);
        this.#rest -= taken;
        at += taken;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      this.#header++;
      // The first says what kind of packet it is; then come seven bits each, the lowest first.
      if (this.#header === 1) continue;
      this.#length += (byte & 0x7f) * 128 ** (this.#header - 2);
      if (this.#header + this.#length > this.#most) return false;
      if ((byte & 0x80) === 0) {
        this.#rest = this.#length;
        this.#header = 0;
        this.#length = 0;
      }
    }
    return true;
  }
}
