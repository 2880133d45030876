import { unlessAborted } from "./unless-aborted.ts";

/** Lets one loop wait until another has something for it. A ring while nobody waits is kept, however often it came. */
export class Bell {
  #rung = Promise.withResolvers<void>();

  ring(): void {
    this.#rung.resolve();
  }

  /** Ends at the next ring, or when the signal aborts. One waits at a time. */
  async heard(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#rung.promise, signal);
    this.#rung = Promise.withResolvers();
  }
}
