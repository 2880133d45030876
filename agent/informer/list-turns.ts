import { untilAborted } from "./until-aborted.ts";

/**
 * Runs one list at a time, regardless of how many resources have lost their position. After an outage, parallel lists
 * would share a slow link, so that each could take longer than the server keeps its snapshot, and all of them would be
 * in memory at the same time.
 */
export class ListTurns {
  #last: Promise<void> = Promise.resolve();

  async take(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    // Waits for `before` as well, because a caller that stops waiting must not let the next one start while a list is
    // still running.
    this.#last = before.then(() => turn.promise);
    try {
      await untilAborted(before, signal);
      if (!signal.aborted) await work();
    } finally {
      turn.resolve();
    }
  }
}
