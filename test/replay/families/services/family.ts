import { endpointSlices, endpoints } from "../../../../agent/api/resources.ts";
import type { WorkloadController } from "../../../../agent/controllers/registry.ts";
import { family, type ReplayFamily } from "../../family.ts";
import type { JsonSchema } from "../../form.ts";
import type { Outcome } from "../../outcome.ts";
import { CaseTime } from "../../site/case-time.ts";
import { journalSchema } from "../../site/journal.ts";
import { tellStory } from "../../site/story.ts";
import { type Config, config, type Event, event, type Given, given } from "./forms.ts";
import { endpointsSchema, showEndpoints, showSlices, sizesOf, slicesSchema } from "./shown.ts";
import { ServiceStory } from "./story.ts";

export interface ServiceFamilyOptions {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly examples: readonly object[];
  controllersOf(given: Given, config: Config, story: ServiceStory): readonly WorkloadController[];
  /** Further parts of the outcome at a time. */
  readonly more?: { readonly schema: Readonly<Record<string, JsonSchema>>; show(story: ServiceStory): Outcome };
}

const counts: JsonSchema = {
  type: "object",
  description: "How many writes went through since the step before.",
  properties: {
    create: { type: "integer" },
    update: { type: "integer" },
    delete: { type: "integer" },
    refused: { type: "integer", description: "Of any kind, that did not go through." },
  },
};

/** A family in which service controllers run on a site. */
export const serviceFamily = ({
  name,
  title,
  about,
  examples,
  controllersOf,
  more,
}: ServiceFamilyOptions): ReplayFamily =>
  family({
    name,
    title,
    about:
      `${about} The controllers of the program run in their control loops against an API server in memory, whose watches ` +
      "deliver at once. Nobody judges the boards. What is due at the very instant of a step comes after it.",
    config,
    given,
    event,
    outcome: {
      type: "object",
      properties: {
        endpoints: endpointsSchema,
        slices: slicesSchema,
        sizes: sizesSchema,
        ...more?.schema,
        written: { ...counts, description: "How many writes went through in all." },
        writes: journalSchema.writes,
        events: journalSchema.events,
        steps: {
          type: "array",
          description: "One entry for each step, as things stand after everything of that instant has happened.",
          items: {
            type: "object",
            properties: {
              atMs: { type: "number" },
              do: { type: "string" },
              endpoints: endpointsSchema,
              slices: slicesSchema,
              sizes: sizesSchema,
              ...more?.schema,
              written: counts,
            },
          },
        },
        first: {
          type: "object",
          description: "The same for 0 ms, before the first step behind it.",
          properties: { endpoints: endpointsSchema, slices: slicesSchema, sizes: sizesSchema, written: counts },
        },
      },
    },
    examples,
    async run({ config, given, steps }) {
      const time = new CaseTime(config.startTime);
      const story = new ServiceStory(time, given, (one) => controllersOf(given, config, one));
      const last = steps.at(-1)?.atMs ?? 0;
      const look = { do: "look" } satisfies Event;
      const ends = [{ atMs: Math.max(last, config.untilMs ?? last), event: look }];
      let counted = 0;
      const seen = await tellStory<Event>({
        site: story.site,
        steps: [{ atMs: 0, event: look }, ...steps, ...ends],
        begin: () => story.begin(),
        happen: (event) => story.happen(event),
        snapshot: () => {
          const slices = showSlices(story.site.api.all(endpointSlices), time);
          const written = countsOf(story.site.journal.writes.slice(counted));
          counted = story.site.journal.writes.length;
          return {
            endpoints: showEndpoints(story.site.api.all(endpoints), time),
            slices,
            sizes: sizesOf(slices),
            ...more?.show(story),
            written,
          };
        },
      });
      const { writes, events } = story.site.journal;
      const [first, ...others] = seen.steps;
      return {
        ...seen.last,
        written: countsOf(writes),
        writes,
        events,
        first,
        steps: steps.map(({ atMs, event }, index) => ({ atMs, do: event.do, ...others[index] })),
      };
    },
  });

const sizesSchema: JsonSchema = {
  type: "object",
  description: "How many endpoints each slice holds, the fullest first, by service.",
  additionalProperties: { type: "array", items: { type: "integer" } },
};

function countsOf(writes: readonly { readonly verb: string; readonly refused: string | undefined }[]): object {
  const of = (verb: string): number => writes.filter((one) => one.verb === verb && one.refused === undefined).length;
  const refused = writes.filter((one) => one.refused !== undefined).length;
  return { create: of("create"), update: of("patch"), delete: of("delete"), refused };
}
