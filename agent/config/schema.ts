import { number as anyNumber, type Schema, SchemaProblems, whole, word, yesNo } from "../base/schema.ts";
import { parseDuration } from "../base/time/duration.ts";
import { exactDuration } from "../base/time/exact-duration.ts";
import { formatBytes, parseBytes } from "./bytes.ts";

/** The values that a setting accepts, as JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One setting. Its type, checks, documentation and JSON Schema are derived from this definition. */
export interface Setting<T> {
  readonly kind: "setting";
  /** The description for the reference. */
  readonly sentence: string;
  readonly default: T;
  /** The accepted values in words: "a duration such as 40s, from 1s to 1d". */
  readonly accepts: string;
  readonly json: JsonSchema;
  /** Parses a value from YAML or JSON; undefined if it is not accepted. */
  parse(written: unknown): T | undefined;
  /** Parses the text of an environment variable; undefined if it is not accepted. */
  parseText(text: string): T | undefined;
  /** The value as it would be written in the file. */
  show(value: T): string;
}

export interface Section<E extends Entries> {
  readonly kind: "section";
  readonly sentence: string;
  readonly entries: E;
}

export interface Entries {
  readonly [name: string]: Setting<unknown> | Section<Entries>;
}

/** The configuration's type follows from its settings. */
export type Infer<E> =
  E extends Setting<infer T>
    ? T
    : E extends Section<infer Inner>
      ? { readonly [K in keyof Inner]: Infer<Inner[K]> }
      : never;

export const section = <E extends Entries>(sentence: string, entries: E): Section<E> => ({
  kind: "section",
  sentence,
  entries,
});

interface Bounds<T> {
  readonly min: T;
  readonly max: T;
}

export function duration(standard: string, sentence: string, bounds: Bounds<string>): Setting<number> {
  const [min, max] = [sure(parseDuration, bounds.min), sure(parseDuration, bounds.max)];
  const parseText = (text: string): number | undefined => within(parseDuration(text), min, max);
  return {
    kind: "setting",
    sentence,
    default: sure(parseText, standard),
    accepts: `a duration such as ${standard}, from ${bounds.min} to ${bounds.max}`,
    json: { type: "string", pattern: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$" },
    parse: (written) => (typeof written === "string" ? parseText(written) : undefined),
    parseText,
    show: exactDuration,
  };
}

export function bytes(standard: string, sentence: string, bounds: Bounds<string>): Setting<number> {
  const [min, max] = [sure(parseBytes, bounds.min), sure(parseBytes, bounds.max)];
  const parseText = (text: string): number | undefined => within(parseBytes(text), min, max);
  return {
    kind: "setting",
    sentence,
    default: sure(parseText, standard),
    accepts: `a size such as ${standard}, from ${bounds.min} to ${bounds.max}`,
    json: { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB)$" },
    parse: (written) => (typeof written === "string" ? parseText(written) : undefined),
    parseText,
    show: formatBytes,
  };
}

/**
 * A setting whose accepted values are described by a schema. `valueIn`: converts the text of an environment variable.
 */
const settingOf = <T>(
  schema: Schema<T>,
  standard: T,
  sentence: string,
  valueIn: (text: string) => unknown,
): Setting<T> => {
  const parse = (written: unknown): T | undefined => schema.read(written, new SchemaProblems(0));
  return {
    kind: "setting",
    sentence,
    default: standard,
    accepts: schema.expects,
    json: schema.json,
    parse,
    parseText: (text) => parse(valueIn(text)),
    show: String,
  };
};

export const integer = (standard: number, sentence: string, bounds: Bounds<number>): Setting<number> =>
  settingOf(whole(bounds), standard, sentence, (text) => (/^-?\d+$/.test(text) ? Number(text) : undefined));

export const number = (standard: number, sentence: string, bounds: Bounds<number>): Setting<number> =>
  settingOf(anyNumber(bounds), standard, sentence, (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined));

export const perSecond = (standard: number, sentence: string, bounds: Bounds<number>): Setting<number> => ({
  ...number(standard, sentence, bounds),
  accepts: `a rate per second, from ${bounds.min} to ${bounds.max}`,
});

export const choice = <const C extends string>(choices: readonly C[], standard: C, sentence: string): Setting<C> =>
  settingOf(word(...choices), standard, sentence, (text) => text);

export const flag = (standard: boolean, sentence: string): Setting<boolean> =>
  settingOf(yesNo, standard, sentence, (text) => (text === "true" ? true : text === "false" ? false : undefined));

/** Maximum length of a string, in characters. Limits the time that patterns take. */
const maxTextLength = 4096;

/** A text setting. `accepts`: the pattern in words. `longest`: in characters. */
export function text(
  standard: string,
  sentence: string,
  form: { readonly pattern: RegExp; readonly accepts: string; readonly longest?: number },
): Setting<string> {
  const { longest = maxTextLength } = form;
  const parse = (written: unknown): string | undefined =>
    typeof written === "string" && written.length <= longest && form.pattern.test(written) ? written : undefined;
  return {
    kind: "setting",
    sentence,
    default: standard,
    accepts: form.accepts,
    json: { type: "string", pattern: form.pattern.source },
    parse,
    parseText: parse,
    show: (value) => (plainInYaml(value) ? value : JSON.stringify(value)),
  };
}

export const path = (standard: string, sentence: string): Setting<string> =>
  text(standard, sentence, { pattern: /^\/[^\0]*$/, accepts: "an absolute path" });

/** A URL of this form. It must also parse, because most patterns would accept a port of 70000. */
export function url(sentence: string, form: { readonly pattern: RegExp; readonly accepts: string }): Setting<string> {
  const written = text("", sentence, form);
  const address = (value: string | undefined) => (value !== undefined && URL.canParse(value) ? value : undefined);
  return {
    ...written,
    parse: (value) => address(written.parse(value)),
    parseText: (value) => address(written.parseText(value)),
  };
}

/** A setting that may be left out. `otherwise`: the behaviour without it, for the reference. */
export function optional<T>(setting: Setting<T>, otherwise: string): Setting<T | undefined> {
  return {
    ...setting,
    default: undefined,
    sentence: `${setting.sentence} Otherwise: ${otherwise}.`,
    show: (value) => (value === undefined ? "" : setting.show(value)),
  };
}

/** A setting whose default is a fact about this machine. `loadConfig` fills it in, so it is never empty. */
export const derived = (setting: Setting<string>, otherwise: string): Setting<string> => ({
  ...setting,
  sentence: `${setting.sentence} Otherwise: ${otherwise}.`,
  show: (value) => (value === "" ? "" : setting.show(value)),
});

const plainInYaml = (value: string): boolean =>
  /^[A-Za-z0-9_./][A-Za-z0-9_./:@=-]*$/.test(value) && !/^(true|false|null|[\d.]+|.*:)$/i.test(value);

const within = (value: number | undefined, min: number, max: number): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined;

/** Parses a default or a bound in the list of settings. Throws if it is invalid. */
function sure<T>(parse: (text: string) => T | undefined, text: string): T {
  const value = parse(text);
  if (value === undefined) throw new Error(`the list of settings holds an impossible value: ${text}`);
  return value;
}
