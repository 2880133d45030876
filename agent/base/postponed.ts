import { type Clock, deadline, type Millis } from "./clock.ts";
import type { HasDisposition } from "./errors.ts";

/**
 * The patience of a pass ended before the request had its turn: nothing was sent, and nothing failed. A later pass
 * decides again.
 */
export class PostponedError extends Error implements HasDisposition {
  override readonly name = "PostponedError";
  readonly disposition = "refresh";
}

/** True also for actions not attempted because an earlier one on the same object was postponed. */
export const isPostponed = (error: Error): boolean =>
  error instanceof PostponedError || error.cause instanceof PostponedError;

/** Runs the work with a signal that aborts when the patience ends, or with `parent`. Undefined: unlimited patience. */
export async function patiently<T>(
  clock: Clock,
  patience: Millis | undefined,
  parent: AbortSignal,
  work: (patience: AbortSignal) => T | Promise<T>,
): Promise<T> {
  if (patience === undefined) return await work(parent);
  const limit = deadline(clock, patience, parent, () => new PostponedError("no time was left for it in this pass"));
  try {
    return await work(limit.signal);
  } finally {
    limit.dispose();
  }
}
