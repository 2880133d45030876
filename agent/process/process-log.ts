import { fstatSync, writeSync } from "node:fs";
import type { Io } from "../base/io.ts";
import { JournalLogger } from "../base/journal.ts";
import { type Fields, type Level, LineLogger, type LineTaker, type Logger } from "../base/logger.ts";
import type { Config } from "../config/settings.ts";
import { numberIn, passedSocket } from "../status/sd-notify.ts";

export type LogFormat = "journal" | "json" | "text";

/** The configured format; with "auto", the one that fits the output. */
export const formatOf = ({ stdout, env }: Pick<Io, "stdout" | "env">, { log }: Pick<Config, "log">): LogFormat => {
  if (log.format !== "auto") return log.format;
  if (stdout.isTTY) return "text";
  return isOurs(env.JOURNAL_STREAM) ? "journal" : "json";
};

/** The log of the process, over all changes of the configuration. */
export class ProcessLog implements LineTaker {
  readonly #io: Io;
  #configured: Level;
  #turned: { readonly level: Level; readonly component: string | undefined } | undefined;
  #logger: Logger;

  constructor(io: Io, config: Config) {
    this.#io = io;
    this.#configured = config.log.level;
    this.#logger = loggerOf(io, config);
  }

  levelOf({ controller, resource }: Fields): Level {
    const { level, component } = this.#turned ?? { level: this.#configured };
    const isMeant = component === undefined || component === controller || component === resource;
    return isMeant ? level : this.#configured;
  }

  configure(config: Config): void {
    this.#configured = config.log.level;
    this.#logger = loggerOf(this.#io, config);
  }

  /** Overrides the configured level, for all lines or those of a controller or resource; undefined: as configured. */
  turn(level: Level | undefined, component?: string): void {
    this.#turned = level && { level, component };
  }

  take(level: Level, message: string, fields: Fields): void {
    this.#logger[level](message, fields);
  }
}

/** Accepts lines of every level: the caller has filtered them already. */
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

/** The socket that the service manager or the launcher opened for us. */
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

/** JOURNAL_STREAM is inherited by child processes; it counts only if it names our own output (systemd.exec(5)). */
function isOurs(stream: string | undefined): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(1);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}
