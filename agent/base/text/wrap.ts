import { oneLine } from "./terminal-text.ts";

/** Breaks text at spaces into lines of at most `width` characters; a word longer than a line is split. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let rest = oneLine(text);
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
