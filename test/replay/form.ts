import { isRecord, type JsonRecord, memberOf as ownMember } from "../../agent/base/json.ts";
import * as base from "../../agent/base/schema.ts";
import { nearest } from "../../agent/base/text/nearest.ts";
import { MalformedCase } from "./malformed.ts";

export type JsonSchema = JsonRecord;
export type { RecordOf, TypeOf as FormOf } from "../../agent/base/schema.ts";

/** The valid values of a part of a case: a schema with notes for authors of cases. */
export interface Form<T> extends base.Schema<T> {
  /** Whether a value seems to be meant for this form, judged superficially; used by `either`. */
  fits(value: unknown): boolean;
}

/** Members of the schema other than the type. `about` is the description, with the unit if there is one. */
export interface Notes {
  readonly about: string;
  readonly examples?: readonly unknown[];
}

const annotations = ({ about, examples }: Notes): JsonSchema => ({ description: about, ...(examples && { examples }) });

const form = <T>(schema: base.Schema<T>, notes: Notes, fits: (value: unknown) => boolean): Form<T> => ({
  ...schema,
  json: { ...schema.json, ...annotations(notes) },
  fits,
});

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";

export const text = (notes: Notes & { readonly pattern?: RegExp; readonly takes?: string }): Form<string> =>
  form(
    base.text({ ...(notes.pattern && { pattern: notes.pattern }), expects: notes.takes ?? "a text" }),
    notes,
    isText,
  );

export const number = (notes: Notes & base.Bounds & { readonly whole?: boolean }): Form<number> =>
  form(notes.whole ? base.whole(notes) : base.number(notes), notes, isNumber);

export const whole = (notes: Notes & base.Bounds): Form<number> => number({ ...notes, whole: true });

export const flag = (notes: Notes): Form<boolean> => form(base.yesNo, notes, (value) => typeof value === "boolean");

export const choice = <const C extends string>(choices: readonly C[], notes: Notes): Form<C> =>
  form(base.word(...choices), notes, isText);

const isNull = (value: unknown): value is null => value === null;

/** JSON null. */
export const nothing = (notes: Notes): Form<null> => form(base.simple({ type: "null" }, "null", isNull), notes, isNull);

/** A JSON object that is accepted as it is. */
export const json = (notes: Notes): Form<JsonRecord> => form(base.object, notes, isRecord);

export const list = <T>(
  item: Form<T>,
  notes: Notes & {
    readonly most?: number;
    /** No two items have the same name. */
    readonly named?: (item: T) => unknown;
  },
): Form<readonly T[]> => {
  const { most = mostItems, named } = notes;
  const distinct = base.mapped(base.list(item, most), (items, problems) => {
    const names = new Set<unknown>();
    for (const name of named ? items.map(named) : []) {
      if (names.has(name)) return problems.add(rule(`has ${quoted(name)} twice`));
      names.add(name);
    }
    return items;
  });
  const items = { anyOf: [item.json, { $ref: "#/$defs/repeat" }] };
  return form({ ...distinct, json: { type: "array", items } }, notes, Array.isArray);
};

const rule = (message: string) => ({ is: "against a rule", message }) as const;

/** Values by name, in the order in which they are written. */
export const map = <T>(item: Form<T>, notes: Notes): Form<ReadonlyMap<string, T>> => {
  const entries = base.mapped(base.object, (value, problems) => {
    const found = new Map<string, T>();
    const names = Object.keys(value);
    if (names.length > mostItems) return problems.add(rule(`takes at most ${mostItems} members`));
    for (const name of names) {
      const one = problems.readAt(name, item, value[name]);
      if (one !== undefined) found.set(name, one);
    }
    return found.size === names.length ? found : undefined;
  });
  return form({ ...entries, json: { type: "object", additionalProperties: item.json } }, notes, isRecord);
};

export const optional = base.optional;

/** An object with these members and no others. */
export const record = <M extends base.Members>(members: M, notes: Notes): Form<base.RecordOf<M>> =>
  form({ ...base.record(members), expects: `an object with ${wordsOf(Object.keys(members))}` }, notes, isRecord);

type Variants = Readonly<Record<string, base.Members>>;
export type TaggedOf<Tag extends string, V extends Variants> = {
  [K in keyof V & string]: { readonly [T in Tag]: K } & base.RecordOf<V[K]>;
}[keyof V & string];

/** One of several records, distinguished by the text of one member. `abouts`: the meaning of each. */
export function tagged<const Tag extends string, V extends Variants>(
  tag: Tag,
  variants: V,
  abouts: Readonly<Record<keyof V & string, string>>,
  notes: Notes,
): Form<TaggedOf<Tag, V>> {
  const words = Object.keys(variants);
  const tagSchema = base.word(...words);
  const records = new Map(words.map((word) => [word, base.record({ [tag]: base.only(word), ...variants[word] })]));
  const expects = `an object such as {"${tag}":${quoted(words[0])}}`;
  const read: Form<TaggedOf<Tag, V>>["read"] = (value, problems) => {
    if (!isRecord(value)) return problems.add({ is: "wrong", expects, value });
    const word = ownMember(value, tag);
    if (word === undefined) return problems.add(rule(`needs the field ${quoted(tag)}, one of ${wordsOf(words)}`));
    const known = problems.readAt(tag, tagSchema, word);
    // The checks that follow make it one.
    return known === undefined
      ? undefined
      : (records.get(known)?.read(value, problems) as TaggedOf<Tag, V> | undefined);
  };
  const oneOf = [...records].map(([word, { json }]) => ({ description: abouts[word], ...json }));
  return { json: { type: "object", required: [tag], ...annotations(notes), oneOf }, expects, read, fits: isRecord };
}

/** A value is read by the first form that it fits. */
export const either = <F extends readonly Form<unknown>[]>(forms: F, notes: Notes): Form<base.TypeOf<F[number]>> => ({
  json: { ...annotations(notes), anyOf: forms.map(({ json }) => json) },
  expects: forms[0]?.expects ?? "nothing",
  fits: (value) => forms.some((one) => one.fits(value)),
  read: (value, problems) =>
    (forms.find((one) => one.fits(value)) ?? forms[0])?.read(value, problems) as base.TypeOf<F[number]> | undefined,
});

/** The same form with a second step, which converts the value, or finds a problem that no schema can express. */
export const mapped = <T, U>(of: Form<T>, to: (value: T, problems: base.SchemaProblems) => U | undefined): Form<U> => ({
  ...base.mapped(of, to),
  fits: of.fits,
});

/** Throws a MalformedCase with all problems. `at`: the place of the value in the case. */
export function readForm<T>(of: Form<T>, value: unknown, at: string): T {
  const problems = new base.SchemaProblems(Number.POSITIVE_INFINITY);
  const found = of.read(value, problems);
  if (problems.found.length > 0) throw new MalformedCase(problems.found.map((problem) => sentenceOf(problem, at)));
  return found as T;
}

function sentenceOf(problem: base.SchemaProblem, at: string): string {
  const { path } = problem;
  const name = quoted(path.at(-1));
  const [owner, place] = [placeOf(at, path.slice(0, -1)), placeOf(at, path)];
  switch (problem.is) {
    case "missing":
      return `${owner} needs the field ${name}`;
    case "unknown": {
      const similar = nearest(String(path.at(-1)), problem.known);
      const hint = similar === undefined ? `there are ${wordsOf(problem.known)}` : `did you mean ${similar}?`;
      return `${owner} has no field ${name}; ${hint}`;
    }
    case "wrong": {
      const { value, words } = problem;
      // Words of one letter are too short: each is one typing mistake away from every other.
      const similar = words && typeof value === "string" && value.length > 1 ? nearest(value, words) : undefined;
      if (similar !== undefined) return `${place} is ${quoted(value)}; did you mean ${similar}?`;
      return `${place} takes ${words?.map(quoted).join(", ") ?? problem.expects}, not ${quoted(value)}`;
    }
    case "against a rule":
      return `${place} ${problem.message}`;
    default:
      return problem satisfies never;
  }
}

const placeOf = (at: string, path: base.SchemaProblem["path"]): string =>
  path.reduce<string>((place, step) => (typeof step === "number" ? `${place}[${step}]` : memberOf(place, step)), at);

/** More than any case needs. */
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
