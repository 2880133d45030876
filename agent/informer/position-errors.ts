import { ApiError, isGone, isInternalError, isTooLargeResourceVersion } from "../client/api-error.ts";
import { StalledError } from "./stall-guard.ts";

/** The server cannot list at the position we asked for: it is too old, or in the server's future. */
export const isUnavailable = (error: unknown): boolean => isGone(error) || isTooLargeResourceVersion(error);

/**
 * Our position means nothing to the server: it is in its future, or no position at all to this kind of server. If the
 * complaint is about something else in the request, the list that follows fails in the same way.
 */
export const isMeaningless = (error: unknown): boolean =>
  isTooLargeResourceVersion(error) || (error instanceof ApiError && (error.status === 400 || error.status === 422));

/**
 * A watch that fails like this may have been asked for from a position that means nothing, without saying so. From a
 * position in the server's future (etcd was restored from a backup) it is silent, without even bookmarks, until the
 * server has caught up; to one that is no number kube-apiserver 1.36 answers with an internal error.
 */
export const castsDoubt = (error: unknown, events: number): boolean =>
  events === 0 && (isInternalError(error) || error instanceof StalledError);
