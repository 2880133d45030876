import { parseDuration } from "../base/duration.ts";
import { exactDuration } from "../base/exact-duration.ts";
import { formatBytes, parseBytes } from "./bytes.ts";

/** The values that a setting accepts, as JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One setting: its default, the values it accepts, and one sentence. All printed text about it is made from these. */
export interface Setting<T> {
  readonly kind: "setting";
  readonly sentence: string;
  readonly default: T;
  /** "a duration such as 40s, from 1s to 1d". */
  readonly accepts: string;
  readonly json: JsonSchema;
  /** Parses a value from YAML or JSON; `undefined`: not acceptable. */
  parse(written: unknown): T | undefined;
  /** Parses the text of an environment variable. */
  parseText(text: string): T | undefined;
  /** As a person would write it in the file. */
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

export function integer(standard: number, sentence: string, bounds: Bounds<number>): Setting<number> {
  return {
    ...number(standard, sentence, bounds),
    accepts: `a whole number from ${bounds.min} to ${bounds.max}`,
    json: { type: "integer", minimum: bounds.min, maximum: bounds.max },
    parse: (written) => (Number.isInteger(written) ? within(written as number, bounds.min, bounds.max) : undefined),
    parseText: (text) => (/^-?\d+$/.test(text) ? within(Number(text), bounds.min, bounds.max) : undefined),
  };
}

export function number(standard: number, sentence: string, bounds: Bounds<number>): Setting<number> {
  return {
    kind: "setting",
    sentence,
    default: standard,
    accepts: `a number from ${bounds.min} to ${bounds.max}`,
    json: { type: "number", minimum: bounds.min, maximum: bounds.max },
    parse: (written) => (typeof written === "number" ? within(written, bounds.min, bounds.max) : undefined),
    parseText: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? within(Number(text), bounds.min, bounds.max) : undefined),
    show: String,
  };
}

export const perSecond = (standard: number, sentence: string, bounds: Bounds<number>): Setting<number> => ({
  ...number(standard, sentence, bounds),
  accepts: `a rate per second, from ${bounds.min} to ${bounds.max}`,
});

export function choice<const C extends string>(choices: readonly C[], standard: C, sentence: string): Setting<C> {
  const parse = (written: unknown): C | undefined => choices.find((one) => one === written);
  return {
    kind: "setting",
    sentence,
    default: standard,
    accepts: `one of ${choices.join(", ")}`,
    json: { type: "string", enum: choices },
    parse,
    parseText: parse,
    show: String,
  };
}

export const flag = (standard: boolean, sentence: string): Setting<boolean> => ({
  kind: "setting",
  sentence,
  default: standard,
  accepts: "true or false",
  json: { type: "boolean" },
  parse: (written) => (typeof written === "boolean" ? written : undefined),
  parseText: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  show: String,
});

/** Longer than anything a person writes; bounds the work of the patterns. */
const longestText = 4096;

/** Text of a form: `accepts` says in words what `pattern` checks. */
export function text(
  standard: string,
  sentence: string,
  form: { readonly pattern: RegExp; readonly accepts: string; readonly longest?: number },
): Setting<string> {
  const { longest = longestText } = form;
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

/** Must match the form and parse as a URL: a port of 70000 does not. */
export function url(sentence: string, form: { readonly pattern: RegExp; readonly accepts: string }): Setting<string> {
  const written = text("", sentence, form);
  const address = (value: string | undefined) => (value !== undefined && URL.canParse(value) ? value : undefined);
  return {
    ...written,
    parse: (value) => address(written.parse(value)),
    parseText: (value) => address(written.parseText(value)),
  };
}

/** A setting that may be left out; `otherwise` says what applies then. */
export function optional<T>(setting: Setting<T>, otherwise: string): Setting<T | undefined> {
  return {
    ...setting,
    default: undefined,
    sentence: `${setting.sentence} Otherwise: ${otherwise}.`,
    show: (value) => (value === undefined ? "" : setting.show(value)),
  };
}

/** A setting whose default is a fact of this machine: `loadConfig` fills it in, and nothing else ever sees it empty. */
export const derived = (setting: Setting<string>, otherwise: string): Setting<string> => ({
  ...setting,
  sentence: `${setting.sentence} Otherwise: ${otherwise}.`,
  show: (value) => (value === "" ? "" : setting.show(value)),
});

const plainInYaml = (value: string): boolean =>
  /^[A-Za-z0-9_./][A-Za-z0-9_./:@=-]*$/.test(value) && !/^(true|false|null|[\d.]+|.*:)$/i.test(value);

const within = (value: number | undefined, min: number, max: number): number | undefined =>
  value !== undefined && value >= min && value <= max ? value : undefined;

/** For values in the list of settings itself: a wrong default fails when the list is loaded. */
function sure<T>(parse: (text: string) => T | undefined, text: string): T {
  const value = parse(text);
  if (value === undefined) throw new Error(`the list of settings holds an impossible value: ${text}`);
  return value;
}
