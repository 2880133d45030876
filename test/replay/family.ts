import { atMs, type Case, envelope, type Step } from "./case.ts";
import { matchers } from "./diff.ts";
import { type Form, type JsonSchema, list, readForm, record } from "./form.ts";
import type { Outcome } from "./outcome.ts";
import { repeatSchema } from "./repeat.ts";

/** One kind of case: its format, and how it is run. */
export interface ReplayFamily {
  /** As cases name it: "HD". */
  readonly name: string;
  readonly title: string;
  /** The JSON schema of a whole case of this family, with its outcome and with examples. */
  readonly schema: JsonSchema;
  /** Throws a MalformedCase if the case does not belong to this family. */
  run(input: Case): Promise<Outcome>;
}

export interface FamilyOptions<Config, Given, Event> {
  readonly name: string;
  readonly title: string;
  /** A few sentences that a newcomer needs before writing a case. */
  readonly about: string;
  readonly config: Form<Config>;
  readonly given: Form<Given>;
  readonly event: Form<Event>;
  /** JSON schema of the outcome: each field with its meaning and its unit. */
  readonly outcome: JsonSchema;
  /** Whole cases that hold. */
  readonly examples: readonly object[];
  run(input: CaseInput<Config, Given, Event>): Promise<Outcome> | Outcome;
}

/** A case of a family, checked. */
export interface CaseInput<Config, Given, Event> {
  readonly config: Config;
  readonly given: Given;
  readonly steps: readonly Step<Event>[];
}

/** A family that validates its cases strictly, once, before anything runs. */
export function family<Config, Given, Event>(options: FamilyOptions<Config, Given, Event>): ReplayFamily {
  const steps = list(record({ atMs, event: options.event }, { about: "One thing that happens." }), {
    about: "The events in chronological order. Events at the same instant happen in the order given.",
  });
  const contents = record({ config: options.config, given: options.given, steps }, { about: "" });
  return {
    name: options.name,
    title: options.title,
    schema: schemaOf(options, steps.json),
    async run({ config, given, steps }) {
      return await options.run(readForm(contents, { config, given, steps }, "case"));
    },
  };
}

const schemaOf = <Config, Given, Event>(
  { name, title, about, config, given, outcome, examples }: FamilyOptions<Config, Given, Event>,
  steps: JsonSchema,
): JsonSchema => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: `${name}: ${title}`,
  description: about,
  type: "object",
  additionalProperties: false,
  properties: {
    id: envelope.id.json,
    family: { const: name },
    note: envelope.note.json,
    config: config.json,
    given: given.json,
    steps,
    expect: {
      type: "object",
      description:
        "The expected outcome. It is written like the outcome ($defs.outcome), and every member may be left out: " +
        "an object matches where each member that it names matches; a list matches item by item, with exactly as many " +
        "items; null matches null and a member that is not there; anything else must be equal. In place of any value a " +
        "matcher ($defs.matcher) may stand. Without expect the outcome is printed and nothing is compared.",
    },
  },
  $defs: { outcome, matcher: matchers, repeat: repeatSchema },
  examples,
});
