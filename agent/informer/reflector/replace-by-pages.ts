import type { KubeObject } from "../../api/meta.ts";
import { type Resource, resourceName } from "../../api/resources.ts";
import { type Clock, nextTurn } from "../../base/clock.ts";
import { isGone } from "../../client/api-error.ts";
import type { Unusable } from "../../client/decoding/list-intake.ts";
import type { ListOptions } from "../../client/kube-client.ts";
import { type ListingClient, Pages } from "../pages.ts";
import type { Selection } from "../scope.ts";
import { Batch } from "./batch.ts";

/** The part of a DeltaFIFO that a list uses: see the Replacement in storage/delta-fifo/list-replacement.ts. */
export interface ReplaceableStore<T> {
  replace(): {
    page(objects: readonly T[]): void;
    stageDeletions(): boolean;
    commit(resourceVersion: string): void;
    abort(): void;
  };
}

export interface Listing<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly client: ListingClient;
  readonly store: ReplaceableStore<T>;
  /** The object as stored; undefined if it is not kept. `put` writes the objects that were accepted before it. */
  readonly accepted: (object: T, put: () => void) => T | undefined;
  /** The state to keep of an object whose newest state cannot be used; undefined if the object was not stored. */
  readonly unread?: (item: Unusable<KubeObject>) => T | undefined;
  /** Called for each page with the number of its unusable objects of unknown identity, and some of the reasons. */
  readonly rejected: (why: readonly string[], count: number) => void;
}

/**
 * Replaces the store's content with the server's, page by page and batch by batch, so that no list is ever completely
 * in memory. `resourceVersion`: the oldest acceptable state, "" for the newest. `limit`: objects per page; undefined
 * for all in one page.
 *
 * Returns false, with the store unchanged, if the server's snapshot expired between two pages.
 */
export async function replaceByPages<T extends KubeObject>(
  clock: Clock,
  listing: Listing<T>,
  at: { readonly resourceVersion: string; readonly limit: number | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const { resource, selection, client, store, accepted, unread, rejected } = listing;
  const what = `list ${resourceName(resource)}`;
  const replacement = store.replace();
  const batch = new Batch<T>();
  const put = (): void => {
    const objects = batch.take();
    if (objects.length > 0) replacement.page(objects);
  };
  const keep = (kept: T | undefined): void => {
    if (kept === undefined) return;
    batch.add(kept, kept);
    if (batch.isFull) put();
  };
  const each = (object: T): void => keep(accepted(object, put));
  const options = (token: string | undefined): ListOptions => pageOptions(selection, at, token);
  const pages = new Pages(clock, { client, resource, options, each });
  // Always aborted at the end, because of a page that may have been requested in advance.
  const requests = new AbortController();
  const stop = (): void => requests.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  let next: string | undefined;
  let snapshot: string | undefined;
  try {
    signal.throwIfAborted();
    do {
      const page = await pages.take(next, requests.signal);
      const known = page.unusable ?? [];
      const others = page.rejected.filter((text) => !known.some(({ why }) => why === text));
      rejected(others, page.rejectedItems - known.length);
      for (const item of known) keep(unread?.(item));
      // All pages belong to the first page's snapshot.
      snapshot ??= page.resourceVersion;
      if (next !== undefined && page.continue === next) throw new Error(`${what}: the server sent the same page twice`);
      next = page.continue;
    } while (next !== undefined);
    if (snapshot === undefined || snapshot === "") throw new Error(`${what}: the response has no resourceVersion`);
    put();
    // Thousands of objects may be missing from the list, so the event loop runs between the steps.
    while (replacement.stageDeletions()) await nextTurn();
    signal.throwIfAborted();
    replacement.commit(snapshot);
    return true;
  } catch (error) {
    replacement.abort();
    if (next !== undefined && at.limit !== undefined && isGone(error)) return false;
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    requests.abort();
  }
}

/**
 * The options for a page. The match is explicit because with a limit, the server would take a bare resourceVersion as
 * an exact match for a version that it may just have compacted.
 */
function pageOptions(
  selection: Selection,
  { resourceVersion, limit }: { readonly resourceVersion: string; readonly limit: number | undefined },
  next: string | undefined,
): ListOptions {
  const size = limit === undefined ? {} : { limit };
  if (next !== undefined) return { ...selection, ...size, continue: next };
  return resourceVersion === ""
    ? { ...selection, ...size }
    : { ...selection, ...size, resourceVersion, resourceVersionMatch: "NotOlderThan" };
}
