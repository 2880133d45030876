import type { Clock, Millis } from "./clock.ts";
import { cleanText, jsonText, oneLine } from "./text/terminal-text.ts";
import { isoTime } from "./time/iso-time.ts";

export const levels = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof levels)[number];
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * error: an operator must act. warn: degraded, carrying on. info: the board or the site changed. debug: everything
 * else.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** The same logger, with fields added to each of its lines. */
  child(fields: LogFields): Logger;
}

export interface LogSink {
  /** Read again for every line, because the level may change at run time. */
  readonly level: LogLevel;
  readonly format: "json" | "text";
  readonly clock: Clock;
  write(line: string): void;
}

/** The syslog priority of each level, as used by journald. */
export const priorities: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** Receives the entries of a logger and its children, with all their fields. */
export interface LineTaker {
  /** The level in force for a logger with these fields. Less severe entries are discarded before they are formatted. */
  levelOf(fields: LogFields): LogLevel;
  take(level: LogLevel, message: string, fields: LogFields): void;
}

export class FieldLogger implements Logger {
  readonly #taker: LineTaker;
  readonly #fields: LogFields;

  constructor(taker: LineTaker, fields: LogFields = {}) {
    this.#taker = taker;
    this.#fields = fields;
  }

  error(message: string, fields?: LogFields): void {
    this.#say("error", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#say("warn", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#say("info", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#say("debug", message, fields);
  }

  child(fields: LogFields): Logger {
    return new FieldLogger(this.#taker, { ...this.#fields, ...fields });
  }

  #say(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (levels.indexOf(level) > levels.indexOf(this.#taker.levelOf(this.#fields))) return;
    this.#taker.take(level, message, { ...this.#fields, ...fields });
  }
}

/** Writes each entry as one line. */
export class LineLogger extends FieldLogger {
  constructor(sink: LogSink, fields?: LogFields) {
    const lineOf = sink.format === "json" ? jsonLine : textLine;
    const take = (level: LogLevel, message: string, all: LogFields): void =>
      sink.write(lineOf(sink.clock.now().wall, level, message, all));
    super(takerOf(sink, take), fields);
  }
}

/** A `LineTaker` that always applies its sink's current level. */
export const takerOf = (sink: { readonly level: LogLevel }, take: LineTaker["take"]): LineTaker => ({
  levelOf: () => sink.level,
  take,
});

/** Discards everything. */
export const noopLogger: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => noopLogger };

function jsonLine(wall: Millis, level: LogLevel, message: string, fields: LogFields): string {
  const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainValue(value)]));
  return jsonText({ time: isoTime(wall), level, priority: priorities[level], message, ...plain });
}

const textLine = (wall: Millis, level: LogLevel, message: string, fields: LogFields): string =>
  `${isoTime(wall).slice(11, 23)} ${level.padEnd(5)} ${sentenceWith(message, fields)}`;

/** The message followed by its fields ("term began term=3"), in one line and without terminal control characters. */
export function sentenceWith(message: string, fields: LogFields): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textValue(plainValue(value))}`);
  return cleanText(oneLine(`${message}${rest.join("")}`));
}

const textValue = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

/**
 * Converts an Error to its message and those of up to four causes, without the stack. Other values remain unchanged.
 */
export function plainValue(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const messages: string[] = [];
  for (let error: unknown = value; error instanceof Error && messages.length < 5; error = error.cause) {
    messages.push(error.message);
  }
  return messages.join(": ");
}
