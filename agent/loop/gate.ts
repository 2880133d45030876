/** Lets workers pass while it is open, and makes them wait while it is shut. */
export class Gate {
  readonly #waiting = new Set<() => void>();
  #isShut = false;

  get isShut(): boolean {
    return this.#isShut;
  }

  shut(): void {
    this.#isShut = true;
  }

  open(): void {
    this.#isShut = false;
    for (const enter of this.#waiting) enter();
  }

  /** Waits until the gate is open. Resolves to false if the signal aborts first. */
  async pass(signal: AbortSignal): Promise<boolean> {
    while (this.#isShut && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const enter = (): void => {
          this.#waiting.delete(enter);
          signal.removeEventListener("abort", enter);
          resolve();
        };
        signal.addEventListener("abort", enter, { once: true });
        this.#waiting.add(enter);
      });
    }
    return !signal.aborted;
  }
}
