import type { KubeObject } from "../api/meta.ts";
import type { Millis } from "../base/clock.ts";
import { hintOf } from "../base/errors.ts";
import { ApiError, isNotFound } from "../client/api-error.ts";
import type { WatchEvent } from "../client/watch-stream.ts";

/** A watch ended at once, without an event: no correct server does that at a position that it knows. */
export class ShortWatchError extends Error {
  override readonly name = "ShortWatchError";
  readonly disposition = "retry";
}

/** The watch sent something that is not an event: which one was lost is unknown, so it is requested again. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
  readonly disposition = "retry";
  readonly hint = "Something between here and the API server changes what it says: look at proxies on the way.";
}

/** The replayed events differ from the earlier ones: from there on the server has another history. */
export class OtherHistoryError extends Error {
  override readonly name = "OtherHistoryError";
  readonly disposition = "relist";
}

/** Other events alone do not show that the watch works. */
export const isUsable = ({ type }: WatchEvent<KubeObject>): boolean =>
  type !== "ERROR" && type !== "REJECTED" && type !== "UNREADABLE";

/** For a collection that the API server does not serve: the message, and the wait before the next attempt. */
const notServed =
  "The API server does not serve it: it is too old, or the API group is turned off there; what needs it does not run";
const pauseWhereNotServed: Millis = 60_000;
const longestRetryAfter: Millis = 300_000;

/** The action an operator can take, if there is one. */
export const hintFor = (error: unknown): string | undefined => (isNotFound(error) ? notServed : hintOf(error));

/** Minimum wait before the next request: the server's Retry-After, and longer if it does not serve the collection. */
export function pauseAfter(error: unknown): Millis {
  const wanted = error instanceof ApiError ? Math.min(error.retryAfter ?? 0, longestRetryAfter) : 0;
  return Math.max(wanted, isNotFound(error) ? pauseWhereNotServed : 0);
}
