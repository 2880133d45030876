import { choice, either, type FormOf, flag, list, optional, record, tagged, text, whole } from "../../form.ts";
import { objectForm } from "../../object-form.ts";

const objects = (about: string) => list(objectForm, { about });
const resourceVersion = optional(
  text({ about: "The position of the watch that is written with it; by default that of the newest object." }),
);

export const config = record(
  {
    replaceAs: optional(
      choice(["Sync", "Replaced"], {
        about:
          "What the outcome calls the deltas of a list: Sync (the default), as upstream's queue does unless it is told " +
          "otherwise and as its unit tests take it, or Replaced, as every informer has it, ours and upstream's.",
      }),
    ),
    deltasPerObject: optional(
      whole({
        about: "More deltas of one object than this are merged in the journal; 16 by default, as in the program.",
        min: 2,
        max: 1000,
      }),
    ),
    atOnce: optional(
      flag({
        about:
          "True: add, update and delete are applied at once where nothing waits, as our informer does; what they changed " +
          "stands at their step. False (the default): they wait for a pop, as in a queue.",
      }),
    ),
  },
  { about: "Parameters of the queue." },
);

export const given = record(
  {
    known: optional(
      objects("Upstream's KnownObjects: what an earlier run listed and stored, at version 0. Nothing by default."),
    ),
    populated: optional(
      flag({ about: "True also without known: an earlier run listed nothing. A cache that knows anything always is." }),
    ),
  },
  { about: "The queue is empty when the case begins." },
);

export const event = tagged(
  "do",
  {
    add: { object: objectForm, resourceVersion },
    update: { object: objectForm, resourceVersion },
    delete: { object: objectForm, resourceVersion },
    group: {
      deltas: list(
        record(
          { type: choice(["Added", "Updated", "Deleted"], { about: "What happened." }), object: objectForm },
          { about: "A delta." },
        ),
        { about: "The deltas that arrived, in order." },
      ),
      resourceVersion,
    },
    replace: { objects: objects("All there is, in the order of the list."), resourceVersion },
    fill: { objects: objects("All there is."), resourceVersion },
    beginReplace: {},
    page: { objects: objects("A page of the list.") },
    commitReplace: {
      resourceVersion: text({ about: "The position from which the watch continues after the list." }),
    },
    abortReplace: {},
    resync: {},
    bookmark: { resourceVersion: text({ about: "A position without news." }) },
    pop: {
      keys: optional(
        either(
          [
            whole({ about: "At most so many keys.", min: 1, max: 100_000 }),
            choice(["all"], { about: "As long as something waits." }),
          ],
          { about: "How many keys are taken; 1 by default." },
        ),
      ),
    },
    restart: {},
  },
  {
    add: "A watch says ADDED.",
    update: "A watch says MODIFIED.",
    delete: "A watch says DELETED, with the last state. Ignored where the object neither is known nor waits.",
    group: "Several of these at once: one transaction.",
    replace: "A list of everything, from its first page to its end.",
    fill:
      "A list of everything as the very first thing that comes, as our informer takes it: it goes to its place at once, and " +
      "is popped in the order of the keys. It comes to what replace comes to.",
    beginReplace: "A list begins. Nothing of it shows before its end; what is appended meanwhile ends it.",
    page: "A page of the list that was begun.",
    commitReplace: "The list that was begun is complete.",
    abortReplace: "The list that was begun is given up.",
    resync: "A Sync for every stored object that has no delta waiting.",
    bookmark: "A bookmark: the position moves, and nothing else.",
    pop: "Takes the oldest key with all its deltas, applies them to the store and tells what changed.",
    restart: "The power fails and the program starts again: what is on disk is all there is.",
  },
  { about: "An operation on the queue." },
);

export type Event = FormOf<typeof event>;
export type Config = FormOf<typeof config>;

const object = { type: "string", description: "name@version, namespace/name@version where there is a namespace." };
const delta = {
  type: "object",
  properties: {
    type: { enum: ["Added", "Updated", "Deleted", "Replaced", "Sync"] },
    object: { ...object, description: "What it carries; a tombstone: the last state known." },
    uid: { type: "string" },
    tombstone: {
      type: "boolean",
      description:
        "Only for Deleted. True: found missing by a list, upstream's DeletedFinalStateUnknown. False: a watch said so.",
    },
    marked: {
      const: true,
      description:
        "Only for Sync and Replaced: the list showed the object exactly as it is stored (same uid and version) and nothing " +
        "waited for it. Upstream queues a delta that changes nothing; here it costs a mark and no write, and is not " +
        "counted by depth and synced.",
    },
  },
};
const entry = {
  type: "object",
  properties: {
    key: { type: "string" },
    deltas: { type: "array", description: "Oldest first.", items: delta },
  },
};
const change = {
  type: "object",
  properties: {
    key: { type: "string" },
    before: { ...object, description: "The state before; absent: it was added." },
    after: { ...object, description: "The state afterwards; absent: it was deleted." },
  },
};
const changes = {
  type: "array",
  description:
    "What listeners are told. Deltas of one uid come to one change; where they come to nothing, nobody is told. A change of " +
    "the uid is told as gone and appeared.",
  items: change,
};
const state = {
  synced: { type: "boolean", description: "HasSynced: the first list has been popped." },
  depth: { type: "integer", description: "How many keys wait in the journal." },
  position: { type: "string", description: "Where the watch resumes; absent: a list is needed." },
};

export const outcome = {
  type: "object",
  properties: {
    ...state,
    popped: { type: "array", description: "All keys that were popped, in order, with their deltas.", items: entry },
    changes,
    queue: {
      type: "array",
      description: "The deltas still pending at the end, in the order of the pops.",
      items: entry,
    },
    stored: { type: "array", description: "The store at the end, by key.", items: object },
    merged: { type: "integer", description: "How many deltas were merged because there were too many of one object." },
    steps: {
      type: "array",
      description: "One entry for each step, with the state after it.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          do: { type: "string" },
          refused: {
            type: "string",
            description:
              "Why the queue did not do it: the list was ended by what was appended meanwhile; fill came too late.",
          },
          popped: { type: "array", items: entry, description: "Only for pop." },
          changes: { ...changes, description: "Only for pop, and with atOnce for what was applied at once." },
          ...state,
        },
      },
    },
  },
};
