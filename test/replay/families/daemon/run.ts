import type { Millis } from "../../../../agent/base/clock.ts";
import type { CaseInput } from "../../family.ts";
import type { Outcome } from "../../outcome.ts";
import { CaseTime } from "../../site/case-time.ts";
import { tellStory } from "../../site/story.ts";
import { DaemonStory } from "./daemon-story.ts";
import type { Config, Event, Given } from "./forms.ts";

const minute: Millis = 60_000;

/** Plays the story of a set, and returns the outcome. */
export async function runDaemonStory({ config, given, steps }: CaseInput<Config, Given, Event>): Promise<Outcome> {
  const story = new DaemonStory(new CaseTime(config.startTime), config, given);
  const { update } = story;
  const last = steps.at(-1)?.atMs ?? 0;
  const end = { atMs: Math.max(last, config.untilMs ?? last + minute), event: { do: "look" } satisfies Event };
  const seen = await tellStory<Event>({
    site: story.site,
    steps: [...steps, end],
    begin: () => story.begin(),
    happen: (event) => story.happen(event),
    snapshot: () => story.outcome,
  });
  const { writes, events } = story.site.journal;
  return {
    passes: story.passes.shown,
    looks: story.passes.looks,
    created: story.passes.created,
    deleted: story.passes.deleted,
    ...seen.last,
    update,
    writes,
    events,
    steps: steps.map(({ atMs, event }, index) => ({ atMs, do: event.do, ...seen.steps[index] })),
  };
}
