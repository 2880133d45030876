import { FieldLogger, type LogFields, type LogLevel, plainValue, priorities, sentenceWith, takerOf } from "./logger.ts";
import { cleanText } from "./text/terminal-text.ts";

export interface JournalSink {
  readonly level: LogLevel;
  /** SYSLOG_IDENTIFIER of every entry. Without it, the journal would use the name of the service's start script. */
  readonly identifier: string;
  /**
   * Sends one datagram to the journal; returns false if it was not accepted. Undefined if the journal's socket is
   * unavailable; entries then go to `write`.
   */
  readonly send: ((entry: Uint8Array) => boolean) | undefined;
  /** Writes a line to the standard stream that the journal reads. */
  readonly write: (line: string) => void;
}

/**
 * Logs to systemd's journal. Over the journal's socket, entries carry all fields, so that `journalctl SITEWARD_TERM=3`
 * finds them. Without a socket, or if the journal refuses an entry, the entry becomes a line of text that begins with
 * its priority (sd-daemon(3)).
 */
export class JournalLogger extends FieldLogger {
  constructor(sink: JournalSink) {
    super(
      takerOf(sink, (level, message, fields) => {
        if (sink.send?.(journalEntry(sink.identifier, level, message, fields))) return;
        sink.write(`<${priorities[level]}>${sentenceWith(message, fields)}`);
      }),
    );
  }
}

/** Maximum length of a value, in characters. Longer ones are truncated, so that the entry fits into a datagram. */
const maxValueLength = 16_384;

/** An entry in the journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). MESSAGE repeats the fields. */
export function journalEntry(identifier: string, level: LogLevel, message: string, fields: LogFields): Uint8Array {
  const own = Object.entries(fields).flatMap(([name, value]): readonly [string, string][] => {
    const text = textOf(plainValue(value));
    // Cleaned, because journalctl shows only the size of a field that contains control characters.
    return text === undefined ? [] : [[fieldName(name), cleanText(text)]];
  });
  const entries: readonly (readonly [string, string])[] = [
    ["MESSAGE", sentenceWith(message, fields)],
    ["PRIORITY", String(priorities[level])],
    ["SYSLOG_IDENTIFIER", identifier],
    ...own,
  ];
  return Buffer.concat(entries.map(([name, value]) => fieldOf(name, value.slice(0, maxValueLength))));
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : value === undefined ? undefined : JSON.stringify(value);

/**
 * Converts `pauseMs` to SITEWARD_PAUSE_MS. A name has capital letters, digits and underscores, 64 characters at most.
 */
export const fieldName = (name: string): string =>
  `SITEWARD_${name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replace(/[^A-Z0-9_]/g, "_")}`.slice(0, 64);

/** A multi-line value is preceded by its length, in 64 bits, little-endian. */
function fieldOf(name: string, value: string): Buffer {
  if (!value.includes("\n")) return Buffer.from(`${name}=${value}\n`);
  const text = Buffer.from(value);
  const length = Buffer.alloc(8);
  length.writeUInt32LE(text.length);
  return Buffer.concat([Buffer.from(`${name}\n`), length, text, Buffer.from("\n")]);
}
