import path from "node:path";
import { isRecord } from "../../agent/base/json.ts";
import { json, list, number, optional, quoted, readForm, record, text } from "./form.ts";
import { MalformedCase } from "./malformed.ts";
import { expand } from "./repeat.ts";

/** The envelope of a case. Its family reads the content of `config`, `given` and the events. */
export interface Case {
  readonly id: string;
  readonly family: string;
  readonly note: string | undefined;
  readonly config: Readonly<Record<string, unknown>>;
  readonly given: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step<unknown>[];
  /** `undefined` if nothing is expected and only the outcome is wanted. */
  readonly expect: Readonly<Record<string, unknown>> | undefined;
}

export interface Step<Event> {
  /** Milliseconds on the case's own clock, which starts at 0. */
  readonly atMs: number;
  readonly event: Event;
}

/** A year of fake time: a larger number is a typing mistake. */
export const latest = 366 * 86_400_000;

export const atMs = number({
  about: "When it happens: milliseconds of monotonic time since the case began.",
  min: 0,
  max: latest,
});

const step = record({ atMs, event: json({ about: "An event, in the family's own form." }) }, { about: "A step." });

export const envelope = {
  id: optional(
    text({
      about:
        "The name of the case, as reports show it. Default: the beginning of the file's name, as in HD-01-a-few-words.json.",
      pattern: /^[^\p{Cc}]+$/u,
      takes: "a text of one line",
      examples: ["HD-01"],
    }),
  ),
  family: optional(
    text({
      about:
        "The family, which says what given, events and outcome mean. Default: the letters that the file's name begins with.",
      examples: ["HD"],
    }),
  ),
  note: optional(text({ about: "A sentence for people: what the case is about, and which rule it follows from." })),
  config: optional(json({ about: "Parameters that differ from the family's defaults." })),
  given: optional(json({ about: "The state when the case begins." })),
  steps: optional(
    list(step, { about: "The events in chronological order; events at the same instant in the order given." }),
  ),
  expect: optional(json({ about: "The expected outcome; without it the outcome is printed." })),
};

const form = record(envelope, { about: "A case." });

/** The id and the family that a file's name begins with: HD-01 and HD in "HD-01-a-few-words.json". */
export function namesIn(file: string): { readonly id: string; readonly family: string } | undefined {
  const [, id, family] = /^(([A-Z]{2})-\d+[a-z]*)-[^/]*\.json$/.exec(path.basename(file)) ?? [];
  return id === undefined || family === undefined ? undefined : { id, family };
}

/** Parses a case; `file` names it unless it does so itself. Throws a MalformedCase with all problems of the envelope. */
export function readCase(source: string, file: string): Case {
  const {
    note,
    config = {},
    given = {},
    steps = [],
    expect,
    ...written
  } = readForm(form, expand(parsed(source)), "case");
  const { id, family } = { ...namesIn(file), ...written };
  if (id === undefined || family === undefined) {
    const missing = [id === undefined && "id", family === undefined && "family"].filter((name) => name !== false);
    throw new MalformedCase(
      missing.map((name) => `case needs the field "${name}", or a file with a name such as HD-01-a-few-words.json`),
    );
  }
  for (const [index, { atMs }] of steps.entries()) {
    const before = steps[index - 1]?.atMs ?? 0;
    if (atMs < before) {
      throw new MalformedCase([`case.steps[${index}].atMs is ${atMs}, before the step that stands in front of it`]);
    }
  }
  return { id, family, note, config, given, steps, expect };
}

/** Deeper than any Kubernetes object. Limited because cases are compared and printed recursively. */
const deepest = 100;

function isDeeperThan(levels: number, value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= levels && level.length > 0; depth++) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return level.length > 0;
}

function parsed(source: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(source.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new MalformedCase([`it is no JSON: ${error instanceof Error ? error.message : String(error)}`]);
  }
  if (isDeeperThan(deepest, value)) throw new MalformedCase([`it is nested more than ${deepest} levels deep`]);
  if (!isRecord(value)) throw new MalformedCase([`a case is a JSON object, not ${quoted(value)}`]);
  return value;
}
