import { untilAborted } from "./until-aborted.ts";

/**
 * Runs one list at a time, however many resources lost their position. After an outage, parallel lists would share one
 * thin link, each take longer than the server keeps its snapshot, and be in memory together.
 */
export class ListTurns {
  #last: Promise<void> = Promise.resolve();

  async take(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    // A caller that gives up waiting must not admit the next one beside the running list.
    this.#last = before.then(() => turn.promise);
    try {
      await untilAborted(before, signal);
      if (!signal.aborted) await work();
    } finally {
      turn.resolve();
    }
  }
}
