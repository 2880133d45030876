import { type Clock, deadline, type Millis } from "./clock.ts";
import type { HasDisposition } from "./errors.ts";

/**
 * The pass ran out of time while its request waited for a free slot, or the safety valve holds the act. Nothing was
 * sent and nothing has failed; a later pass decides again.
 */
export class PostponedError extends Error implements HasDisposition {
  override readonly name: string = "PostponedError";
  readonly disposition = "refresh";
}

/** Also true for an action that was not attempted because an earlier action on the same object was postponed. */
export const isPostponed = (error: Error): boolean =>
  error instanceof PostponedError || error.cause instanceof PostponedError;

/**
 * Runs the work with a signal that aborts after `patience` (with a PostponedError) or together with `parent`. Without
 * `patience` there is no time limit.
 */
export async function patiently<T>(
  clock: Clock,
  patience: Millis | undefined,
  parent: AbortSignal,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  if (patience === undefined) return await work(parent);
  const limit = deadline(
    clock,
    patience,
    parent,
    () => new PostponedError("the time of this pass ran out before the request was sent"),
  );
  try {
    return await work(limit.signal);
  } finally {
    limit.dispose();
  }
}
