import { sentenceOf } from "../../../agent/base/errors.ts";
import type { Fields, Logger } from "../../../agent/base/logger.ts";

/** Passes on what is said at the level "error"; the rest is for people who are not here. */
export class ComplaintLog implements Logger {
  readonly #complain: (text: string) => void;

  constructor(complain: (text: string) => void) {
    this.#complain = complain;
  }

  error(message: string, fields: Fields = {}): void {
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
