import { SourceMap, type SourceMapping } from "node:module";

/** The text of a source map, by the name of the file that it belongs to; undefined: there is no such file. */
export type MapOf = (file: string) => string | undefined;

/** A position in a file of the program, as V8 writes it into a stack, with the folder in which that file lay. */
const position = /(?:[^\s()"]*\/)?([\w-]+\.js):(\d+):(\d+)/g;

export interface ReadableStack {
  readonly text: string;
  /** Files that are named in it and are none of this program's: it is a stack of another version. */
  readonly unknown: readonly string[];
}

/** Writes the positions of a stack as those of the sources, with the name that stands there. Everything else stays. */
export function readableStack(stack: string, mapOf: MapOf): ReadableStack {
  const unknown = new Set<string>();
  const text = stack.replace(position, (whole, file: string, line: string, column: string) => {
    const map = mapOf(file);
    if (map === undefined) {
      unknown.add(file);
      return whole;
    }
    const found = new SourceMap(JSON.parse(map)).findEntry(Number(line) - 1, Number(column) - 1);
    return isMapping(found) ? told(found) : whole;
  });
  return { text, unknown: [...unknown] };
}

/** Types of Node leave out the name. */
type Found = SourceMapping & { readonly name?: string };

const isMapping = (found: object): found is Found => "originalSource" in found;

function told({ originalSource, originalLine, originalColumn, name }: Found): string {
  const file = originalSource.replace(/^(\.\.\/)+/, "");
  return `${file}:${originalLine + 1}:${originalColumn + 1}${name ? ` (${name})` : ""}`;
}
