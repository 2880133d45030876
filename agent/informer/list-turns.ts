import { untilAborted } from "./until-aborted.ts";

/**
 * One list at a time, however many resources lost their position: after an outage they would share one thin link, each
 * become slower than the server keeps its snapshot, and stand in memory together.
 */
export class ListTurns {
  #last: Promise<void> = Promise.resolve();

  async take(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    // Who gives up waiting does not let the next one in beside the list that runs.
    this.#last = before.then(() => turn.promise);
    try {
      await untilAborted(before, signal);
      if (!signal.aborted) await work();
    } finally {
      turn.resolve();
    }
  }
}
