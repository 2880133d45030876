import type { Ambient } from "../agent/base/ambient.ts";
import { type Millis, sleep } from "../agent/base/clock.ts";
import type { SiteServer } from "./embedded-site.ts";

/** An API server that is not listening yet. */
export interface ServerProgram {
  listen(port: number, host: string): Promise<{ readonly port: number }>;
  /** Its upkeep, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends every connection and lets go of its file; `run` has ended before. */
  close(): Promise<void>;
}

interface Life {
  readonly program: ServerProgram;
  readonly controller: AbortController;
  readonly upkeep: Promise<void>;
}

const host = "127.0.0.1";
/** How many ports after the wanted one are tried. */
const portsTried = 100;
const portRetry: Millis = 200;

/** The site's API server in this process, on a loopback port that stays the same through restarts. */
export class LocalServer implements SiteServer {
  readonly #ambient: Ambient;
  /** A server over what is on disk: nothing but that survives a restart. */
  readonly #open: () => ServerProgram;
  #port = 0;
  #life: Life | undefined;

  constructor(ambient: Ambient, parts: { readonly open: () => ServerProgram }) {
    this.#ambient = ambient;
    this.#open = parts.open;
  }

  get port(): number {
    return this.#port;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  /** Listens on the wanted port, or on the next one that is free. */
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
    // It is gone already: whoever took it away brings it back.
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
