import type { Output } from "../base/io.ts";
import { jsonText, lineOf, type Text, terminalText } from "../base/terminal-text.ts";

/** A stream for command output; `write` masks control characters in foreign text before it reaches a terminal. */
export function terminalOutput(
  stream: Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows"> & { write(text: string): unknown },
  env: Readonly<Record<string, string | undefined>>,
): Output {
  // https://no-color.org: any non-empty value disables colour.
  const write = (text: Text): void => void stream.write(terminalText(text, stream.isTTY && !env.NO_COLOR));
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
