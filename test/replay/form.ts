import { isRecord } from "../../agent/base/json.ts";
import { nearest } from "../../agent/base/nearest.ts";
import { MalformedCase } from "./malformed.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * What a part of a case may be, said once: its JSON schema and its reader are the same table, so that whatever the schema
 * permits can be read, and nothing else.
 */
export interface Form<T> {
  readonly json: JsonSchema;
  /** Whether a value is meant to be of this form, by a glance at it; `either` asks. */
  fits(value: unknown): boolean;
  /** Throws a MalformedCase with everything that is wrong. `at`: where the value stands in the case. */
  read(value: unknown, at: string): T;
}

/** A member that may be left out. */
export interface OptionalForm<T> extends Form<T> {
  readonly optional: true;
}

/** What the schema says besides the type. `about` tells the meaning, with the unit where there is one. */
export interface Notes {
  readonly about: string;
  readonly examples?: readonly unknown[];
}

const annotations = ({ about, examples }: Notes): JsonSchema => ({ description: about, ...(examples && { examples }) });

const refuse = (at: string, takes: string, value: unknown): never => {
  throw new MalformedCase([`${at} takes ${takes}, not ${quoted(value)}`]);
};

export function text(notes: Notes & { readonly pattern?: RegExp; readonly takes?: string }): Form<string> {
  const { pattern, takes = "a text" } = notes;
  return {
    json: { type: "string", ...(pattern && { pattern: pattern.source }), ...annotations(notes) },
    fits: (value) => typeof value === "string",
    read(value, at) {
      if (typeof value !== "string" || pattern?.test(value) === false) return refuse(at, takes, value);
      return value;
    },
  };
}

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

export function number(notes: Notes & Bounds & { readonly whole?: boolean }): Form<number> {
  const { min, max, whole = false } = notes;
  const takes = `${whole ? "a whole number" : "a number"}${min === undefined ? "" : ` from ${min}`}${max === undefined ? "" : ` to ${max}`}`;
  return {
    json: {
      type: whole ? "integer" : "number",
      ...(min !== undefined && { minimum: min }),
      ...(max !== undefined && { maximum: max }),
      ...annotations(notes),
    },
    fits: (value) => typeof value === "number",
    read(value, at) {
      if (typeof value !== "number" || !Number.isFinite(value)) return refuse(at, takes, value);
      const within = value >= (min ?? value) && value <= (max ?? value);
      return within && (!whole || Number.isSafeInteger(value)) ? value : refuse(at, takes, value);
    },
  };
}

export const whole = (notes: Notes & Bounds): Form<number> => number({ ...notes, whole: true });

export const flag = (notes: Notes): Form<boolean> => ({
  json: { type: "boolean", ...annotations(notes) },
  fits: (value) => typeof value === "boolean",
  read: (value, at) => (typeof value === "boolean" ? value : refuse(at, "true or false", value)),
});

export const choice = <const C extends string>(choices: readonly C[], notes: Notes): Form<C> => ({
  json: { type: "string", enum: choices, ...annotations(notes) },
  fits: (value) => typeof value === "string",
  read(value, at) {
    const found = choices.find((one) => one === value);
    if (found !== undefined) return found;
    // A letter is one slip away from every other letter.
    const similar = typeof value === "string" && value.length > 1 ? nearest(value, choices) : undefined;
    if (similar !== undefined) throw new MalformedCase([`${at} is ${quoted(value)}; did you mean ${similar}?`]);
    return refuse(at, choices.map(quoted).join(", "), value);
  },
});

/** JSON null. */
export const nothing = (notes: Notes): Form<null> => ({
  json: { type: "null", ...annotations(notes) },
  fits: (value) => value === null,
  read: (value, at) => (value === null ? null : refuse(at, "null", value)),
});

/** A JSON object that is taken as it is. */
export const json = (notes: Notes): Form<Readonly<Record<string, unknown>>> => ({
  json: { type: "object", ...annotations(notes) },
  fits: isRecord,
  read: (value, at) => (isRecord(value) ? value : refuse(at, "an object", value)),
});

export const list = <T>(
  item: Form<T>,
  notes: Notes & {
    readonly most?: number;
    /** No two items have the same name. */
    readonly named?: (item: T) => unknown;
  },
): Form<readonly T[]> => ({
  json: { type: "array", items: item.json, ...annotations(notes) },
  fits: (value) => Array.isArray(value),
  read(value, at) {
    if (!Array.isArray(value)) return refuse(at, "a list", value);
    if (value.length > (notes.most ?? mostItems)) return refuse(at, `at most ${notes.most ?? mostItems} items`, value);
    const items = gather(value.map((one: unknown, index) => () => item.read(one, `${at}[${index}]`)));
    const names = new Set<unknown>();
    for (const name of notes.named ? items.map(notes.named) : []) {
      if (names.has(name)) throw new MalformedCase([`${at} has ${quoted(name)} twice`]);
      names.add(name);
    }
    return items;
  },
});

/** Values by name. In the order in which they are written. */
export const map = <T>(item: Form<T>, notes: Notes): Form<ReadonlyMap<string, T>> => ({
  json: { type: "object", additionalProperties: item.json, ...annotations(notes) },
  fits: isRecord,
  read(value, at) {
    if (!isRecord(value)) return refuse(at, "an object", value);
    const entries = Object.entries(value);
    if (entries.length > mostItems) return refuse(at, `at most ${mostItems} members`, value);
    return new Map(
      gather(
        entries.map(
          ([name, one]) =>
            () =>
              [name, item.read(one, memberOf(at, name))] as const,
        ),
      ),
    );
  },
});

export const optional = <T>(form: Form<T>): OptionalForm<T> => ({ ...form, optional: true });

export type Members = Readonly<Record<string, Form<unknown>>>;
type OptionalNames<M extends Members> = { [K in keyof M]: M[K] extends OptionalForm<unknown> ? K : never }[keyof M];
export type FormOf<F> = F extends Form<infer T> ? T : never;
export type RecordOf<M extends Members> = {
  readonly [K in Exclude<keyof M, OptionalNames<M>>]: FormOf<M[K]>;
} & { readonly [K in OptionalNames<M>]?: FormOf<M[K]> };

/** An object with these members and no others. */
export const record = <M extends Members>(members: M, notes: Notes): Form<RecordOf<M>> => ({
  json: {
    type: "object",
    additionalProperties: false,
    ...required(members),
    properties: Object.fromEntries(Object.entries(members).map(([name, form]) => [name, form.json])),
    ...annotations(notes),
  },
  fits: isRecord,
  read(value, at) {
    if (!isRecord(value)) return refuse(at, `an object with ${wordsOf(Object.keys(members))}`, value);
    // The checks that follow make it one.
    return readMembers(members, value, at) as RecordOf<M>;
  },
});

function required(members: Members): JsonSchema {
  const names = Object.entries(members).flatMap(([name, form]) => (isOptional(form) ? [] : [name]));
  return names.length > 0 ? { required: names } : {};
}

const isOptional = (form: Form<unknown>): boolean => "optional" in form;

function readMembers(members: Members, value: Readonly<Record<string, unknown>>, at: string): object {
  const names = Object.keys(members);
  const strangers = Object.keys(value).filter((name) => !Object.hasOwn(members, name));
  const checks = [
    ...strangers.map((name) => (): readonly [string, unknown] => {
      const similar = nearest(name, names);
      const hint = similar === undefined ? `; there are ${wordsOf(names)}` : `; did you mean ${similar}?`;
      throw new MalformedCase([`${at} has no field ${quoted(name)}${hint}`]);
    }),
    ...Object.entries(members).flatMap(([name, form]) => {
      const one = Object.hasOwn(value, name) ? value[name] : undefined;
      if (one === undefined && isOptional(form)) return [];
      return [
        (): readonly [string, unknown] => {
          if (one === undefined) throw new MalformedCase([`${at} needs the field ${quoted(name)}`]);
          return [name, form.read(one, memberOf(at, name))];
        },
      ];
    }),
  ];
  return Object.fromEntries(gather(checks));
}

type Variants = Readonly<Record<string, Members>>;
export type TaggedOf<Tag extends string, V extends Variants> = {
  [K in keyof V & string]: { readonly [T in Tag]: K } & RecordOf<V[K]>;
}[keyof V & string];

/** One of several records, told apart by the text of one member. `abouts`: what each of them means. */
export function tagged<const Tag extends string, V extends Variants>(
  tag: Tag,
  variants: V,
  abouts: Readonly<Record<keyof V & string, string>>,
  notes: Notes,
): Form<TaggedOf<Tag, V>> {
  const words = Object.keys(variants);
  return {
    json: {
      type: "object",
      required: [tag],
      ...annotations(notes),
      oneOf: Object.entries(variants).map(([word, members]) => {
        const { required: needed } = required(members);
        return {
          description: abouts[word],
          type: "object",
          additionalProperties: false,
          required: [tag, ...(Array.isArray(needed) ? needed : [])],
          properties: {
            [tag]: { const: word },
            ...Object.fromEntries(Object.entries(members).map(([name, form]) => [name, form.json])),
          },
        };
      }),
    },
    fits: isRecord,
    read(value, at) {
      if (!isRecord(value)) return refuse(at, `an object such as {"${tag}":${quoted(words[0])}}`, value);
      const { [tag]: word, ...rest } = value;
      if (word === undefined) {
        throw new MalformedCase([`${at} needs the field ${quoted(tag)}, one of ${wordsOf(words)}`]);
      }
      const known = choice(words, { about: "" }).read(word, `${at}.${tag}`);
      // The checks that follow make it one.
      return { [tag]: known, ...readMembers(variants[known] ?? {}, rest, at) } as TaggedOf<Tag, V>;
    },
  };
}

/** The first form that a value fits reads it. */
export const either = <F extends readonly Form<unknown>[]>(forms: F, notes: Notes): Form<FormOf<F[number]>> => ({
  json: { ...annotations(notes), anyOf: forms.map((form) => form.json) },
  fits: (value) => forms.some((form) => form.fits(value)),
  read(value, at) {
    const form = forms.find((one) => one.fits(value)) ?? forms[0];
    return form?.read(value, at) as FormOf<F[number]>;
  },
});

/** The same form, read on: to a value that is easier to work with, or to a problem that no schema can name. */
export const mapped = <T, U>(form: Form<T>, to: (value: T, at: string) => U): Form<U> => ({
  json: form.json,
  fits: form.fits,
  read: (value, at) => to(form.read(value, at), at),
});

/** All answers, or all problems. */
export function gather<T>(reads: readonly (() => T)[]): T[] {
  const problems: string[] = [];
  const found: T[] = [];
  for (const read of reads) {
    try {
      found.push(read());
    } catch (error) {
      if (!(error instanceof MalformedCase)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new MalformedCase(problems);
  return found;
}

/** More than any board could tell a story about. */
const mostItems = 100_000;

/** "zones.A", "labels[\"room/name\"]": the place of a member, whatever its name is. */
export function memberOf(at: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `${at}[${JSON.stringify(name)}]`;
  return at === "" ? name : `${at}.${name}`;
}

const wordsOf = (names: readonly string[]): string => (names.length === 0 ? "no fields" : names.join(", "));

export function quoted(value: unknown): string {
  const written = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "nothing");
  return written.length > 60 ? `${written.slice(0, 57)}...` : written;
}
