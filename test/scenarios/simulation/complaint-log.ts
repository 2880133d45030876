import { sentenceOf } from "../../../agent/base/errors.ts";
import type { LogFields, Logger } from "../../../agent/base/logger.ts";

/** Passes on entries at level "error" and drops the others. */
export class ComplaintLog implements Logger {
  readonly #complain: (text: string) => void;

  constructor(complain: (text: string) => void) {
    this.#complain = complain;
  }

  error(message: string, fields: LogFields = {}): void {
    const { error, stack, ...rest } = fields;
    const why = error === undefined ? "" : `: ${sentenceOf(error)}`;
    this.#complain(`${message}${why} ${JSON.stringify(rest)}${stack === undefined ? "" : `\n${String(stack)}`}`);
  }

  warn(): void {}

  info(): void {}

  debug(): void {}

  child(): Logger {
    return this;
  }
}
