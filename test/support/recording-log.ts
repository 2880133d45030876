import { FieldLogger, type Fields, type Level } from "../../agent/base/logger.ts";

export interface LogLine {
  readonly level: Level;
  readonly message: string;
  readonly fields: Fields;
}

/** Keeps what was said, by itself and by its children. */
export class RecordingLog extends FieldLogger {
  readonly lines: LogLine[];

  constructor() {
    const lines: LogLine[] = [];
    super({ levelOf: () => "debug", take: (level, message, fields) => lines.push({ level, message, fields }) });
    this.lines = lines;
  }

  /** The messages of one level, or of all. */
  said(level?: Level): string[] {
    return this.lines.filter((line) => level === undefined || line.level === level).map(({ message }) => message);
  }
}
