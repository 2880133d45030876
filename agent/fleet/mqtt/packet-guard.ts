/**
 * Reads the headers of MQTT packets in a byte stream, to detect an oversize packet by its first bytes. The packet parser
 * would buffer the whole packet first.
 */
export class PacketGuard {
  readonly #most: number;
  /** Number of bytes of the current header read so far. */
  #header = 0;
  /** The packet's length, as far as the bytes read so far encode it. */
  #length = 0;
  /** How many bytes of the current packet have not arrived yet. */
  #rest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the next bytes. Returns false if a packet is too large, in which case the connection must end. */
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
      // The first byte is the packet type; the length follows, seven bits per byte, least significant first.
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
