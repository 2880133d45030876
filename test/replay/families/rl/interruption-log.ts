import type { Clock, Millis } from "../../../../agent/base/clock.ts";
import { sentenceOf } from "../../../../agent/base/errors.ts";
import type { LogFields, Logger, LogLevel } from "../../../../agent/base/logger.ts";

/** A try that failed. */
export interface Interruption {
  readonly atMs: Millis;
  readonly error: string;
  /** By the reflector's own backoff; a delay requested by the server may be longer. */
  readonly waitMs: Millis;
  readonly level: LogLevel;
}

/** Records the reflector's log entries about failed attempts. */
export class InterruptionLog implements Logger {
  readonly interruptions: Interruption[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  error(message: string, fields?: LogFields): void {
    this.#record("error", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#record("warn", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#record("info", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#record("debug", message, fields);
  }

  child(): Logger {
    return this;
  }

  #record(level: LogLevel, message: string, { error, wait }: LogFields = {}): void {
    if (message !== "watch interrupted" || typeof wait !== "number") return;
    this.interruptions.push({
      atMs: Math.round(this.#clock.now().mono),
      error: sentenceOf(error),
      waitMs: wait,
      level,
    });
  }
}
