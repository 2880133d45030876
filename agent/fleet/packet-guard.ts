/**
 * Tracks MQTT packet headers in a byte stream, to detect an oversize packet from its first bytes. A packet parser would
 * buffer all of it before it could check.
 */
export class PacketGuard {
  readonly #most: number;
  /** Header bytes read so far, and the length decoded from them. */
  #header = 0;
  #length = 0;
  /** Bytes left of the current packet, once its header is complete. */
  #rest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes the next bytes of the connection. false: they announce a packet that is too large; the connection must end.
   */
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
      // The first byte is the packet type; the length follows, seven bits per byte, lowest first.
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
