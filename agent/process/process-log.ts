import { fstatSync, writeSync } from "node:fs";
import type { Io } from "../base/io.ts";
import { JournalLogger } from "../base/journal.ts";
import { LineLogger, type LineTaker, type LogFields, type Logger, type LogLevel } from "../base/logger.ts";
import type { Config } from "../config/settings.ts";
import { numberIn, passedSocket } from "../status/sd-notify.ts";

export type LogFormat = "journal" | "json" | "text";

/** The configured log format or, for "auto", the format that suits the output. */
export const formatOf = ({ stdout, env }: Pick<Io, "stdout" | "env">, { log }: Pick<Config, "log">): LogFormat => {
  if (log.format !== "auto") return log.format;
  if (stdout.isTTY) return "text";
  return isOurs(env.JOURNAL_STREAM) ? "journal" : "json";
};

/** The log of the process, whose level and format follow the configuration. */
export class ProcessLog implements LineTaker {
  readonly #io: Io;
  #configured: LogLevel;
  #override: { readonly level: LogLevel; readonly component: string | undefined } | undefined;
  #logger: Logger;

  constructor(io: Io, config: Config) {
    this.#io = io;
    this.#configured = config.log.level;
    this.#logger = loggerOf(io, config);
  }

  levelOf({ controller, resource }: LogFields): LogLevel {
    const { level, component } = this.#override ?? { level: this.#configured };
    const isMeant = component === undefined || component === controller || component === resource;
    return isMeant ? level : this.#configured;
  }

  configure(config: Config): void {
    this.#configured = config.log.level;
    this.#logger = loggerOf(this.#io, config);
  }

  /**
   * Overrides the configured level, for all lines or those of a controller or resource; undefined to use the configured
   * level.
   */
  override(level: LogLevel | undefined, component?: string): void {
    this.#override = level && { level, component };
  }

  take(level: LogLevel, message: string, fields: LogFields): void {
    this.#logger[level](message, fields);
  }
}

/** The logger for a format. It accepts lines of every level, because `levelOf` has already filtered them. */
function loggerOf(io: Io, config: Config): Logger {
  const level = "debug";
  const write = (line: string): void => io.stdout.line(line);
  const format = formatOf(io, config);
  if (format === "journal") return new JournalLogger({ level, identifier: "siteward", send: journalOf(io), write });
  return new LineLogger(
    { level, format, clock: io.clock, write },
    format === "json" ? { board: config.board.name } : {},
  );
}

/**
 * A function that sends an entry to the journal's socket; undefined if neither the service manager nor the launcher has
 * opened one.
 */
function journalOf({ env }: Io): ((entry: Uint8Array) => boolean) | undefined {
  const fd = passedSocket("journal", env, process.pid) ?? numberIn(env.SITEWARD_JOURNAL_FD);
  if (fd === undefined) return undefined;
  return (entry) => {
    try {
      writeSync(fd, entry);
      return true;
    } catch {
      return false;
    }
  };
}

/**
 * Whether JOURNAL_STREAM names the output of this process, which is not certain, because child processes inherit the
 * variable (systemd.exec(5)).
 */
function isOurs(stream: string | undefined): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(1);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}
