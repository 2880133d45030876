import type { Clock, Millis } from "./clock.ts";
import { isoTime } from "./iso-time.ts";
import { cleaned, jsonText, oneLine } from "./terminal-text.ts";

export const levels = ["error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];
export type Fields = Readonly<Record<string, unknown>>;

/** error: an operator must act. warn: degraded, carrying on. info: the board or the site changed. debug: the rest. */
export interface Logger {
  error(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  debug(message: string, fields?: Fields): void;
  /** The same logger, with fields added to each of its lines. */
  child(fields: Fields): Logger;
}

export interface LogSink {
  /** Read for every line, because it may change at run time. */
  readonly level: Level;
  readonly format: "json" | "text";
  readonly clock: Clock;
  write(line: string): void;
}

/** syslog priorities, as journald reads them. */
export const priorities: Readonly<Record<Level, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** Takes the lines of a logger and its children, with all their fields. */
export interface LineTaker {
  /** The level for a logger with these fields. Less severe lines are not even built. */
  levelOf(fields: Fields): Level;
  take(level: Level, message: string, fields: Fields): void;
}

export class FieldLogger implements Logger {
  readonly #taker: LineTaker;
  readonly #fields: Fields;

  constructor(taker: LineTaker, fields: Fields = {}) {
    this.#taker = taker;
    this.#fields = fields;
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
    return new FieldLogger(this.#taker, { ...this.#fields, ...fields });
  }

  #say(level: Level, message: string, fields: Fields = {}): void {
    if (levels.indexOf(level) > levels.indexOf(this.#taker.levelOf(this.#fields))) return;
    this.#taker.take(level, message, { ...this.#fields, ...fields });
  }
}

/** Writes each entry as one line. */
export class LineLogger extends FieldLogger {
  constructor(sink: LogSink, fields?: Fields) {
    const lineOf = sink.format === "json" ? jsonLine : textLine;
    const take = (level: Level, message: string, all: Fields): void =>
      sink.write(lineOf(sink.clock.now().wall, level, message, all));
    super(takerOf(sink, take), fields);
  }
}

/** A taker that always uses the current level of its sink. */
export const takerOf = (sink: { readonly level: Level }, take: LineTaker["take"]): LineTaker => ({
  levelOf: () => sink.level,
  take,
});

/** Discards everything. */
export const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => silent };

function jsonLine(wall: Millis, level: Level, message: string, fields: Fields): string {
  const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainValue(value)]));
  return jsonText({ time: isoTime(wall), level, priority: priorities[level], message, ...plain });
}

const textLine = (wall: Millis, level: Level, message: string, fields: Fields): string =>
  `${isoTime(wall).slice(11, 23)} ${level.padEnd(5)} ${sentenceWith(message, fields)}`;

/** `term began term=3`, in one line and without terminal control characters. */
export function sentenceWith(message: string, fields: Fields): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textValue(plainValue(value))}`);
  return cleaned(oneLine(`${message}${rest.join("")}`));
}

const textValue = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

/** An Error becomes its message and those of its causes, without the stack. */
export function plainValue(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const messages: string[] = [];
  for (let error: unknown = value; error instanceof Error && messages.length < 5; error = error.cause) {
    messages.push(error.message);
  }
  return messages.join(": ");
}
