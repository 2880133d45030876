import type { IncomingMessage, ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { ApiFront, isWatch } from "./api-front.ts";

/**
 * An API server whose watches of Leases are late: their events come one by one, at least `pace` milliseconds apart, however
 * many wait. Everything else is answered at once.
 */
export class SlowWatchFront extends ApiFront {
  pace = 0;
  /** The number of events that wait. */
  waiting = 0;

  protected forward(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const isSlow = url.pathname.endsWith("/leases") && isWatch(url);
    const pass = (answer: IncomingMessage): void => {
      if (isSlow) this.#oneByOne(answer, response).catch(() => response.destroy());
      else answer.pipe(response);
    };
    this.pass(request, response, pass, isSlow ? { accept: "application/json" } : {});
  }

  async #oneByOne(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    let last = Promise.resolve();
    for await (const line of createInterface({ input: answer })) {
      this.waiting++;
      last = last.then(async () => {
        await new Promise((resolve) => setTimeout(resolve, this.pace));
        this.waiting--;
        response.write(`${line}\n`);
      });
    }
    await last;
    response.end();
  }
}
