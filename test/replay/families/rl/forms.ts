import { latest } from "../../case.ts";
import {
  choice,
  either,
  type FormOf,
  flag,
  list,
  number,
  optional,
  type RecordOf,
  record,
  tagged,
  text,
  whole,
} from "../../form.ts";
import { objectForm } from "../../object-form.ts";
import { startTime } from "../../site/case-time.ts";
import { errorForm } from "./answers.ts";

const duration = (about: string) => number({ about: `${about} In milliseconds.`, min: 0, max: latest });
const version = (about: string) => text({ about });
const objects = (about: string) => list(objectForm, { about });
const afterMs = optional(duration("How long after the answer to the watch began; 0 by default."));

export const config = record(
  {
    pageSize: optional(whole({ about: "The limit of a list; 500 by default.", min: 1, max: 5000 })),
    jitter: optional(
      number({
        about:
          "What chance says every time, from 0 (the default) to below 1: a wait of d becomes d × (1 + jitter), the time that " +
          "a watch asks for 300 s × (1 + jitter).",
        min: 0,
        max: 0.999_999,
      }),
    ),
    watchStallMs: optional(duration("A watch that is silent for so long is torn down; 90000 by default.")),
    bookmarkEveryMs: optional(
      duration("How often the server sends a bookmark by itself on an open watch; 60000 by default, 0 never."),
    ),
    startTime,
  },
  { about: "Parameters of the reflector, and of the server." },
);

const listAnswer = {
  resourceVersion: optional(version("Of the list; that of its newest object by default.")),
  items: optional(objects("Its objects.")),
  continue: optional(text({ about: "The token of the next page; the last page has none." })),
  pages: optional(
    list(objects("The objects of a page."), {
      about: "In place of items: so many answers, with continue tokens between them.",
    }),
  ),
  raw: optional(text({ about: "In place of all that: the whole body of the answer, with status 200." })),
  cutShort: optional(flag({ about: "The answer breaks off in the middle." })),
  takesMs: optional(duration("How long the answer takes to begin.")),
};

export type ListAnswer = RecordOf<typeof listAnswer>;

const watchEvent = tagged(
  "type",
  {
    ADDED: { object: objectForm, afterMs },
    MODIFIED: { object: objectForm, afterMs },
    DELETED: { object: objectForm, afterMs },
    BOOKMARK: { resourceVersion: version("Of the bookmark."), afterMs },
    ERROR: { error: errorForm, afterMs },
    RAW: { text: text({ about: "A line as it is." }), afterMs },
  },
  {
    ADDED: "An object appeared.",
    MODIFIED: "It changed.",
    DELETED: "It is gone; its last state.",
    BOOKMARK: "The watch has come so far.",
    ERROR: "The watch is broken off with a Status.",
    RAW: "Anything else: no JSON, another kind, half a line.",
  },
  { about: "An event of the stream." },
);

export type WatchEvent = FormOf<typeof watchEvent>;

const watchAnswer = {
  events: optional(list(watchEvent, { about: "The content of the stream, in order." })),
  endsAfterMs: optional(duration("When the stream ends; by default after the timeoutSeconds that were asked for.")),
  end: optional(
    choice(["close", "reset"], {
      about: "close (the default): as a server ends a watch. reset: the connection breaks.",
    }),
  ),
  bookmarks: optional(flag({ about: "False: the server sends no bookmarks by itself on this one." })),
  takesMs: optional(duration("How long the answer takes to begin.")),
};

export type WatchAnswer = RecordOf<typeof watchAnswer>;

const failing = {
  error: errorForm,
  times: optional(whole({ about: "To so many requests in a row; 1 by default.", min: 1, max: 100_000 })),
  takesMs: optional(duration("How long the answer takes to begin.")),
};

export type Failing = RecordOf<typeof failing>;

const answers = <M extends Parameters<typeof record>[0]>(members: M, about: string) =>
  either(
    [
      { ...record(failing, { about: "A failure." }), fits: (value: unknown) => hasError(value) },
      record(members, { about }),
    ],
    { about: "An answer." },
  );

const hasError = (value: unknown): boolean => typeof value === "object" && value !== null && "error" in value;

const lists = list(answers(listAnswer, "A list, or a page of it."), {
  about: "The answers to lists, one request each, in order. When they are used up the last list is answered again.",
});
const watches = list(answers(watchAnswer, "A watch that opens."), {
  about:
    "The answers to watches, one request each, in order. When they are used up a watch opens and says nothing but bookmarks.",
});

export const given = record(
  {
    lists: optional(lists),
    watches: optional(watches),
    stored: optional(
      record(
        { objects: objects("What is cached."), resourceVersion: version("The position of the watch.") },
        { about: "The state that an earlier run left on disk; by default none." },
      ),
    ),
  },
  { about: "The server's script. Without one it has an empty list at version 1, and watches that stay open." },
);

export const event = tagged(
  "do",
  {
    say: { events: list(watchEvent, { about: "Now; afterMs counts from now." }) },
    end: {
      end: optional(choice(["close", "reset"], { about: "As in the script of a watch; close by default." })),
    },
    answer: { lists: optional(lists), watches: optional(watches) },
    stop: {},
    restart: {},
    look: {},
  },
  {
    say: "The watch that is open says this.",
    end: "The watch that is open ends.",
    answer: "More answers, behind those that are not used up.",
    stop: "The process is told to stop, and stops.",
    restart: "The process stops, if it still runs, and starts again with what is on disk.",
    look: "Nothing: the case lasts at least until then, and the state is in the outcome.",
  },
  { about: "What happens." },
);

export type Config = FormOf<typeof config>;
export type Given = FormOf<typeof given>;
export type Event = FormOf<typeof event>;
