import { elapsed, type Instant, type Millis } from "../../../agent/base/clock.ts";
import type { KeyRange } from "../../../storage/revision-log.ts";
import type { LoggedChange } from "../objects/change-tail.ts";
import { Entry } from "../objects/object.ts";
import { rangeOf } from "../objects/object-store.ts";
import type { Call, Site } from "../requests/call.ts";
import { type ApiResponse, streamed } from "../requests/exchange.ts";
import { Failure, invalidOptions, tooLargeResourceVersion } from "../requests/failure.ts";
import { flagIn, isSelected, type ListSelection, numberIn, revisionIn, selectionIn } from "../requests/options.ts";
import { forbiddenField, type Problem, unsupportedValue } from "../requests/problems.ts";
import { itemsOf, tooOld } from "./list.ts";

const bookmarkEvery: Millis = 60_000;
/**
 * Time before its end at which a watch sends a last bookmark, so that a client that resumes there does not receive an
 * event twice.
 */
const lastBookmarkBefore: Millis = 2000;
/**
 * The shortest watch for a client that sets no timeout. The longest is twice this; the spread prevents all clients from
 * returning at the same time.
 */
const minWatchDuration: Millis = 30 * 60_000;
/** How many changes are read from the log, and written to the stream, at a time. */
const atATime = 200;
/**
 * How many revisions a reader may lag behind. The stream of a slower reader is ended, so that it resumes or lists
 * again.
 */
const maxBehind = 10_000;

export function watch(site: Site, call: Call): ApiResponse {
  const { kind, namespace, query, shown } = call;
  const selection = selectionIn(query, kind);
  const initial = initialEventsIn(query);
  const bookmarks = flagIn(query, "allowWatchBookmarks");
  const wanted = revisionIn(query);
  const revision = site.tail.revision;
  if (initial === true && wanted !== undefined && wanted > revision) throw tooLargeResourceVersion(wanted, revision);
  // Without a revision, or from revision 0, the current objects are sent first, as ADDED events.
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
    length: timeout > 0 ? timeout : minWatchDuration * (1 + site.random.next()),
    signal: AbortSignal.any([call.request.signal, site.closing]),
  });
  return streamed(200, stream.events(from, { listed, announced: listed && bookmarks }));
}

/** The parameter `sendInitialEvents`; undefined if the client leaves it to the resourceVersion. */
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

interface WatchOptions {
  readonly range: KeyRange;
  readonly resource: string;
  readonly selection: ListSelection;
  readonly shown: Call["shown"];
  readonly bookmarks: boolean;
  readonly begun: Instant;
  readonly length: Millis;
  readonly signal: AbortSignal;
}

/** One running watch: reads changes at its reader's pace, and holds only what it is sending. */
class Watch {
  readonly #site: Site;
  readonly #options: WatchOptions;
  /** The revision up to which every change relevant to the reader was sent. */
  #position = 0;
  /** True once the reader has caught up. After that, only its own pace matters, not how far back it started. */
  #caughtUp = false;
  #bookmarked: Instant;
  #lastBookmarkSent: boolean;

  constructor(site: Site, options: WatchOptions) {
    this.#site = site;
    this.#options = options;
    this.#bookmarked = options.begun;
    this.#lastBookmarkSent = options.length <= lastBookmarkBefore;
  }

  /** The events of the watch. `announced`: whether a bookmark marks the end of the initial objects. */
  async *events(
    from: number,
    { listed, announced }: { readonly listed: boolean; readonly announced: boolean },
  ): AsyncGenerator<string, void> {
    const { signal, bookmarks, shown } = this.#options;
    try {
      if (listed) yield* this.#initial(from);
      if (announced) yield event("BOOKMARK", shown.bookmark(from, true));
      this.#position = from;
      while (!signal.aborted && this.#left() > 0) {
        const changes = this.#next();
        if (changes === undefined) return;
        const lines = changes.flatMap((change) => this.#linesOf(change)).join("");
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
    const { range, selection, shown } = this.#options;
    for (const entry of itemsOf(this.#site.store, range, at)) {
      if (isSelected(selection, entry.object)) yield event("ADDED", shown.one(entry));
    }
  }

  /** Returns the next changes, if any, and advances. Undefined if the reader is too slow. */
  #next(): readonly LoggedChange[] | undefined {
    const { store, tail } = this.#site;
    const { range } = this.#options;
    const end = tail.revision;
    if (this.#caughtUp && end - this.#position > maxBehind) return undefined;
    // Checked even if the tail still has the changes, because compacted revisions are unavailable to all readers.
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

  /** A change as the reader sees it: an object that enters its selection is added, one that leaves it is deleted. */
  #linesOf({ before, after, deleted }: LoggedChange): readonly string[] {
    const { selection, shown } = this.#options;
    const was = before !== undefined && isSelected(selection, before.object);
    const is = !deleted && isSelected(selection, after.object);
    if (is) return [event(was ? "MODIFIED" : "ADDED", shown.one(after))];
    if (!was) return [];
    return [event("DELETED", shown.one(deleted ? after : lastSeen(before, after.revision)))];
  }

  #bookmark(): string {
    this.#bookmarked = this.#site.clock.now();
    this.#lastBookmarkSent ||= this.#left() <= lastBookmarkBefore;
    return event("BOOKMARK", this.#options.shown.bookmark(this.#position, false));
  }

  #bookmarkDue(): Millis {
    const regular = bookmarkEvery - elapsed(this.#bookmarked, this.#site.clock.now());
    return this.#lastBookmarkSent ? regular : Math.min(regular, this.#left() - lastBookmarkBefore);
  }

  #left(): Millis {
    return this.#options.length - elapsed(this.#options.begun, this.#site.clock.now());
  }

  /** Waits until the resource changes, a bookmark is due, or the watch ends. */
  #wait(): Promise<void> {
    const { clock, tail } = this.#site;
    const { signal, resource, bookmarks } = this.#options;
    // Changes that arrive while a bookmark is being built must not be missed.
    if (signal.aborted || tail.revision > this.#position) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        stopListening();
        signal.removeEventListener("abort", done);
        resolve();
      };
      // Without a wake-up, this resource has not changed, regardless of changes to others.
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

/** The last state that the reader saw, at the revision at which it left the selection. */
function lastSeen({ key, object }: Entry, revision: number): Entry {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return new Entry(key, revision, JSON.stringify({ ...object, metadata }));
}
