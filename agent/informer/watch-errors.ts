import type { KubeObject } from "../api/meta.ts";
import type { Millis } from "../base/clock.ts";
import { hintOf } from "../base/errors.ts";
import { ApiError, isNotFound } from "../client/api-error.ts";
import type { WatchEvent } from "../client/watch-stream.ts";

/** A watch that ended at once, without a word: no server that means well does that to a position that it knows. */
export class ShortWatchError extends Error {
  override readonly name = "ShortWatchError";
  readonly disposition = "retry";
}

/** What came over the watch is no event: which one was lost is not known, and it is asked for again. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
  readonly disposition = "retry";
  readonly hint = "Something between here and the API server changes what it says: look at proxies on the way.";
}

/** What the watch says again is not what it said before: the server's history is another one from there on. */
export class OtherHistoryError extends Error {
  override readonly name = "OtherHistoryError";
  readonly disposition = "relist";
}

/** A watch that says nothing else has said nothing. */
export const isUsable = ({ type }: WatchEvent<KubeObject>): boolean =>
  type !== "ERROR" && type !== "REJECTED" && type !== "UNREADABLE";

/** What is said of a collection that the API server does not know, and how soon it is asked for again. */
const notServed =
  "The API server does not serve it: it is too old, or the API group is turned off there; what needs it does not run";
const pauseWhereNotServed: Millis = 60_000;
const longestRetryAfter: Millis = 300_000;

/** What a person can do about it, where there is something. */
export const hintFor = (error: unknown): string | undefined => (isNotFound(error) ? notServed : hintOf(error));

/** How long the server is left alone at least: as long as it wants, and longer where it does not know the collection. */
export function pauseAfter(error: unknown): Millis {
  const wanted = error instanceof ApiError ? Math.min(error.retryAfter ?? 0, longestRetryAfter) : 0;
  return Math.max(wanted, isNotFound(error) ? pauseWhereNotServed : 0);
}
