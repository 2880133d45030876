import { isJsonObject, textAt, valueAt, withMember } from "../../../agent/api/json.ts";
import { type Event, nameOf, versionOf } from "../watch-stream.ts";
import { each, type Mutant, meddles, tells } from "./mutant.ts";

const uidOf = ({ object }: Event): string => textAt(object, "metadata", "uid");

/** The event with changed metadata. */
function withMetadata(event: Event, change: Readonly<Record<string, string>>): Event {
  const metadata = valueAt(event.object, "metadata");
  return {
    ...event,
    object: { ...event.object, metadata: { ...(isJsonObject(metadata) ? metadata : {}), ...change } },
  };
}

/** Swaps two matching neighbours. */
const swapped = (fits: (one: Event, next: Event) => boolean): Mutant["made"] =>
  tells(async function* (events) {
    let held: Event | undefined;
    for await (const event of events) {
      if (held === undefined) {
        // An event may be held back only if another one is sure to follow.
        if (event.type === "MODIFIED") held = event;
        else yield event;
        continue;
      }
      const pair = fits(held, event) ? [event, held] : [held, event];
      held = undefined;
      yield* pair;
    }
    if (held !== undefined) yield held;
  });

const bookmarks = (change: (event: Event) => readonly Event[]): Mutant["made"] =>
  each((event) => (event.type === "BOOKMARK" ? change(event) : [event]));

const shifted = (event: Event, by: bigint): Event =>
  withMetadata(event, { resourceVersion: String(BigInt(versionOf(event)) + by) });

/** Servers whose watches differ from the actual changes. */
export const watchMutants: readonly Mutant[] = [
  {
    does: "drops one event",
    breaks: ["watch-order", "watch-late", "watch-burst"],
    made: each((event, i) => (i === 6 ? [] : [event])),
  },
  {
    does: "drops one event in a hundred",
    breaks: ["watch-burst"],
    made: each((event, i) => (i % 100 === 99 ? [] : [event])),
  },
  {
    does: "drops the first event of a watch",
    breaks: ["watch-resume", "watch-from-list", "watch-no-change", "initial-events-none", "compacted-watch-goes-on"],
    made: each((event, i) => (i === 0 && event.type !== "ERROR" ? [] : [event])),
  },
  {
    does: "drops deletions",
    breaks: ["watch-order", "watch-resume-deleted", "watch-one", "delete-grace", "finalizer"],
    made: each((event) => (event.type === "DELETED" ? [] : [event])),
  },
  {
    does: "sends an event twice",
    breaks: ["watch-order", "watch-one", "watch-objects"],
    made: each((event, i) => (i === 1 ? [event, event] : [event])),
  },
  {
    does: "repeats the last event to a resumed watch",
    breaks: ["watch-resume"],
    made: repeating(),
  },
  {
    does: "swaps two events of one object",
    breaks: ["watch-order"],
    made: swapped((one, next) => uidOf(one) === uidOf(next)),
  },
  {
    does: "swaps two events of different objects",
    breaks: ["watch-order", "watch-burst"],
    made: swapped((one, next) => uidOf(one) !== uidOf(next)),
  },
  { does: "sends only the last of several changes", breaks: ["watch-order", "lease-renewal"], made: coalescing() },
  {
    does: "calls changes additions",
    breaks: ["watch-order", "watch-from-any"],
    made: each((event) => [event.type === "MODIFIED" ? { ...event, type: "ADDED" } : event]),
  },
  { does: "sends a change with the former state", breaks: ["watch-objects", "lease-renewal"], made: stale() },
  {
    does: "sends a deletion with the former version",
    breaks: ["watch-objects", "watch-order"],
    made: staleDeletion(),
  },
  {
    does: "sends only the name of a deleted object",
    breaks: ["watch-objects", "watch-left"],
    made: each((event) => [
      event.type === "DELETED"
        ? {
            ...event,
            object: {
              kind: "Lease",
              apiVersion: "v1",
              metadata: { name: nameOf(event), resourceVersion: versionOf(event) },
            },
          }
        : event,
    ]),
  },
  {
    does: "sends MODIFIED for an object that leaves a selection",
    breaks: ["watch-selected", "watch-left"],
    made: each((event) => [event.type === "DELETED" ? { ...event, type: "MODIFIED" } : event]),
  },
  { does: "sends MODIFIED for a recreated object", breaks: ["watch-anew", "watch-order"], made: merging() },
  {
    does: "sends bookmarks ahead of the events",
    breaks: ["bookmark-complete"],
    made: bookmarks((event) => [shifted(event, 40n)]),
  },
  {
    does: "sends bookmarks a little ahead of the events",
    breaks: ["bookmark-complete"],
    made: bookmarks((event) => [shifted(event, 1n)]),
  },
  {
    does: "sends a bookmark before the event that it covers",
    breaks: ["bookmark-complete", "bookmark-position"],
    made: early(),
  },
  {
    does: "sends bookmarks from the beginning",
    breaks: ["bookmark-complete", "bookmark-position"],
    made: bookmarks((event) => [withMetadata(event, { resourceVersion: "1" })]),
  },
  {
    does: "sends bookmarks without a version",
    breaks: ["bookmark-shape"],
    made: bookmarks((event) => [withMetadata(event, { resourceVersion: "" })]),
  },
  {
    does: "sends bookmarks without a kind",
    breaks: ["bookmark-shape"],
    made: bookmarks((event) => [{ ...event, object: withMember(event.object, "kind", undefined) }]),
  },
  {
    does: "does not mark the end of initial events",
    breaks: ["initial-events", "initial-events-empty"],
    made: bookmarks((event) => [
      { ...event, object: withMember(event.object, "metadata", { resourceVersion: versionOf(event) }) },
    ]),
  },
  { does: "sends events of other namespaces", breaks: ["watch-scope"], made: leaking() },
  { does: "writes two events into one line", breaks: ["watch-order", "watch-scope"], made: crammed() },
  { does: "sends different events to two watches", breaks: ["watch-two"], made: unequal() },
  {
    does: "sends events for writes without a change",
    breaks: ["watch-no-change"],
    made: each((event, i) => (i === 0 && event.type === "ADDED" ? [{ ...event, type: "MODIFIED" }, event] : [event])),
  },
  {
    does: "drops a single event of a board",
    breaks: ["each-watched"],
    made: each((event, i) => (textAt(event.object, "kind") === "Node" && i === 4 ? [] : [event])),
  },
  {
    does: "sends status changes late",
    breaks: ["watch-boards"],
    made: each((event) =>
      event.type === "MODIFIED" && valueAt(event.object, "status", "conditions") !== undefined ? [] : [event],
    ),
  },
  {
    does: "sends whole objects in a watch of tables",
    breaks: ["table-watch"],
    made: each((event) => [{ ...event, object: withMember(event.object, "kind", "Lease") }]),
  },
];

function repeating(): Mutant["made"] {
  const lastEvents = new Map<string, Event>();
  return tells(async function* (events, { query }) {
    const last = lastEvents.get(query.get("resourceVersion") ?? "");
    if (last !== undefined) yield last;
    for await (const event of events) {
      lastEvents.set(versionOf(event), event);
      yield event;
    }
  });
}

function coalescing(): Mutant["made"] {
  return tells(async function* (events) {
    let skipped = 0;
    for await (const event of events) if (event.type !== "MODIFIED" || skipped++ % 3 !== 1) yield event;
  });
}

function stale(): Mutant["made"] {
  return tells(async function* (events) {
    const known = new Map<string, Event>();
    for await (const event of events) {
      const before = known.get(uidOf(event));
      known.set(uidOf(event), event);
      const shown =
        event.type === "MODIFIED" && before !== undefined ? { type: "MODIFIED", object: before.object } : event;
      yield withMetadata(shown, { resourceVersion: versionOf(event) });
    }
  });
}

function staleDeletion(): Mutant["made"] {
  return tells(async function* (events) {
    const known = new Map<string, string>();
    for await (const event of events) {
      const version = known.get(uidOf(event));
      known.set(uidOf(event), versionOf(event));
      yield event.type === "DELETED" && version !== undefined
        ? withMetadata(event, { resourceVersion: version })
        : event;
    }
  });
}

/** Merges a deletion and a new creation into one change. */

function merging(): Mutant["made"] {
  return tells(async function* (events) {
    const gone = new Set<string>();
    for await (const event of events) {
      if (event.type === "DELETED") gone.add(nameOf(event));
      else if (event.type === "ADDED" && gone.delete(nameOf(event))) yield { ...event, type: "MODIFIED" };
      else yield event;
    }
  });
}

/** Holds back an event until after the bookmark that covers it. */

function early(): Mutant["made"] {
  return tells(async function* (events) {
    let held: Event | undefined;
    let i = 0;
    for await (const event of events) {
      if (event.type === "BOOKMARK") {
        yield event;
        if (held !== undefined) yield held;
        held = undefined;
      } else if (i++ === 0) held = event;
      else yield event;
    }
  });
}

function leaking(): Mutant["made"] {
  return (handle) => (request) =>
    handle(
      request.path.includes("watch=true")
        ? { ...request, path: request.path.replace(/\/namespaces\/[^/]+/, "") }
        : request,
    );
}

function crammed(): Mutant["made"] {
  return meddles(async (handle, request, { isWatch }) => {
    const response = await handle(request);
    if (!isWatch) return response;
    const body = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const part of response.body) yield Buffer.from(Buffer.from(part).toString().replaceAll("\n", ""));
    };
    return { ...response, body: body() };
  });
}

/** Every second watch gets one event less. */

function unequal(): Mutant["made"] {
  let watches = 0;
  return tells(async function* (events) {
    const loses = watches++ % 2 === 1;
    let i = 0;
    for await (const event of events) if (!(loses && i++ === 3)) yield event;
  });
}
