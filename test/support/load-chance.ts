/** mulberry32: small, fast, and the same numbers on every machine. */
export class SeededChance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  text(length: number): string {
    const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
    return Array.from({ length }, () => letters[this.below(letters.length)]).join("");
  }
}
