import type { KubeObject } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import { type Clock, nextTurn } from "../base/clock.ts";
import { isGone } from "../client/api-error.ts";
import type { ListOptions } from "../client/kube-client.ts";
import { type ListingClient, Pages } from "./pages.ts";
import type { Selection } from "./scope.ts";

/** The part of a DeltaFIFO that a list uses. Readers see nothing of a replacement before its commit. */
export interface ReplaceableStore<T> {
  replace(): {
    page(objects: readonly T[]): void;
    bury(): boolean;
    commit(resourceVersion: string): void;
    abort(): void;
  };
}

export interface Listing<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly client: ListingClient;
  readonly store: ReplaceableStore<T>;
  /** The object as stored; undefined if it is not kept. */
  readonly accepted: (object: T) => T | undefined;
  /** Reports the number of unusable objects, with some of the reasons. */
  readonly rejected: (why: readonly string[], count: number) => void;
}

const batchSize = 64;

/**
 * Replaces the store's content by the server's, page by page and 64 objects at a time, so that no list is ever in
 * memory as a whole. `resourceVersion`: the oldest acceptable state, "" for the newest; without `limit` in one page.
 *
 * False: the snapshot expired between two pages, and nothing was changed.
 */
export async function replaceByPages<T extends KubeObject>(
  clock: Clock,
  listing: Listing<T>,
  at: { readonly resourceVersion: string; readonly limit: number | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const { resource, selection, client, store, accepted, rejected } = listing;
  const what = `list ${resourceName(resource)}`;
  const replacement = store.replace();
  const batch: T[] = [];
  const put = (): void => {
    if (batch.length > 0) replacement.page(batch.splice(0));
  };
  const each = (object: T): void => {
    const kept = accepted(object);
    if (kept === undefined) return;
    batch.push(kept);
    if (batch.length === batchSize) put();
  };
  const options = (token: string | undefined): ListOptions => pageOptions(selection, at, token);
  const pages = new Pages(clock, { client, resource, options, each });
  const asking = new AbortController();
  const stop = (): void => asking.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  let next: string | undefined;
  let snapshot: string | undefined;
  try {
    signal.throwIfAborted();
    do {
      const page = await pages.take(next, asking.signal);
      rejected(page.rejected, page.rejectedItems);
      // All pages belong to the first page's snapshot.
      snapshot ??= page.resourceVersion;
      if (next !== undefined && page.continue === next) throw new Error(`${what}: the server sent one page twice`);
      next = page.continue;
    } while (next !== undefined);
    if (snapshot === undefined || snapshot === "") throw new Error(`${what}: the answer names no resourceVersion`);
    put();
    // Thousands of objects may be gone, so yield to the event loop between the steps.
    while (replacement.bury()) await nextTurn();
    signal.throwIfAborted();
    replacement.commit(snapshot);
    return true;
  } catch (error) {
    replacement.abort();
    if (next !== undefined && at.limit !== undefined && isGone(error)) return false;
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    asking.abort();
  }
}

/** With a limit, the server reads a bare resourceVersion as an exact match, which it may just have compacted. */
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
