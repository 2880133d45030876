import type { KeyRange } from "../../../storage/revision-log.ts";
import type { Entry } from "../objects/object.ts";
import { type ObjectStore, rangeOf } from "../objects/object-store.ts";
import type { Call, Site } from "../requests/call.ts";
import { continueToken, readToken } from "../requests/continue-token.ts";
import { type ApiResponse, response, streamed } from "../requests/exchange.ts";
import { badRequest, expired, invalidOptions, tooLargeResourceVersion } from "../requests/failure.ts";
import {
  isEverything,
  isSelected,
  type ListSelection,
  numberIn,
  selectionIn,
  versionWishIn,
} from "../requests/options.ts";
import { forbiddenField } from "../requests/problems.ts";

/** How many objects are read from the log at a time. */
const atATime = 200;
/** Size above which a page with a limit ends early, because it is built in memory. */
const maxPageCharacters = 8 * 1024 * 1024;

export function list(site: Site, call: Call): ApiResponse {
  const { query, kind } = call;
  if (query.has("sendInitialEvents")) {
    throw invalidOptions("ListOptions", [
      forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"),
    ]);
  }
  const selection = selectionIn(query, kind);
  // The timeout is only validated, because a list finishes long before any client's time limit.
  numberIn(query, "timeoutSeconds");
  const { at, limit, after } = startOf(site.store, query);
  if (limit === undefined) return listOf(site, call, selection, at, after);
  return limitedList(site.store, call, selection, { at, limit, after });
}

interface Start {
  readonly at: number;
  readonly limit: number | undefined;
  /** The key after which a continued list resumes. */
  readonly after: string | undefined;
}

/** The listed state, and its first key. */
function startOf(store: ObjectStore, query: URLSearchParams): Start {
  const { revision, match } = versionWishIn(query);
  const wanted = numberIn(query, "limit") ?? 0;
  const limit = wanted > 0 ? wanted : undefined;
  const newest = store.revision;
  const token = query.get("continue") ?? "";
  if (token !== "") {
    if (revision !== undefined && revision !== 0) {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    const { at, after } = readToken(token);
    if (at !== undefined && at < store.compacted) {
      throw expired(
        "The provided continue parameter is too old to display a consistent list result. Start a new list, or continue with the token in this response, which lists the rest in its current state.",
        continueToken(undefined, after),
      );
    }
    if (at !== undefined && at > newest) throw tooLargeResourceVersion(at, newest);
    return { at: at ?? newest, limit, after };
  }
  if (revision !== undefined && revision > newest) throw tooLargeResourceVersion(revision, newest);
  // A list that accepts any state returns everything in one response, regardless of the limit, as a real server does
  // from its cache.
  if (revision === 0) return { at: newest, limit: undefined, after: undefined };
  if (revision === undefined || (match !== "Exact" && (match === "NotOlderThan" || limit === undefined))) {
    return { at: newest, limit, after: undefined };
  }
  if (revision < store.compacted) throw tooOld(revision, store.compacted);
  return { at: revision, limit, after: undefined };
}

export const tooOld = (revision: number, oldest: number) =>
  expired(`too old resource version: ${revision} (${oldest})`);

function rangeFrom({ kind, namespace }: Call, { name }: ListSelection, after: string | undefined): KeyRange {
  // A name without its namespace is not a key.
  const exact = name !== undefined && (namespace !== undefined || !kind.namespaced);
  const range = exact ? rangeOf(kind, namespace, name) : rangeOf(kind, namespace);
  return after === undefined || after < range.from ? range : { from: `${after}\0`, to: range.to };
}

/** The list of everything that is selected at a revision, read while it is being sent. */
export function listOf({ store }: Site, call: Call, selection: ListSelection, at: number, after?: string): ApiResponse {
  const { shown } = call;
  const range = rangeFrom(call, selection, after);
  function* parts(): Generator<string, void> {
    yield shown.listHead(JSON.stringify({ resourceVersion: String(at) }));
    let separator = "";
    for (const entries of pagesOf(store, range, at)) {
      const items = selected(entries, selection).map((entry) => shown.item(entry));
      if (items.length > 0) yield separator + items.join(",");
      if (items.length > 0) separator = ",";
    }
    yield "]}";
  }
  return streamed(200, parts());
}

function limitedList(
  store: ObjectStore,
  call: Call,
  selection: ListSelection,
  { at, limit, after }: Start & { readonly limit: number },
): ApiResponse {
  const { shown } = call;
  const range = rangeFrom(call, selection, after);
  const items: string[] = [];
  let characters = 0;
  let last: string | undefined;
  let more = false;
  for (const entry of itemsOf(store, range, at)) {
    if (items.length === limit || characters > maxPageCharacters) {
      more = true;
      break;
    }
    last = entry.key;
    if (!isSelected(selection, entry.object)) continue;
    const item = shown.item(entry);
    items.push(item);
    characters += item.length;
  }
  const rest = more && isEverything(selection) ? store.count({ from: `${last}\0`, to: range.to }, at) : undefined;
  const metadata = {
    resourceVersion: String(at),
    ...(more && last !== undefined && { continue: continueToken(at, last) }),
    ...(rest !== undefined && { remainingItemCount: rest }),
  };
  return response(200, `${shown.listHead(JSON.stringify(metadata))}${items.join(",")}]}`);
}

const selected = (entries: readonly Entry[], selection: ListSelection): readonly Entry[] =>
  isEverything(selection) ? entries : entries.filter(({ object }) => isSelected(selection, object));

/**
 * The entries of a range at a revision, in batches. A list is sent within a minute and history is kept longer, so
 * compaction should not overtake a reader; if it does, the reader gets an error instead of a list with gaps.
 */
function* pagesOf(store: ObjectStore, range: KeyRange, at: number): Generator<readonly Entry[], void> {
  let { from } = range;
  for (;;) {
    if (at < store.compacted) throw tooOld(at, store.compacted);
    const entries = store.page({ from, to: range.to }, at, atATime);
    yield entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < atATime) return;
    from = `${last.key}\0`;
  }
}

export function* itemsOf(store: ObjectStore, range: KeyRange, at: number): Generator<Entry, void> {
  for (const entries of pagesOf(store, range, at)) yield* entries;
}
