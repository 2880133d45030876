import { latest } from "../../case.ts";
import { choice, either, type FormOf, flag, list, map, number, optional, record, tagged, text } from "../../form.ts";

const board = text({ about: "A board, by its name." });
const boards = list(board, { about: "Boards, by name, in this order." });
const duration = (about: string) => number({ about: `${about} In milliseconds.`, min: 0, max: latest });

/** The result of a turn: upstream's (bool, time.Duration) of an ActionFunc, and events during the turn. */
const turnResult = record(
  {
    done: optional(flag({ about: "True (the default): its turn is over. False: it has to go again." })),
    waitMs: optional(duration("Where it is not done: how long it waits at least before it goes again. 0 by default.")),
    takesMs: optional(duration("How long the turn takes; the clock of this Try is so much later after it.")),
    remove: optional(list(board, { about: "Boards that are removed during this turn (Remove)." })),
    add: optional(list(board, { about: "Boards that are added during this turn (Add)." })),
  },
  { about: "The result of a board's turn." },
);

export type TurnResult = FormOf<typeof turnResult>;

export const config = record(
  {
    qps: optional(number({ about: "Boards per second of the bucket; 0.1 by default. Its burst is always 1.", min: 0 })),
  },
  { about: "Parameters of the queue." },
);

export const given = record(
  {
    limiter: optional(
      either(
        [
          choice(["always", "never", "bucket"], {
            about:
              "bucket (the default): a token bucket of config.qps with burst 1 that is full. never: no token, ever (the " +
              "rate is 0). always: a token for every turn, as a test double has it.",
          }),
          record(
            {
              qps: number({ about: "Boards per second.", min: 0 }),
              tokens: optional(number({ about: "How full the bucket is: 1 by default.", min: 0, max: 1 })),
            },
            { about: "A token bucket that is not full." },
          ),
        ],
        { about: "The limiter of the turns when the case begins." },
      ),
    ),
    waiting: optional(
      list(
        record(
          {
            name: board,
            addedAtMs: optional(duration("When it was added; 0 by default.")),
            processAtMs: optional(duration("From when on it may have its turn; addedAtMs by default.")),
          },
          { about: "A board that waits already. It counts as seen." },
        ),
        { about: "The boards waiting when the case begins, in order of arrival." },
      ),
    ),
    seen: optional(list(board, { about: "Boards that had their turn before, and were not removed since." })),
  },
  { about: "The queue when the case begins: empty, unless it is said here." },
);

export const event = tagged(
  "do",
  {
    add: { name: optional(board), names: optional(boards) },
    remove: { name: optional(board), names: optional(boards) },
    removeFromQueue: { name: board },
    replace: { name: board, processAtMs: duration("From when on it may have its turn.") },
    clear: {},
    try: {
      results: optional(
        map(
          either(
            [turnResult, list(turnResult, { about: "One for each of its turns in this try; the last one holds on." })],
            {
              about: "One result for all of its turns in this try, or a list.",
            },
          ),
          { about: "The result of a turn, by the name of the board. The turn of a board that is not named succeeds." },
        ),
      ),
    },
    swapLimiter: { qps: number({ about: "Boards per second; 0: none at all (the never limiter)." }) },
    look: {},
  },
  {
    add: "Adds a board, or several; one that was seen and not removed since is not added again.",
    remove: "Removes a board, or several, from the waiting and from the seen.",
    removeFromQueue: "Its turn is over: it does not wait any more, and stays seen.",
    replace: "Another time for a board that waits; a board that does not wait is left alone.",
    clear: "Removes everybody.",
    try: "Grants turns until the limiter has no token, the head is not due yet, or no board waits.",
    swapLimiter: "Another rate, as after a change of the zone's state.",
    look: "Nothing; the state at that time is in the outcome.",
  },
  { about: "An operation on the queue." },
);

export type Event = FormOf<typeof event>;

const names = { type: "array", items: { type: "string" } };
const limiter = {
  type: "object",
  description: "The limiter of the turns.",
  properties: {
    kind: { enum: ["always", "never", "bucket"] },
    qps: { type: "number", description: "Boards per second; 0 for never. Not there for always." },
    tokens: { type: "number", description: "How full the bucket is, 0 to 1, at that time. Only for bucket." },
  },
};
const state = {
  order: { ...names, description: "The waiting boards, the head first." },
  seen: { ...names, description: "Upstream's set: the boards that are not added again, in alphabetical order." },
  limiter,
};

export const outcome = {
  type: "object",
  properties: {
    ...state,
    handled: { ...names, description: "Whose turn is over, in the order of the turns, over all tries." },
    tried: {
      type: "array",
      description: "Every turn that was handed out, in order.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          name: { type: "string" },
          done: { type: "boolean" },
          addedAtMs: { type: "number" },
          processAtMs: { type: "number", description: "From when on it was allowed to have this turn." },
        },
      },
    },
    steps: {
      type: "array",
      description: "One entry for each step, with the state after it.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number" },
          do: { type: "string" },
          changed: {
            type: "boolean",
            description: "Whether this changed anything: what upstream's Add, Remove, … answer. Not for try and look.",
          },
          handled: { ...names, description: "Only for try: whose turn was over in it." },
          ...state,
        },
      },
    },
  },
};
