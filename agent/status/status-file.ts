import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { Status } from "./schema.ts";
import { substance } from "./snapshot.ts";

export interface StatusFileParts {
  readonly file: string;
  /** At most this often, when something changed; at least this often, whatever happens. */
  readonly limits: { readonly minInterval: Millis; readonly every: Millis };
  /** The status as it is now. `before`: the last one taken. `failures`: how often the file could not be written. */
  take(before: Status | undefined, failures: number): Status;
  /** Replaces the file's text in one step. */
  replace(file: string, text: string): void;
}

/**
 * Keeps status.json true. A folder that is missing, read-only or full is no reason to stop looking after a site: it is
 * said once in the log, counted, and tried again with the next write.
 */
export class StatusFile {
  readonly #ambient: Ambient;
  readonly #parts: StatusFileParts;
  #last: Status | undefined;
  #written: { readonly at: Instant; readonly substance: string } | undefined;
  #failures = 0;
  #failing = false;

  constructor(ambient: Ambient, parts: StatusFileParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  get failures(): number {
    return this.#failures;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { minInterval, every } = this.#parts.limits;
    while (!signal.aborted) {
      this.#pass(false);
      const since = this.#written ? elapsed(this.#written.at, this.#ambient.clock.now()) : every;
      await sleep(this.#ambient.clock, this.#failing ? minInterval : Math.min(minInterval, every - since), signal);
    }
  }

  /** Writes now, whether or not something changed: before the agent says that it is ready, and when it stops. */
  write(): void {
    this.#pass(true);
  }

  #pass(always: boolean): void {
    const { file, limits } = this.#parts;
    const now = this.#ambient.clock.now();
    try {
      const status = this.#parts.take(this.#last, this.#failures);
      this.#last = status;
      const news = substance(status);
      const due = !this.#written || elapsed(this.#written.at, now) >= limits.every;
      if (!always && !due && news === this.#written?.substance) return;
      this.#parts.replace(file, `${JSON.stringify(status, undefined, 1)}\n`);
      this.#written = { at: now, substance: news };
      if (this.#failing) this.#ambient.log.info("status file written again", { file });
      this.#failing = false;
    } catch (error) {
      this.#failures++;
      if (!this.#failing) this.#ambient.log.warn("status file cannot be written", { file, error });
      this.#failing = true;
    }
  }
}
