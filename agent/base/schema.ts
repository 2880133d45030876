import { isRecord, type JsonRecord, memberOf } from "./json.ts";

/**
 * One description of a value that comes from outside: its TypeScript type is derived from it, input is validated by it,
 * and it is published as JSON Schema. Validation takes linear time for any input.
 */
export interface Schema<T> {
  /** The JSON Schema. */
  readonly json: JsonRecord;
  /** The valid values in words: "a whole number from 1 to 10". */
  readonly expects: string;
  /**
   * Returns the valid value. If it is invalid, adds to `problems` and returns undefined, which is never a valid value.
   */
  read(value: unknown, problems: SchemaProblems): T | undefined;
}

/** A member that may be left out. */
export interface OptionalSchema<T> extends Schema<T> {
  readonly isOptional: true;
}

export type TypeOf<S> = S extends Schema<infer T> ? T : never;

export type Members = Readonly<Record<string, Schema<unknown>>>;
type OptionalNames<M extends Members> = { [K in keyof M]: M[K] extends OptionalSchema<unknown> ? K : never }[keyof M];
/**
 * The type of an object with these members. `Absent`: the type `undefined` if optional members may be present with that
 * value.
 */
export type RecordOf<M extends Members, Absent = never> = {
  readonly [K in Exclude<keyof M, OptionalNames<M>>]: TypeOf<M[K]>;
} & { readonly [K in OptionalNames<M>]?: TypeOf<M[K]> | Absent };

type Mismatch =
  | { readonly is: "wrong"; readonly expects: string; readonly value: unknown; readonly words?: readonly string[] }
  | { readonly is: "missing"; readonly expects: string }
  | { readonly is: "unknown"; readonly known: readonly string[] }
  /** `message` is a predicate: "must have at most 8 items". */
  | { readonly is: "against a rule"; readonly message: string };

/** `path`: the member names and indices that lead to the value, outermost first. */
export type SchemaProblem = Mismatch & { readonly path: readonly (string | number)[] };

/** A path in dotted form: "zones[0].name". */
export const dottedPath = (path: SchemaProblem["path"]): string =>
  path.map((step, at) => (typeof step === "number" ? `[${step}]` : at === 0 ? step : `.${step}`)).join("");

/** The problem as a predicate, to be printed after the name of the value: "must be a list". */
export function predicateOf(problem: SchemaProblem): string {
  switch (problem.is) {
    case "wrong":
      return `must be ${problem.expects}`;
    case "missing":
      return "is missing";
    case "unknown":
      return "is unknown";
    case "against a rule":
      return problem.message;
    default:
      return problem satisfies never;
  }
}

/** Collects at most `most` problems, and keeps the path of the member that is being read. */
export class SchemaProblems {
  readonly found: SchemaProblem[] = [];
  readonly #most: number;
  readonly #path: (string | number)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.found.length >= this.#most;
  }

  /**
   * Adds a problem with the current member. Returns undefined, so that a `read` method can return the result of the
   * call.
   */
  add(mismatch: Mismatch): undefined {
    if (!this.isFull) this.found.push({ ...mismatch, path: [...this.#path] });
  }

  /** Reads a member with its schema; its problems are given the member's path. */
  readAt<T>(step: string | number, schema: Schema<T>, value: unknown): T | undefined {
    this.#path.push(step);
    const read = schema.read(value, this);
    this.#path.pop();
    return read;
  }

  /** Adds a problem with a member of the current object. */
  addAt(step: string | number, mismatch: Mismatch): void {
    if (!this.isFull) this.found.push({ ...mismatch, path: [...this.#path, step] });
  }
}

/** Validates a value. Returns it, or the first problem. */
export function read<T>(
  schema: Schema<T>,
  value: unknown,
): { readonly value: T } | { readonly problem: SchemaProblem } {
  const problems = new SchemaProblems(1);
  const found = schema.read(value, problems);
  const [problem] = problems.found;
  return problem ? { problem } : { value: found as T };
}

/** A schema from a JSON Schema and a predicate. */
export const simple = <T>(json: JsonRecord, expects: string, is: (value: unknown) => boolean): Schema<T> => ({
  json,
  expects,
  read: (value, problems) => (is(value) ? (value as T) : problems.add({ is: "wrong", expects, value })),
});

export interface TextForm {
  readonly pattern?: RegExp;
  /** Maximum length in code points, as in JSON Schema. Longer strings are refused before the pattern is tried. */
  readonly most?: number;
  /** Minimum length in code points, default 1. Checked only if `most` is set. */
  readonly least?: number;
  /** Describes the pattern in problems; by default they show the pattern itself. */
  readonly expects?: string;
}

export function text({ pattern, most, least = 1, expects }: TextForm = {}): Schema<string> {
  return {
    json: {
      type: "string",
      ...(most !== undefined && { minLength: least, maxLength: most }),
      ...(pattern && { pattern: pattern.source }),
    },
    expects: expects ?? "a text",
    read(value, problems) {
      if (typeof value !== "string") return problems.add({ is: "wrong", expects: this.expects, value });
      if (most !== undefined) {
        const length = [...value.slice(0, 2 * most + 2)].length;
        if (length < least || length > most) {
          return problems.add({ is: "against a rule", message: `must have ${least} to ${most} characters` });
        }
      }
      if (!pattern || pattern.test(value)) return value;
      return problems.add(
        expects === undefined
          ? { is: "against a rule", message: `must match ${pattern.source}` }
          : { is: "wrong", expects, value },
      );
    },
  };
}

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

const numeric = (type: string, noun: string, { min, max }: Bounds, is: (value: unknown) => boolean): Schema<number> =>
  simple(
    { type, ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) },
    `${noun}${min === undefined ? "" : ` from ${min}`}${max === undefined ? "" : ` to ${max}`}`,
    (value) => is(value) && Number(value) >= (min ?? -Infinity) && Number(value) <= (max ?? Infinity),
  );

export const number = (bounds: Bounds = {}): Schema<number> => numeric("number", "a number", bounds, Number.isFinite);

export const whole = (bounds: Bounds = {}): Schema<number> =>
  numeric("integer", "a whole number", bounds, Number.isSafeInteger);

export const yesNo: Schema<boolean> = simple(
  { type: "boolean" },
  "true or false",
  (value) => typeof value === "boolean",
);

export const word = <const W extends string>(...words: readonly W[]): Schema<W> => ({
  json: { type: "string", enum: words },
  expects: `one of ${words.join(", ")}`,
  read(value, problems) {
    const found = words.find((one) => one === value);
    return found ?? problems.add({ is: "wrong", expects: this.expects, value, words });
  },
});

/** Exactly this value. */
export const only = <const V extends number | string>(value: V): Schema<V> =>
  simple({ const: value }, String(value), (found) => found === value);

/** Any object; its members are not checked. */
export const object: Schema<JsonRecord> = simple({ type: "object" }, "an object", isRecord);

export const list = <T>(item: Schema<T>, most = Number.POSITIVE_INFINITY): Schema<readonly T[]> => ({
  json: { type: "array", items: item.json, ...(most < Number.POSITIVE_INFINITY && { maxItems: most }) },
  expects: "a list",
  read(value, problems) {
    if (!Array.isArray(value)) return problems.add({ is: "wrong", expects: this.expects, value });
    if (value.length > most) return problems.add({ is: "against a rule", message: `must have at most ${most} items` });
    const before = problems.found.length;
    const items: T[] = [];
    for (const [index, one] of value.entries()) {
      const found = problems.readAt(index, item, one);
      if (found !== undefined) items.push(found);
      else if (problems.isFull) return undefined;
    }
    return problems.found.length === before ? items : undefined;
  },
});

export const optional = <T>(schema: Schema<T>): OptionalSchema<T> => ({ ...schema, isOptional: true });

/** The schema with a description for readers of the JSON Schema. */
export const described = <S extends Schema<unknown>>(schema: S, description: string): S => ({
  ...schema,
  json: { ...schema.json, description },
});

const isOptional = (schema: Schema<unknown>): boolean => "isOptional" in schema;

/** An object with these members. Other members are a problem. */
export const record = <M extends Members>(members: M): Schema<RecordOf<M>> => recordOf(members, false);

/** An object with these members. Other members, which newer programs may add, are kept as they are. */
export const openRecord = <M extends Members>(members: M): Schema<RecordOf<M, undefined>> => recordOf(members, true);

function recordOf<M extends Members>(members: M, isOpen: boolean): Schema<RecordOf<M>> {
  // A Map, because a plain object would have inherited members such as "constructor".
  const known = new Map(Object.entries(members));
  const names = [...known.keys()];
  const required = [...known].filter(([, schema]) => !isOptional(schema));
  return {
    json: {
      type: "object",
      properties: Object.fromEntries([...known].map(([name, { json }]) => [name, json])),
      ...(required.length > 0 && { required: required.map(([name]) => name) }),
      ...(!isOpen && { additionalProperties: false }),
    },
    expects: "an object",
    read(value, problems) {
      if (!isRecord(value)) return problems.add({ is: "wrong", expects: this.expects, value });
      const before = problems.found.length;
      for (const [name, { expects }] of required) {
        if (memberOf(value, name) === undefined) problems.addAt(name, { is: "missing", expects });
      }
      const found: [string, unknown][] = [];
      for (const [name, member] of Object.entries(value)) {
        if (problems.isFull) return undefined;
        // JSON.stringify would omit such members too.
        if (member === undefined) continue;
        const schema = known.get(name);
        if (schema) found.push([name, problems.readAt(name, schema, member)]);
        else if (isOpen) found.push([name, member]);
        else problems.addAt(name, { is: "unknown", known: names });
      }
      // The cast is safe, because every member was checked above.
      return problems.found.length === before ? (Object.fromEntries(found) as RecordOf<M>) : undefined;
    },
  };
}

/** The schema with a second step: `to` converts a valid value, or adds a problem that JSON Schema cannot express. */
export const mapped = <T, U>(
  schema: Schema<T>,
  to: (value: T, problems: SchemaProblems) => U | undefined,
): Schema<U> => ({
  json: schema.json,
  expects: schema.expects,
  read(value, problems) {
    const found = schema.read(value, problems);
    return found === undefined ? undefined : to(found, problems);
  },
});
