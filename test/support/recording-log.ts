import type { Fields, Level, Logger } from "../../agent/base/logger.ts";

export interface LogLine {
  readonly level: Level;
  readonly message: string;
  readonly fields: Fields;
}

/** Keeps what was said, by itself and by its children. */
export class RecordingLog implements Logger {
  readonly lines: LogLine[];
  readonly #fields: Fields;

  constructor(lines: LogLine[] = [], fields: Fields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  /** The messages of one level, or of all. */
  said(level?: Level): string[] {
    return this.lines.filter((line) => level === undefined || line.level === level).map(({ message }) => message);
  }

  error(message: string, fields?: Fields): void {
    this.#say("error", message, fields);
  }

  warn(message: string, fields?: Fields): void {
    this.#say("warn", message, fields);
  }

  info(message: string, fields?: Fields): void {
    this.#say("info", message, fields);
  }

  debug(message: string, fields?: Fields): void {
    this.#say("debug", message, fields);
  }

  child(fields: Fields): Logger {
    return new RecordingLog(this.lines, { ...this.#fields, ...fields });
  }

  #say(level: Level, message: string, fields: Fields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
