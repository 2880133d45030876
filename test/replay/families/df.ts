import type { Change, StoredObject } from "../../../storage/object.ts";
import { family } from "../family.ts";
import { shownObject } from "../object-form.ts";
import { FifoStory } from "./df/fifo-story.ts";
import { config, event, given, outcome } from "./df/forms.ts";

/** Pending deltas of one resource (docs/kubernetes-rules.md#deltafifo). */
export const df = family({
  name: "DF",
  title: "the DeltaFIFO: deltas that wait, by key, until they are popped",
  about:
    "The DeltaFIFO and the Indexer of storage/, with their SQLite file in memory. The deltas of a popped key are read from " +
    "the journal, where they lie; what the pop changes in the store is told beside them. A pop never waits: with " +
    "nothing there it takes nothing. It hands out keys until one of them changed something, so that a key whose deltas " +
    "come to nothing (added and deleted) is popped together with the next one. There is no known-objects store that " +
    "stands apart: what is popped is in the store, and a cache that knows anything was filled by an earlier run, so that it " +
    "counts as synced. A deletion that is put in carries the last state; tombstones come from " +
    "lists only. Requeueing (AddIfNotPresent), Close and transformers are not there.",
  config,
  given,
  event,
  outcome,
  examples: [
    {
      id: "DF-01",
      family: "DF",
      given: { known: ["foo@1"] },
      steps: [
        { atMs: 0, event: { do: "delete", object: "foo@1" } },
        { atMs: 0, event: { do: "replace", objects: ["foo@2"] } },
        { atMs: 0, event: { do: "pop" } },
      ],
      expect: {
        popped: [
          {
            key: "foo",
            deltas: [
              { type: "Deleted", object: "foo@1", tombstone: false },
              { type: "Sync", object: "foo@2" },
            ],
          },
        ],
        queue: [],
      },
    },
    {
      id: "a list counts as synced once it was popped",
      family: "DF",
      steps: [
        { atMs: 0, event: { do: "replace", objects: ["a@1", "b@2"] } },
        { atMs: 0, event: { do: "pop" } },
        { atMs: 0, event: { do: "pop", keys: "all" } },
      ],
      expect: { steps: [{ synced: false }, { synced: false }, { synced: true }], stored: ["a@1", "b@2"] },
    },
  ],
  run({ config, given, steps }) {
    const story = new FifoStory(config, given.known ?? [], given.populated ?? (given.known ?? []).length > 0);
    try {
      const results = steps.map(({ atMs, event }) => ({ atMs, do: event.do, ...story.happen(event), ...story.state }));
      return {
        ...story.state,
        popped: results.flatMap(({ popped = [] }) => popped),
        changes: results.flatMap(({ changes = [] }) => changes.map(shownChange)),
        queue: story.queue,
        stored: story.stored,
        merged: story.merged,
        steps: results.map((step) => ({ ...step, changes: step.changes?.map(shownChange) })),
      };
    } finally {
      story.close();
    }
  },
});

const shownChange = ({ key, before, after }: Change<StoredObject>): object => ({
  key,
  before: before && shownObject(before),
  after: after && shownObject(after),
});
