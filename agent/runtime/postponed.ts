import type { Disposed } from "../base/errors.ts";

/**
 * The patience of a pass ended before the request had its turn: nothing was sent, and nothing failed. Whoever decided on
 * it decides anew in a later pass.
 */
export class PostponedError extends Error implements Disposed {
  override readonly name = "PostponedError";
  readonly disposition = "refresh";
}

/** Also what was not attempted because an earlier act on the same object was postponed. */
export const isPostponed = (error: Error): boolean =>
  error instanceof PostponedError || error.cause instanceof PostponedError;
