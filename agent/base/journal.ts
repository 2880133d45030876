import { FieldLogger, type Fields, type Level, plainValue, priorities, sentenceWith, takerOf } from "./logger.ts";
import { cleaned } from "./terminal-text.ts";

export interface JournalSink {
  readonly level: Level;
  /** Sent with every entry: the journal would otherwise use the name of the process that starts the service. */
  readonly identifier: string;
  /** Sends one datagram to the journal; false: it was not accepted. Undefined: there is only a stream. */
  readonly send: ((entry: Uint8Array) => boolean) | undefined;
  /** Writes a line to the stream that the journal reads. */
  readonly write: (line: string) => void;
}

/**
 * Logs to systemd's journal. If a socket to it was opened for us, entries carry all fields, so that `journalctl
 * SITEWARD_TERM=3` finds them; otherwise, and for entries it does not accept, it writes lines that begin with their
 * priority (sd-daemon(3)).
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

/** Per value: an entry has to fit into a datagram. */
const longestValue = 16_384;

/** An entry of the native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). The message is readable without its fields. */
export function journalEntry(identifier: string, level: Level, message: string, fields: Fields): Uint8Array {
  const own = Object.entries(fields).flatMap(([name, value]): readonly [string, string][] => {
    const text = textOf(plainValue(value));
    // journalctl shows a field with control characters as a number of bytes.
    return text === undefined ? [] : [[fieldName(name), cleaned(text)]];
  });
  const entries: readonly (readonly [string, string])[] = [
    ["MESSAGE", sentenceWith(message, fields)],
    ["PRIORITY", String(priorities[level])],
    ["SYSLOG_IDENTIFIER", identifier],
    ...own,
  ];
  return Buffer.concat(entries.map(([name, value]) => fieldOf(name, value.slice(0, longestValue))));
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : value === undefined ? undefined : JSON.stringify(value);

/** `pauseMs` becomes SITEWARD_PAUSE_MS. Names have capital letters, digits and underscores, 64 at most. */
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
