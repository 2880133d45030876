import type { Millis } from "../../agent/base/clock.ts";
import { nearest } from "../../agent/base/text/nearest.ts";
import { parseDuration } from "../../agent/base/time/duration.ts";

/** A parsed YAML text with line numbers. */
export interface ScenarioText {
  readonly value: unknown;
  /** The line of a path. List items are keyed by their index. */
  lineOf(path: readonly string[]): number | undefined;
  readonly problems: readonly { readonly line: number | undefined; readonly message: string }[];
}

export type Fields = Readonly<Record<string, unknown>>;

/** Collects all problems, each with its line. */
export class Problems {
  readonly found: string[] = [];
  readonly #file: string;
  readonly #text: ScenarioText;

  constructor(file: string, text: ScenarioText) {
    this.#file = file;
    this.#text = text;
    for (const { line, message } of text.problems) this.#add(line, message);
  }

  /** `near`: a key inside `path`, for a path that has no line itself. */
  at(path: readonly string[], message: string, near?: string): void {
    let line = near === undefined ? undefined : this.#text.lineOf([...path, near]);
    for (let end = path.length; end > 0 && line === undefined; end--) line = this.#text.lineOf(path.slice(0, end));
    this.#add(line, path.length === 0 ? message : `${path.join(".")}: ${message}`);
  }

  /** The fields of a mapping, if it is one; reports unknown ones. */
  fields(path: readonly string[], value: unknown, known: readonly string[]): Fields {
    if (value === undefined || value === null) return {};
    if (typeof value !== "object" || Array.isArray(value)) {
      this.at(path, `must be a mapping with ${known.join(", ")}, not ${quoted(value)}`);
      return {};
    }
    for (const name of Object.keys(value)) {
      if (known.includes(name)) continue;
      const similar = nearest(name, known);
      this.at(
        [...path, name],
        `is unknown${similar ? `; did you mean ${similar}?` : `; there are ${known.join(", ")}`}`,
      );
    }
    return value as Fields;
  }

  duration(path: readonly string[], value: unknown, fallback: Millis): Millis {
    if (value === undefined) return fallback;
    const parsed = value === 0 ? 0 : typeof value === "string" ? parseDuration(value) : undefined;
    if (parsed === undefined) this.at(path, `must be a time such as 40s or 1m30s, not ${quoted(value)}`);
    return parsed ?? fallback;
  }

  integer(path: readonly string[], value: unknown, bounds: readonly [number, number], fallback: number): number {
    if (value === undefined) return fallback;
    const [least, most] = bounds;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    this.at(path, `must be a whole number from ${least} to ${most}, not ${quoted(value)}`);
    return fallback;
  }

  #add(line: number | undefined, message: string): void {
    this.found.push(`${this.#file}${line === undefined ? "" : `:${line}`}: ${message}`);
  }
}

export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
