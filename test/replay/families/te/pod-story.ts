import type { Millis } from "../../../../agent/base/clock.ts";
import type { JsonSchema } from "../../form.ts";
import type { Journal } from "../../site/journal.ts";

interface Write {
  readonly atMs: Millis;
  readonly verb: string;
  readonly object: string;
  readonly refused: string | undefined;
}

interface Event {
  readonly atMs: Millis;
  readonly about: string;
  readonly message: string;
}

interface PodStory {
  /** The first deletion that went through. */
  deletedMs: Millis | null;
  readonly deletes: Millis[];
  readonly cancelledMs: Millis[];
  readonly markedMs: Millis[];
}

/** The acts on each pod, by its key. */
export function podStoriesOf({ writes, events }: Journal, keys: readonly string[]): ReadonlyMap<string, PodStory> {
  const stories = new Map<string, PodStory>(keys.map((key) => [key, emptyStory()]));
  const storyOf = (object: string): PodStory => {
    const key = object.replace(/^pod\//, "");
    const story = stories.get(key) ?? emptyStory();
    stories.set(key, story);
    return story;
  };
  for (const { atMs, verb, object, refused } of writes as readonly Write[]) {
    if (verb !== "delete") continue;
    const story = storyOf(object);
    story.deletes.push(atMs);
    if (refused === undefined) story.deletedMs ??= atMs;
  }
  for (const { atMs, about, message } of events as readonly Event[]) {
    const story = storyOf(about);
    if (message.startsWith("Cancelling")) story.cancelledMs.push(atMs);
    else story.markedMs.push(atMs);
  }
  return stories;
}

const emptyStory = (): PodStory => ({ deletedMs: null, deletes: [], cancelledMs: [], markedMs: [] });

const times = (description: string): JsonSchema => ({ type: "array", items: { type: "number" }, description });

export const podStorySchema: JsonSchema = {
  type: "object",
  description: "The acts on every pod of the case, by namespace/name. Pods of the same name share an entry.",
  additionalProperties: {
    type: "object",
    properties: {
      deletedMs: {
        type: ["number", "null"],
        description: "When the first deletion went through; null: it was never deleted.",
      },
      deletes: times("Every request to delete it, also those that were refused."),
      markedMs: times('Every Event "Marking for deletion Pod namespace/name".'),
      cancelledMs: times('Every Event "Cancelling deletion of Pod namespace/name".'),
    },
  },
};
