import { ApiError, isGone, isInternalError, isTooLargeResourceVersion } from "../client/api-error.ts";
import { StalledError } from "./stall-guard.ts";

/** The server cannot list at the requested position: it is too old, or in the server's future. */
export const isUnavailable = (error: unknown): boolean => isGone(error) || isTooLargeResourceVersion(error);

/**
 * Our position means nothing to the server: it is in the server's future, or not a position of this kind of server. If
 * the error concerns something else in the request, the list that follows fails in the same way.
 */
export const isMeaningless = (error: unknown): boolean =>
  isTooLargeResourceVersion(error) || (error instanceof ApiError && (error.status === 400 || error.status === 422));

/**
 * True for failures that may come from a meaningless position. At a position in the server's future (etcd was restored
 * from a backup) a watch is silent, without even bookmarks, until the server has caught up; kube-apiserver 1.36 answers
 * a position that is not a number with an internal error.
 */
export const castsDoubt = (error: unknown, events: number): boolean =>
  events === 0 && (isInternalError(error) || error instanceof StalledError);
