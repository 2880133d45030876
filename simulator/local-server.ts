import type { Ambient } from "../agent/base/ambient.ts";
import { type Millis, sleep } from "../agent/base/clock.ts";
import type { SiteServer } from "./embedded-site.ts";

/** An API server that is not listening yet. */
export interface ServerProgram {
  listen(port: number, host: string): Promise<{ readonly port: number }>;
  /** The server's housekeeping, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends every connection and closes its file; `run` must have ended. */
  close(): Promise<void>;
}

interface Life {
  readonly program: ServerProgram;
  readonly controller: AbortController;
  readonly upkeep: Promise<void>;
}

const host = "127.0.0.1";
/** How many ports after the requested one are tried. */
const portsTried = 100;
const portRetry: Millis = 200;

/** The site's API server in this process, on a loopback port that remains the same across restarts. */
export class LocalServer implements SiteServer {
  readonly #ambient: Ambient;
  /** Creates a server over the file on disk, because only the file survives a restart. */
  readonly #open: () => ServerProgram;
  #port = 0;
  #life: Life | undefined;

  constructor(ambient: Ambient, deps: { readonly open: () => ServerProgram }) {
    this.#ambient = ambient;
    this.#open = deps.open;
  }

  get port(): number {
    return this.#port;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  /** Listens on the requested port, or on the next free one. */
  async start(wanted: number): Promise<void> {
    for (let port = wanted; ; port++) {
      try {
        await this.#begin(port);
        return;
      } catch (error) {
        if (!isPortTaken(error) || port === wanted + portsTried || port === 65_535) throw error;
      }
    }
  }

  async restart(pause: Millis, signal: AbortSignal): Promise<void> {
    // The server is already down, and the call that stopped it will restart it.
    if (!this.#life) return;
    await this.stop();
    await sleep(this.#ambient.clock, pause, signal);
    while (!signal.aborted) {
      try {
        await this.#begin(this.#port);
        return;
      } catch (error) {
        if (!isPortTaken(error)) throw error;
        await sleep(this.#ambient.clock, portRetry, signal);
      }
    }
  }

  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    if (life) await end(life);
  }

  async #begin(port: number): Promise<void> {
    const program = this.#open();
    const controller = new AbortController();
    const life: Life = { program, controller, upkeep: program.run(controller.signal) };
    try {
      this.#port = (await program.listen(port, host)).port;
      this.#life = life;
    } catch (error) {
      await end(life);
      throw error;
    }
  }
}

async function end({ program, controller, upkeep }: Life): Promise<void> {
  controller.abort();
  await upkeep;
  await program.close();
}

const isPortTaken = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EADDRINUSE" || error.code === "EACCES");
