import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from "js-yaml";

export interface YamlProblem {
  readonly line: number | undefined;
  /** The path of the key; undefined if the problem concerns the whole file. */
  readonly path: readonly string[] | undefined;
  readonly message: string;
}

export interface YamlDocument {
  readonly value: unknown;
  /** The line of a key, from 1; undefined if unknown. In a path, list items are numbers from 0. */
  lineOf(path: readonly string[]): number | undefined;
  readonly problems: readonly YamlProblem[];
}

/** Replacements for messages of the parser that a user would not understand. */
const inPlainWords: readonly (readonly [RegExp, string])[] = [
  [/tab characters must not be used/, "tabs cannot indent YAML; use spaces"],
  [/aliases exceeded/, "aliases (*name) are not used here; write the value out"],
  [/nesting exceeded/, "nested too deeply"],
  [/complex keys/, "a key must be plain text"],
];

/**
 * Parses one YAML document and the line numbers of its keys. Refuses aliases, with which a few lines can expand to
 * gigabytes. Reports all duplicate keys; the parser alone would stop at the first.
 */
export function parseYaml(source: string): YamlDocument {
  const lines = lineStarts(source);
  try {
    const events = parseEvents(source, { maxDepth: 20 });
    const keys = keysOf(source, events, lines);
    const documents = constructFromEvents(events, { source, json: true, maxAliases: 0 });
    const problems = [...keys.problems];
    if (documents.length === 0) problems.push({ line: undefined, path: undefined, message: "the file is empty" });
    if (documents.length > 1)
      problems.push({ line: undefined, path: undefined, message: "contains more than one document" });
    return { value: documents[0], lineOf: (path) => keys.lines.get(JSON.stringify(path)), problems };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const words = inPlainWords.find(([pattern]) => pattern.test(error.reason))?.[1] ?? error.reason;
    const line = error.mark && error.mark.line + 1;
    return {
      value: undefined,
      lineOf: () => undefined,
      problems: [{ line, path: undefined, message: `not valid YAML: ${words}` }],
    };
  }
}

interface Keys {
  readonly lines: ReadonlyMap<string, number>;
  readonly problems: readonly YamlProblem[];
}

interface Open {
  readonly path: readonly string[];
  readonly kind: "document" | "mapping" | "sequence";
  /** In a mapping: the key whose value follows; undefined if a key follows. */
  key: string | undefined;
  items: number;
}

function keysOf(source: string, events: readonly Event[], starts: readonly number[]): Keys {
  const lines = new Map<string, number>();
  const problems: YamlProblem[] = [];
  const open: Open[] = [];

  const keyAt = (parent: Open, key: string, offset: number): void => {
    const path = [...parent.path, key];
    const line = lineAt(starts, offset);
    const first = lines.get(JSON.stringify(path));
    if (first === undefined) lines.set(JSON.stringify(path), line);
    else problems.push({ line, path, message: `${path.join(".")} is written twice, first on line ${first}` });
    parent.key = key;
  };
  /** The path of the value that begins at this event. */
  const childOf = (parent: Open | undefined): readonly string[] => {
    if (!parent || parent.kind === "document") return [];
    if (parent.kind === "sequence") return [...parent.path, String(parent.items++)];
    const path = [...parent.path, parent.key ?? ""];
    parent.key = undefined;
    return path;
  };

  for (const event of events) {
    const parent = open.at(-1);
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        open.push({ path: [], kind: "document", key: undefined, items: 0 });
        break;
      case EVENT_ID.MAPPING:
        open.push({ path: childOf(parent), kind: "mapping", key: undefined, items: 0 });
        break;
      case EVENT_ID.SEQUENCE:
        open.push({ path: childOf(parent), kind: "sequence", key: undefined, items: 0 });
        break;
      case EVENT_ID.POP:
        open.pop();
        break;
      case EVENT_ID.SCALAR:
        if (parent?.kind === "mapping" && parent.key === undefined)
          keyAt(parent, getScalarValue(source, event), event.valueStart);
        else childOf(parent);
        break;
      case EVENT_ID.ALIAS:
        childOf(parent);
        break;
    }
  }
  return { lines, problems };
}

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
