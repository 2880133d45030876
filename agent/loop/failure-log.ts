import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { dispositionOf, isUnforeseen } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";

/** Minimum interval between two warnings, because the passes of all keys fail while the link is interrupted. */
const warnEvery: Millis = 60_000;

/** Logs the failed passes of one controller. */
export class FailureLog {
  readonly #log: Logger;
  #warned: Instant | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  log(key: string, error: unknown, now: Instant): void {
    if (isUnforeseen(error)) {
      this.#log.error("pass failed", { key, error, stack: error instanceof Error ? error.stack : undefined });
      return;
    }
    const quiet = this.#warned !== undefined && elapsed(this.#warned, now) < warnEvery;
    if (quiet || dispositionOf(error) === "refresh") {
      this.#log.debug("pass failed", { key, error });
      return;
    }
    this.#warned = now;
    this.#log.warn("pass failed", { key, error });
  }
}
