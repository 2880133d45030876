import { untilAborted } from "./until-aborted.ts";

/**
 * Runs one list at a time, however many resources lost their position. After an outage, parallel lists would share a
 * slow link, so that each would take longer than the server keeps its snapshot, and all would be in memory together.
 */
export class ListTurns {
  #last: Promise<void> = Promise.resolve();

  async take(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    // Waits for `before` too, because a caller that stops waiting must not let the next one run beside the running
    // list.
    this.#last = before.then(() => turn.promise);
    try {
      await untilAborted(before, signal);
      if (!signal.aborted) await work();
    } finally {
      turn.resolve();
    }
  }
}
