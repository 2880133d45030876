import { elapsed, type Instant, type Millis } from "../../agent/base/clock.ts";
import type { KeyRange } from "../../storage/revision-log.ts";
import type { Call, Site } from "./call.ts";
import type { Change } from "./change-tail.ts";
import { type ApiResponse, streamed } from "./exchange.ts";
import { Failure, invalidOptions, tooLargeResourceVersion } from "./failure.ts";
import { itemsOf, tooOld } from "./list.ts";
import { Entry } from "./object.ts";
import { rangeOf } from "./object-store.ts";
import { flagIn, isSelected, numberIn, revisionIn, type Selection, selectionIn } from "./options.ts";
import { forbiddenField, type Problem, unsupportedValue } from "./problems.ts";

const bookmarkEvery: Millis = 60_000;
/** So long before its end a watch says once more how far it is: who resumes is not told again what it knows. */
const lastBookmarkBefore: Millis = 2000;
/** Where the client names no end, a watch ends between this and twice this, so that not all come back at once. */
const shortestWatch: Millis = 30 * 60_000;
/** Changes that are read from the log, and written to the stream, at a time. */
const atATime = 200;
/** Who is further behind than this does not keep up. The stream ends, and its reader resumes or lists again. */
const mostBehind = 10_000;

export function watch(site: Site, call: Call): ApiResponse {
  const { kind, namespace, query, shown } = call;
  const selection = selectionIn(query, kind);
  const initial = initialEventsIn(query);
  const bookmarks = flagIn(query, "allowWatchBookmarks");
  const wanted = revisionIn(query);
  const revision = site.tail.revision;
  if (initial === true && wanted !== undefined && wanted > revision) throw tooLargeResourceVersion(wanted, revision);
  // From no revision, or from any: first what is there, as ADDED events.
  const listed = initial ?? (wanted === undefined || wanted === 0);
  const from = listed || wanted === undefined || wanted === 0 ? revision : wanted;
  const timeout = (numberIn(query, "timeoutSeconds") ?? 0) * 1000;
  const begun = site.clock.now();
  const stream = new Watch(site, {
    range: rangeOf(kind, namespace, namespace !== undefined || !kind.namespaced ? selection.name : undefined),
    resource: kind.plural,
    selection,
    shown,
    bookmarks,
    begun,
    length: timeout > 0 ? timeout : shortestWatch * (1 + site.random.next()),
    signal: AbortSignal.any([call.request.signal, site.closing]),
  });
  return streamed(200, stream.events(from, { listed, announced: listed && bookmarks }));
}

/** `sendInitialEvents`; undefined where the client leaves it to the resourceVersion. */
function initialEventsIn(query: URLSearchParams): boolean | undefined {
  const match = query.get("resourceVersionMatch") ?? "";
  const problems: Problem[] = [];
  if (!query.has("sendInitialEvents")) {
    if (match === "") return undefined;
    const why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    problems.push(forbiddenField("resourceVersionMatch", why));
  }
  if (match === "") {
    const why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    problems.push(forbiddenField("resourceVersionMatch", why));
  } else if (match !== "NotOlderThan") {
    problems.push(unsupportedValue("resourceVersionMatch", match, ["NotOlderThan"]));
  }
  if (problems.length > 0) throw invalidOptions("ListOptions", problems);
  return flagIn(query, "sendInitialEvents");
}

interface Parts {
  readonly range: KeyRange;
  readonly resource: string;
  readonly selection: Selection;
  readonly shown: Call["shown"];
  readonly bookmarks: boolean;
  readonly begun: Instant;
  readonly length: Millis;
  readonly signal: AbortSignal;
}

/** One running watch: pulls changes as fast as its reader takes them, and holds no more than it is sending. */
class Watch {
  readonly #site: Site;
  readonly #parts: Parts;
  /** Every change up to here that concerns the reader was sent. */
  #position = 0;
  /** From here on it is the reader's own pace that counts, not how far back it asked to begin. */
  #caughtUp = false;
  #bookmarked: Instant;
  #lastBookmarkSent: boolean;

  constructor(site: Site, parts: Parts) {
    this.#site = site;
    this.#parts = parts;
    this.#bookmarked = parts.begun;
    this.#lastBookmarkSent = parts.length <= lastBookmarkBefore;
  }

  /** `announced`: a bookmark says where what was there ends and what happens begins. */
  async *events(
    from: number,
    { listed, announced }: { readonly listed: boolean; readonly announced: boolean },
  ): AsyncGenerator<string, void> {
    const { signal, bookmarks, shown } = this.#parts;
    try {
      if (listed) yield* this.#initial(from);
      if (announced) yield event("BOOKMARK", shown.bookmark(from, true));
      this.#position = from;
      while (!signal.aborted && this.#left() > 0) {
        const changes = this.#next();
        if (changes === undefined) return;
        const lines = changes.flatMap((change) => this.#told(change)).join("");
        if (lines !== "") yield lines;
        if (bookmarks && this.#bookmarkDue() <= 0) yield this.#bookmark();
        if (changes.length === 0) await this.#wait();
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      yield event("ERROR", JSON.stringify(error.status()));
    }
  }

  *#initial(at: number): Generator<string, void> {
    const { range, selection, shown } = this.#parts;
    for (const entry of itemsOf(this.#site.store, range, at)) {
      if (isSelected(selection, entry.object)) yield event("ADDED", shown.one(entry));
    }
  }

  /** The changes that come next, and moves on; empty: there are none. Undefined for a reader who does not keep up. */
  #next(): readonly Change[] | undefined {
    const { store, tail } = this.#site;
    const { range } = this.#parts;
    const end = tail.revision;
    if (this.#caughtUp && end - this.#position > mostBehind) return undefined;
    // Also where the tail would still know: what is forgotten is forgotten for everybody.
    if (this.#position < store.compacted) throw tooOld(this.#position, store.compacted);
    const recent = tail.after(this.#position);
    if (recent !== undefined) {
      this.#position = Math.max(end, this.#position);
      this.#caughtUp = true;
      return recent.filter(({ after: { key } }) => key >= range.from && key < range.to);
    }
    const changes = store.after(this.#position, range, atATime);
    this.#position = changes.length === atATime ? (changes.at(-1)?.after.revision ?? end) : end;
    return changes;
  }

  /** What of a change the reader sees: an object that comes into its selection is new to it, one that leaves is gone. */
  #told({ before, after, deleted }: Change): readonly string[] {
    const { selection, shown } = this.#parts;
    const was = before !== undefined && isSelected(selection, before.object);
    const is = !deleted && isSelected(selection, after.object);
    if (is) return [event(was ? "MODIFIED" : "ADDED", shown.one(after))];
    if (!was) return [];
    return [event("DELETED", shown.one(deleted ? after : lastSeen(before, after.revision)))];
  }

  #bookmark(): string {
    this.#bookmarked = this.#site.clock.now();
    this.#lastBookmarkSent ||= this.#left() <= lastBookmarkBefore;
    return event("BOOKMARK", this.#parts.shown.bookmark(this.#position, false));
  }

  #bookmarkDue(): Millis {
    const regular = bookmarkEvery - elapsed(this.#bookmarked, this.#site.clock.now());
    return this.#lastBookmarkSent ? regular : Math.min(regular, this.#left() - lastBookmarkBefore);
  }

  #left(): Millis {
    return this.#parts.length - elapsed(this.#parts.begun, this.#site.clock.now());
  }

  /** Until something of the resource changes, a bookmark is due, or the watch ends. */
  #wait(): Promise<void> {
    const { clock, tail } = this.#site;
    const { signal, resource, bookmarks } = this.#parts;
    // What happened while a bookmark was being taken is not to be slept over.
    if (signal.aborted || tail.revision > this.#position) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        stopListening();
        signal.removeEventListener("abort", done);
        resolve();
      };
      // While nobody wakes us, nothing of the resource happens, whatever else does.
      const longest = bookmarks ? Math.min(this.#left(), this.#bookmarkDue()) : this.#left();
      const timer = clock.after(Math.max(0, longest), () => {
        this.#position = Math.max(this.#position, tail.revision);
        done();
      });
      const stopListening = tail.onChange(resource, (revision) => {
        this.#position = Math.max(this.#position, revision - 1);
        done();
      });
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

const event = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`;

/** The state that a reader knew, at the revision at which it went out of its sight. */
function lastSeen({ key, object }: Entry, revision: number): Entry {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return new Entry(key, revision, JSON.stringify({ ...object, metadata }));
}
