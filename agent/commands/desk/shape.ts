import { isRecord, type JsonRecord, pointerStep } from "../../base/json.ts";

/**
 * The form of a value. One definition yields the type that handlers see, the check of the input, and the published JSON
 * Schema.
 */
export interface Shape<T> {
  readonly schema: JsonRecord;
  problem(value: unknown, at: string): Problem | undefined;
  /** Never set: it carries the type. */
  readonly type?: T;
}

export interface Problem {
  /** A JSON pointer: "/args/ttl". */
  readonly field: string;
  readonly message: string;
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/** Checks unknown input against the shape. */
export function read<T>(
  shape: Shape<T>,
  value: unknown,
  at: string,
): { readonly value: T } | { readonly problem: Problem } {
  const problem = shape.problem(value, at);
  return problem ? { problem } : { value: value as T };
}

const tell = (field: string, message: string): Problem => ({ field, message });

export function text(form: {
  readonly pattern?: RegExp;
  readonly most: number;
  readonly least?: number;
}): Shape<string> {
  const { pattern, most, least = 1 } = form;
  return {
    schema: { type: "string", minLength: least, maxLength: most, ...(pattern && { pattern: pattern.source }) },
    problem(value, at) {
      if (typeof value !== "string") return tell(at, "must be a text");
      // Counts code points, as JSON Schema does.
      const length = [...value.slice(0, 2 * most + 2)].length;
      if (length < least || length > most) return tell(at, `must have ${least} to ${most} characters`);
      return pattern && !pattern.test(value) ? tell(at, `must match ${pattern.source}`) : undefined;
    },
  };
}

export const whole = (min: number, max: number): Shape<number> => ({
  schema: { type: "integer", minimum: min, maximum: max },
  problem: (value, at) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : tell(at, `must be a whole number from ${min} to ${max}`),
});

export const yesNo: Shape<boolean> = {
  schema: { type: "boolean" },
  problem: (value, at) => (typeof value === "boolean" ? undefined : tell(at, "must be true or false")),
};

export const word = <const W extends string>(...words: readonly W[]): Shape<W> => ({
  schema: { type: "string", enum: words },
  problem: (value, at) =>
    words.some((one) => one === value) ? undefined : tell(at, `must be one of ${words.join(", ")}`),
});

export const only = <const V extends number>(value: V): Shape<V> => ({
  schema: { const: value },
  problem: (found, at) => (found === value ? undefined : tell(at, `must be ${value}`)),
});

export const list = <T>(of: Shape<T>, most: number): Shape<readonly T[]> => ({
  schema: { type: "array", items: of.schema, maxItems: most },
  problem(value, at) {
    if (!Array.isArray(value)) return tell(at, "must be a list");
    if (value.length > most) return tell(at, `must have at most ${most} items`);
    for (const [index, item] of value.entries()) {
      const found = of.problem(item, `${at}/${index}`);
      if (found) return found;
    }
    return undefined;
  },
});

/** Any object; its members are checked elsewhere. */
export const object: Shape<JsonRecord> = {
  schema: { type: "object" },
  problem: (value, at) => (isRecord(value) ? undefined : tell(at, "must be an object")),
};

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Members<F extends Fields> = { readonly [K in keyof F]: TypeOf<F[K]> };

/** An object with all members of `must`, any of `may`, and no others. */
export function record<M extends Fields, O extends Fields>(must: M, may: O): Shape<Members<M> & Partial<Members<O>>> {
  // A Map: in a plain object "__proto__" and "constructor" would be members.
  const known = new Map<string, Shape<unknown>>([...Object.entries(must), ...Object.entries(may)]);
  const required = Object.keys(must);
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries([...known].map(([name, { schema }]) => [name, schema])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    problem(value, at) {
      if (!isRecord(value)) return tell(at, "must be an object");
      const missing = required.find((name) => !Object.hasOwn(value, name));
      if (missing !== undefined) return tell(`${at}/${missing}`, "is missing");
      for (const [name, member] of Object.entries(value)) {
        const shape = known.get(name);
        const found = shape ? shape.problem(member, at + stepTo(name)) : tell(at + stepTo(name), "is not known here");
        if (found) return found;
      }
      return undefined;
    },
  };
}

/** Shortened to a readable length. */
const stepTo = (name: string): string => pointerStep(name.slice(0, 64));
