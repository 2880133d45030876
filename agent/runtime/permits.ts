/** At most so many at once; the rest waits in line. */
export class Permits {
  readonly #most: number;
  readonly #line = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a permit where one is free, without waiting for it. */
  take(): boolean {
    if (this.#taken >= this.#most) return false;
    this.#taken++;
    return true;
  }

  /** Waits for a permit, to be given back by `release`. False, and no permit: the signal aborted first. */
  acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.take()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#line.delete(enter);
        resolve(false);
      };
      const enter = (): void => {
        this.#line.delete(enter);
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#line.add(enter);
    });
  }

  /** Hands the permit to the next in line, or keeps it. */
  release(): void {
    const [next] = this.#line;
    if (next) next();
    else this.#taken--;
  }
}
