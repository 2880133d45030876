import type { Millis } from "../../agent/base/clock.ts";
import { isRecord, type JsonRecord, memberOf } from "../../agent/base/json.ts";
import * as base from "../../agent/base/schema.ts";
import { nearest } from "../../agent/base/text/nearest.ts";
import { parseDuration } from "../../agent/base/time/duration.ts";

/** A parsed YAML document with line numbers. */
export interface ScenarioText {
  readonly value: unknown;
  /** The line of a path. List items are keyed by their index. */
  lineOf(path: readonly string[]): number | undefined;
  readonly problems: readonly { readonly line: number | undefined; readonly message: string }[];
}

export const anything: base.Schema<unknown> = base.simple({}, "anything", () => true);

/** A key without a value counts as empty. */
export const orEmpty = <T>(schema: base.Schema<T>, empty: unknown): base.Schema<T> =>
  base.mapped(anything, (value, problems) => schema.read(value ?? empty, problems));

export const mapping = <M extends base.Members>(members: M): base.Schema<base.RecordOf<M>> =>
  orEmpty({ ...base.record(members), expects: `a mapping with ${Object.keys(members).join(", ")}` }, {});

export const items = <T>(item: base.Schema<T>): base.Schema<readonly T[]> => orEmpty(base.list(item), []);

/** An optional entry for each of these keys. */
export const oneEach = <K extends string, T>(keys: readonly K[], schemaOf: (key: K) => base.Schema<T>) =>
  Object.fromEntries(keys.map((key) => [key, base.optional(schemaOf(key))])) as Readonly<
    Record<K, base.OptionalSchema<T>>
  >;

/** A mapping with a rule about which keys are present, which is checked even if their values are invalid. */
export function ruled<M extends base.Members, T>(
  members: M,
  check: (written: JsonRecord, problems: base.SchemaProblems) => void,
  to: (found: base.RecordOf<M>) => T | undefined,
): base.Schema<T> {
  const form = mapping(members);
  return base.mapped(anything, (value, problems) => {
    const before = problems.found.length;
    const written = value ?? {};
    if (isRecord(written)) check(written, problems);
    const found = form.read(written, problems);
    return found === undefined || problems.found.length > before ? undefined : to(found);
  });
}

export const rule = (message: string) => ({ is: "against a rule", message }) as const;

export const time: base.Schema<Millis> = {
  json: {},
  expects: "a time such as 40s or 1m30s",
  read(value, problems) {
    const parsed = value === 0 ? 0 : typeof value === "string" ? parseDuration(value) : undefined;
    return parsed ?? problems.add({ is: "wrong", expects: this.expects, value });
  },
};

/** One name or a list of names, all of which must be allowed ones. */
export const names = (allowed: readonly string[], most = Number.POSITIVE_INFINITY): base.Schema<readonly string[]> =>
  base.mapped(anything, (value, problems) => {
    const written: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (written.length === 0 || written.length > most) {
      return problems.add(rule(most === 1 ? "must be one name" : "must have at least one name"));
    }
    const known: readonly unknown[] = allowed;
    const unknown = written.filter((name) => !known.includes(name));
    const there = allowed.join(", ");
    for (const name of unknown) problems.add(rule(`names the unknown ${quoted(name)}; there are ${there}`));
    return unknown.length === 0 ? (written as readonly string[]) : undefined;
  });

/** The problem with its line, for the author of the scenario. */
export function located(text: ScenarioText, problem: base.SchemaProblem): ScenarioText["problems"][number] {
  const path = problem.path.map(String);
  const place = path.length === 0 ? "" : `${path.join(".")}: `;
  return { line: lineNear(text, path), message: `${place}${predicateOf(problem)}` };
}

function predicateOf(problem: base.SchemaProblem): string {
  switch (problem.is) {
    case "wrong":
      return `${base.predicateOf(problem)}, not ${quoted(problem.value)}`;
    case "missing":
      return `is missing; it must be ${problem.expects}`;
    case "unknown": {
      const similar = nearest(String(problem.path.at(-1)), problem.known);
      return `is unknown; ${similar ? `did you mean ${similar}?` : `there are ${problem.known.join(", ")}`}`;
    }
    default:
      return base.predicateOf(problem);
  }
}

/**
 * The line of a path. A list item without a line of its own has the line of its first key; failing that, the parent's
 * line is used.
 */
function lineNear(text: ScenarioText, path: readonly string[]): number | undefined {
  const inside = (value: unknown, key: string) => (Array.isArray(value) ? value[Number(key)] : memberOf(value, key));
  for (let end = path.length; end > 0; end--) {
    const place = path.slice(0, end);
    const [first = ""] = Object.keys(place.reduce(inside, text.value) ?? {});
    const line = text.lineOf(place) ?? text.lineOf([...place, first]);
    if (line !== undefined) return line;
  }
  return undefined;
}

function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
