import { family } from "../family.ts";
import { CaseTime } from "../site/case-time.ts";
import { journalSchema } from "../site/journal.ts";
import { tellStory } from "../site/story.ts";
import { config, type Event, event, given } from "./gc/forms.ts";
import { GcStory } from "./gc/gc-story.ts";

type Write = GcStory["site"]["journal"]["writes"][number];

const standardThreshold = 12_500;

const atMs = { type: "number", description: "When, in ms of the case." };
const pod = { type: "string", examples: ["default/a"] };

const state = {
  pods: {
    type: "object",
    description: "The pods that are there, by namespace/name.",
    additionalProperties: {
      type: "object",
      properties: {
        phase: { type: "string", description: "Absent: none was written." },
        node: { type: "string", description: "Its board; absent: not bound." },
        disrupted: {
          type: "object",
          description: "Its condition DisruptionTarget, if it has one.",
          properties: { status: { type: "string" }, reason: { type: "string", examples: ["DeletionByPodGC"] } },
        },
      },
    },
  },
  waiting: {
    type: "object",
    description:
      "Boards that pods name and that the cache does not show: from when on, in ms, the API is asked about them.",
    additionalProperties: { type: "number" },
  },
};

/** The deletion of pods that are no longer needed (docs/kubernetes-rules.md#pod-gc). */
export const gc = family({
  name: "GC",
  title: "the garbage collection of pods",
  about:
    "The real controller on a site in memory, with a pass at 0 ms and every 20 s from then on. Each pass goes through, in " +
    "this order: pods that have run to their end, above the threshold (those that a kubelet evicted first, then the oldest, " +
    "then by name); pods that terminate on a board that is out of service and not ready; pods whose board does not exist " +
    "(missed for 40 s, then asked about at the API itself); pods that terminate and are bound to no board. What has not " +
    "finished is made Failed before it is deleted, and is not deleted where that fails. While the link to the API is cut, " +
    "and for 40 s of grace after it was restored, nothing is deleted.",
  config,
  given,
  event,
  outcome: {
    type: "object",
    properties: {
      deleted: {
        type: "array",
        description: "Every deletion that went through, in the order in which they were begun.",
        items: { type: "object", properties: { atMs, pod } },
      },
      failed: {
        type: "array",
        description: "Every pod that was made Failed before its deletion, in order.",
        items: { type: "object", properties: { atMs, pod } },
      },
      checked: {
        type: "array",
        description: "Every Node that the API itself was asked about, in order.",
        items: { type: "object", properties: { atMs, node: { type: "string" } } },
      },
      ...state,
      writes: journalSchema.writes,
      steps: {
        type: "array",
        description: "One entry for each step, as things stand after everything of that instant has happened.",
        items: { type: "object", properties: { atMs, do: { type: "string" }, ...state } },
      },
    },
  },
  examples: [
    {
      id: "GC-03",
      family: "GC",
      config: { threshold: 1 },
      given: {
        pods: [
          { name: "a", phase: "Running", createdMs: -3000 },
          { name: "b", phase: "Succeeded", createdMs: -2000 },
          { name: "c", phase: "Failed", createdMs: -1000 },
        ],
      },
      expect: { deleted: [{ atMs: 0, pod: "default/b" }], failed: [] },
    },
    {
      id: "a board that is gone",
      family: "GC",
      given: { nodes: [{ name: "n" }], pods: [{ name: "a", node: "n" }] },
      steps: [
        { atMs: 5000, event: { do: "deleteNode", node: "n" } },
        { atMs: 60_000, event: { do: "look" } },
      ],
      expect: { deleted: [{ atMs: 60_000, pod: "default/a" }], checked: [{ atMs: 60_000, node: "n" }] },
    },
  ],
  async run({ config, given, steps }) {
    const story = new GcStory(new CaseTime(config.startTime), given, config.threshold ?? standardThreshold);
    const last = steps.at(-1)?.atMs ?? 0;
    const end = { atMs: Math.max(last, config.untilMs ?? last), event: { do: "look" } satisfies Event };
    const seen = await tellStory<Event>({
      site: story.site,
      steps: [...steps, end],
      begin: () => story.begin(),
      happen: (event) => story.happen(event),
      snapshot: () => ({ pods: story.pods, waiting: story.waiting }),
    });
    const { writes, asked } = story.site.journal;
    // Several pods are processed concurrently; their order is that of the first write about each.
    const begun = (one: Write): number =>
      writes.findIndex(({ atMs, object }) => atMs === one.atMs && object === one.object);
    const done = (verb: string): readonly object[] =>
      writes
        .filter((write) => write.verb === verb && write.refused === undefined)
        .sort((a, b) => begun(a) - begun(b))
        .map(({ atMs, object }) => ({ atMs, pod: object.replace(/^pod\//, "") }));
    return {
      deleted: done("delete"),
      failed: done("patch"),
      checked: asked.map(({ atMs, object }) => ({ atMs, node: object.replace(/^node\//, "") })),
      ...seen.last,
      writes,
      steps: steps.map(({ atMs, event }, index) => ({ atMs, do: event.do, ...seen.steps[index] })),
    };
  },
});
