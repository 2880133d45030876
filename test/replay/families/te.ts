import { family } from "../family.ts";
import { CaseTime } from "../site/case-time.ts";
import { journalSchema } from "../site/journal.ts";
import { tellStory } from "../site/story.ts";
import { EvictionStory } from "./te/eviction-story.ts";
import { config, type Event, event, given } from "./te/forms.ts";
import { podStoriesOf, podStorySchema } from "./te/pod-story.ts";

const hour = 3_600_000;

const timers = {
  type: "object",
  description: "Of each pod that will be deleted unless something happens: when, in milliseconds, by namespace/name.",
  additionalProperties: { type: "number" },
};
const objects = {
  pods: {
    type: "object",
    description: "The pods that are there, by namespace/name.",
    additionalProperties: {
      type: "object",
      properties: {
        uid: { type: "string" },
        node: { type: "string", description: "Its board; absent: not bound." },
        disrupted: { type: "boolean", description: "It carries the condition DisruptionTarget." },
      },
    },
  },
  nodes: {
    type: "object",
    description: "The NoExecute taints of each Node that is there.",
    additionalProperties: { type: "array", items: { type: "string" } },
  },
};

/**
 * Evictions of pods from boards whose NoExecute taints they do not tolerate
 * (docs/kubernetes-rules.md#toleration-windows, #eviction-timers).
 */
export const te = family({
  name: "TE",
  title: "taint eviction: pods leave boards with NoExecute taints",
  about:
    "The controller of the program (taint-eviction) in its control loop, with its timers stored as on a board, against an " +
    "API server in memory that deletes a pod at once. It starts at 0 ms. What is due at the very " +
    "instant of a step comes after it. Nobody judges the boards here (but see `judged`), so that what is " +
    "deleted follows from taints and tolerations alone. An eviction writes the condition DisruptionTarget and then " +
    "deletes, with the uid as a precondition. As the newest design upstream: a timer belongs to the taints that limit the " +
    "pod's stay. While one of them remains (same key, value, effect and timeAdded), the time counts from the same start, " +
    "and the shortest toleration of now decides; where none remains it starts anew.",
  config,
  given,
  event,
  outcome: {
    type: "object",
    properties: {
      story: podStorySchema,
      deleted: {
        type: "array",
        description: "Every deletion that went through, in order.",
        items: { type: "object", properties: { atMs: { type: "number" }, pod: { type: "string" } } },
      },
      timers: { ...timers, description: `${timers.description} At the end of the case.` },
      ...objects,
      writes: journalSchema.writes,
      events: journalSchema.events,
      steps: {
        type: "array",
        description: "One entry for each step, as things stand after everything of that instant has happened.",
        items: { type: "object", properties: { atMs: { type: "number" }, do: { type: "string" }, timers, ...objects } },
      },
    },
  },
  examples: [
    {
      id: "TE-09",
      family: "TE",
      given: { nodes: [{ name: "n", taints: ["a"] }], pods: [{ name: "p", node: "n", tolerations: ["a(1)"] }] },
      steps: [{ atMs: 500, event: { do: "taint", node: "n", taints: [] } }],
      expect: { story: { "default/p": { deletedMs: null, cancelledMs: [500] } } },
    },
    {
      id: "the time goes on while nobody leads",
      family: "TE",
      given: {
        nodes: [{ name: "n", taints: ["unreachable:NoExecute@T1"] }],
        pods: [{ name: "p", node: "n", tolerations: ["unreachable(300)"] }],
      },
      steps: [{ atMs: 100_000, event: { do: "restart", how: "process", downMs: 20_000 } }],
      expect: { deleted: [{ atMs: 300_000, pod: "default/p" }] },
    },
  ],
  async run({ config, given, steps }) {
    const story = new EvictionStory(new CaseTime(config.startTime), config, given);
    const last = steps.at(-1)?.atMs ?? 0;
    const end = { atMs: Math.max(last, config.untilMs ?? last + hour), event: { do: "look" } satisfies Event };
    try {
      const seen = await tellStory<Event>({
        site: story.site,
        steps: [...steps, end],
        begin: () => story.begin(),
        happen: (event) => story.happen(event),
        snapshot: () => ({ timers: story.timers, pods: story.pods, nodes: story.nodes }),
      });
      const { journal } = story.site;
      const podStories = podStoriesOf(
        journal,
        [...(given.pods ?? [])].map(({ name }) => (name.includes("/") ? name : `default/${name}`)),
      );
      const deleted = journal.writes
        .filter(({ verb, refused }) => verb === "delete" && refused === undefined)
        .map(({ atMs, object }) => ({ atMs, pod: object.replace(/^pod\//, "") }));
      return {
        story: podStories,
        deleted,
        ...seen.last,
        writes: journal.writes,
        events: journal.events,
        steps: steps.map(({ atMs, event }, index) => ({ atMs, do: event.do, ...seen.steps[index] })),
      };
    } finally {
      story.close();
    }
  },
});
