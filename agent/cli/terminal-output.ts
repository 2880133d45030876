import type { Output } from "../base/io.ts";
import { jsonText, lineOf, type TerminalText, terminalText } from "../base/text/terminal-text.ts";

/** An `Output` on a stream. All methods except `echo` replace control characters, which could control a terminal. */
export function terminalOutput(
  stream: Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows"> & { write(text: string): unknown },
  env: Readonly<Record<string, string | undefined>>,
): Output {
  // https://no-color.org: any non-empty value disables colour.
  const write = (text: TerminalText): void => void stream.write(terminalText(text, stream.isTTY && !env.NO_COLOR));
  return {
    write,
    line: (text) => write([lineOf(text), "\n"]),
    json: (value, indent) => write(`${jsonText(value, indent)}\n`),
    echo: (text) => void stream.write(text),
    get isTTY() {
      return stream.isTTY ?? false;
    },
    get columns() {
      return stream.columns ?? 100;
    },
    get rows() {
      return stream.rows;
    },
  };
}
