import type { KubeObject } from "../../api/meta.ts";
import { hintOf, sentenceOf } from "../../base/errors.ts";
import { ApiError, isGone, isInternalError, isNotFound, isTooLargeResourceVersion } from "../../client/api-error.ts";
import type { WatchEvent } from "../../client/watch-stream.ts";
import { StalledError } from "./stall-guard.ts";

/** A watch ended immediately, without an event. A correct server never does that at a position that it knows. */
export class ShortWatchError extends Error {
  override readonly name = "ShortWatchError";
  readonly disposition = "retry";
}

/** The watch sent data that is not an event. An event may have been lost, so the watch is reopened. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
  readonly disposition = "retry";
  readonly hint = "A proxy between this board and the API server may alter the responses: check it.";
}

/** The server has another history than the cache: replayed events differ from those received before. */
export class OtherHistoryError extends Error {
  override readonly name = "OtherHistoryError";
  readonly disposition = "relist";
}

/** Whether an event shows that the watch works. */
export const isUsable = ({ type }: WatchEvent<KubeObject>): boolean =>
  type !== "ERROR" && type !== "REJECTED" && type !== "UNREADABLE";

/** The server cannot list at the requested position, which is too old or in the server's future. */
export const isUnavailable = (error: unknown): boolean => isGone(error) || isTooLargeResourceVersion(error);

/**
 * Whether the position may mean nothing to the server, because it is in the server's future or has another format. If
 * the server objects to another part of the request, the list that follows fails in the same way.
 */
export const isMeaningless = (error: unknown): boolean =>
  isTooLargeResourceVersion(error) || (error instanceof ApiError && (error.status === 400 || error.status === 422));

/**
 * Whether a failure may come from a meaningless position; `events` is the number of events that the watch delivered. At
 * a position in the server's future (etcd was restored from a backup) a watch is silent, without even bookmarks, until
 * the server has caught up; to a position that is not a number, kube-apiserver 1.36 responds with an internal error.
 */
export const castsDoubt = (error: unknown, events: number): boolean =>
  events === 0 && (isInternalError(error) || error instanceof StalledError);

const notServed =
  "The API server does not serve this resource, because it is too old or the API group is disabled. Controllers that need it do not run.";

/** A hint for the operator; undefined if a retry may help. */
export const hintFor = (error: unknown): string | undefined => (isNotFound(error) ? notServed : hintOf(error));

/** The failure as the status shows it. */
export function problemOf(error: unknown): string {
  const hint = hintFor(error);
  return hint === undefined ? sentenceOf(error) : `${sentenceOf(error)}. ${hint}`;
}
