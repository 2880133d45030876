import { FieldLogger, type LogFields, type LogLevel } from "../../agent/base/logger.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records its own entries and those of its children. */
export class RecordingLog extends FieldLogger {
  readonly lines: LogLine[];

  constructor() {
    const lines: LogLine[] = [];
    super({ levelOf: () => "debug", take: (level, message, fields) => lines.push({ level, message, fields }) });
    this.lines = lines;
  }

  /** The messages of one level, or of all. */
  said(level?: LogLevel): string[] {
    return this.lines.filter((line) => level === undefined || line.level === level).map(({ message }) => message);
  }
}
