const texts = { type: "array", items: { type: "string" } };
const state = {
  store: { ...texts, description: "The cached objects, as name@version, by name." },
  resourceVersion: {
    type: "string",
    description: "The position from which the next watch continues; absent: none yet.",
  },
  synced: { type: "boolean", description: "The first list is complete and can be read." },
  live: { type: "boolean", description: "A watch is open, and something came within watchStallMs." },
  depth: { type: "integer", description: "Keys that wait to be applied to the store." },
  lists: { type: "integer", description: "Lists begun, however many pages they have; those of a new process only." },
  watches: { type: "integer", description: "Watches that opened, likewise." },
  rejected: { type: "integer", description: "Objects and lines that could not be used." },
  problem: { type: "string", description: "Why the last attempt failed; absent once one has succeeded." },
};

export const outcome = {
  type: "object",
  properties: {
    requests: {
      type: "array",
      description: "Every request, in order. Those that the client repeats by itself (Retry-After) too.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          verb: { enum: ["LIST", "WATCH"] },
          resourceVersion: { type: "string", description: '"": none was sent.' },
          resourceVersionMatch: { enum: ["NotOlderThan", "Exact"] },
          limit: { type: "integer", description: "Not there: everything in one piece." },
          continue: { type: "string" },
          timeoutSeconds: { type: "integer", description: "Of a watch." },
          allowWatchBookmarks: { type: "boolean" },
          metadataOnly: { const: true, description: "Only names and versions were asked for." },
          answer: { type: "string", description: "ok, the error, or how many objects at which version." },
        },
      },
    },
    verbs: { ...texts, description: "LIST or WATCH of every request, in order." },
    interruptions: {
      type: "array",
      description:
        "Every failed attempt that is followed by a wait, in order. A watch that the server ended after a while is not a failure.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          error: { type: "string" },
          waitMs: { type: "number", description: "By the backoff; a Retry-After can be longer." },
          level: {
            enum: ["debug", "warn", "error"],
            description: "debug: only for diagnosis. warn: degraded. error: an operator must act.",
          },
        },
      },
    },
    waits: { type: "array", items: { type: "number" }, description: "The waits alone." },
    told: {
      type: "array",
      description: "The changes reported to handlers, in order: added (no before), changed, deleted (no after).",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          key: { type: "string" },
          before: { type: "string" },
          after: { type: "string" },
        },
      },
    },
    ended: { type: "string", description: "Why the informer gave up, if it did." },
    ...state,
    steps: {
      type: "array",
      description: "One entry for each step, with the state after it, at its instant.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          do: { type: "string" },
          requests: { type: "integer", description: "How many requests there were so far." },
          ...state,
        },
      },
    },
  },
};
