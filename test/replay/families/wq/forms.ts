import { latest } from "../../case.ts";
import { either, type FormOf, list, map, number, optional, record, tagged, text, whole } from "../../form.ts";
import { limiterForm } from "./limiters.ts";

const item = text({ about: "An item of the queue: a key." });
const items = either(
  [
    list(item, { about: "Several items, in this order." }),
    record(
      { prefix: text({ about: "How their names begin." }), count: whole({ about: "How many.", min: 0, max: 10_000 }) },
      { about: "Many items: prefix followed by 1, 2, 3, …" },
    ),
  ],
  { about: "Several items." },
);
const which = { item: optional(item), items: optional(items) };
const duration = (about: string) => number({ about: `${about} In milliseconds.`, max: latest });

export const config = record({ limiter: optional(limiterForm) }, { about: "Parameters of the queue." });

export const given = record(
  {
    workers: optional(
      record(
        {
          count: whole({ about: "How many there are.", min: 1, max: 100 }),
          takesMs: optional(duration("How long each works on an item; 0 by default.")),
          failures: optional(
            map(whole({ about: "How often.", min: 0 }), {
              about: "How often the work on an item fails before it succeeds; not at all by default.",
            }),
          ),
        },
        {
          about:
            "The workers that take items on their own: get, work, then forget or, after a failure, addRateLimited, then done.",
        },
      ),
    ),
  },
  { about: "The queue is empty. Without workers an item is taken by the event get." },
);

export const event = tagged(
  "do",
  {
    add: which,
    addAfter: { ...which, afterMs: duration("After which the items are added; 0 or less: now.") },
    addRateLimited: { ...which, atLeastMs: optional(duration("What the server asked to wait for (Retry-After).")) },
    forget: which,
    numRequeues: which,
    when: which,
    get: { by: optional(text({ about: "The worker that requests an item; by default worker." })) },
    done: { item },
    shutDown: {},
    look: {},
  },
  {
    add: "The items have to be looked at.",
    addAfter: "The same, later. Where one is delayed already, the earlier time holds.",
    addRateLimited: "The same, when the limiter permits: it counts a failure of each.",
    forget: "The failures of the items are over.",
    numRequeues: "Asks how often the items failed in a row, by addRateLimited.",
    when: "Asks a limiter of the same kind, which stands beside the queue, how long each item has to wait. It counts a failure.",
    get: "Somebody asks for an item, and waits until there is one.",
    done: "The work on an item is over.",
    shutDown: "Nothing new is taken in, delayed items are dropped, ready ones are still handed out.",
    look: "Nothing: the case lasts at least until then, and the state is in the outcome.",
  },
  { about: "An operation on the queue." },
);

export type Given = FormOf<typeof given>;
export type Event = FormOf<typeof event>;

const state = {
  ready: { type: "integer", description: "Items that can be taken: upstream's Len." },
  delayed: { type: "integer", description: "Items that come back by themselves." },
  processing: { type: "array", items: { type: "string" }, description: "Items being processed." },
};
const delivery = {
  type: "object",
  properties: { atMs: { type: "number" }, item: { type: "string" }, by: { type: "string" } },
};

export const outcome = {
  type: "object",
  properties: {
    ...state,
    delivered: { type: "array", description: "Every item that was handed out, in order.", items: delivery },
    deliveries: {
      type: "object",
      description: "The same by item: when it was handed out.",
      additionalProperties: { type: "array", items: { type: "number" } },
    },
    ended: {
      type: "array",
      description: "Workers that requested an item and were notified of the shutdown.",
      items: { type: "object", properties: { atMs: { type: "number" }, by: { type: "string" } } },
    },
    waiting: { type: "array", items: { type: "string" }, description: "Workers that still wait at the end." },
    requeues: {
      type: "object",
      description: "The failures of every item of the case at the end; 0 once it was forgotten.",
      additionalProperties: { type: "integer" },
    },
    waits: {
      type: "array",
      description: "Every answer to when, in order, in milliseconds.",
      items: { type: "number" },
    },
    steps: {
      type: "array",
      description: "One entry for each step, with the state after it, at its instant.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          do: { type: "string" },
          answers: {
            type: "array",
            items: { type: "number" },
            description: "To numRequeues and when, item by item.",
          },
          item: { type: "string", description: "To get, where there was one at once." },
          ...state,
        },
      },
    },
  },
};
