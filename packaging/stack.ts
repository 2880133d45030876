import { SourceMap, type SourceMapping } from "node:module";

/** The text of the source map of a file of the program, by its name; undefined if there is no such file. */
export type MapOf = (file: string) => string | undefined;

/** A position in a file of the program as V8 writes it in a stack, including the file's folder. */
const position = /(?:[^\s()"]*\/)?([\w-]+\.js):(\d+):(\d+)/g;

export interface ReadableStack {
  readonly text: string;
  /** Files in the stack that this program does not have, because the stack is of another version of it. */
  readonly unknown: readonly string[];
}

/**
 * Replaces the program's positions in a stack with positions in the sources, each with the name at that place.
 * Everything else is kept.
 */
export function readableStack(stack: string, mapOf: MapOf): ReadableStack {
  const unknown = new Set<string>();
  const text = stack.replace(position, (whole, file: string, line: string, column: string) => {
    const map = mapOf(file);
    if (map === undefined) {
      unknown.add(file);
      return whole;
    }
    const found = new SourceMap(JSON.parse(map)).findEntry(Number(line) - 1, Number(column) - 1);
    return isMapping(found) ? sourcePosition(found) : whole;
  });
  return { text, unknown: [...unknown] };
}

/** A position in a source. Node's types lack the name. */
type Found = SourceMapping & { readonly name?: string };

const isMapping = (found: object): found is Found => "originalSource" in found;

function sourcePosition({ originalSource, originalLine, originalColumn, name }: Found): string {
  const file = originalSource.replace(/^(\.\.\/)+/, "");
  return `${file}:${originalLine + 1}:${originalColumn + 1}${name ? ` (${name})` : ""}`;
}
