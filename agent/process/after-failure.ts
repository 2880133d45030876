import { StorageError } from "../../storage/errors.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { dispositionOf } from "../base/errors.ts";

/**
 * again: with files made anew. wait: what is in the way may go by itself, or somebody may take it away. end: only another
 * start can help, or nothing.
 */
export type Next =
  | { readonly do: "again"; readonly rebuild: boolean }
  | { readonly do: "wait"; readonly pause: Millis }
  | { readonly do: "end" };

/** A life of the agent that failed. */
export interface Failed {
  readonly error: unknown;
  readonly at: Instant;
}

/** More files made anew than this within an hour are a disk that eats what is written to it. */
const mostMended = 3;
const hour: Millis = 3_600_000;
const pauses = { first: 2000, most: 60_000 };

/**
 * What follows a failure. Where a start after two seconds would find the same full disk, the process stays and looks again,
 * less and less often: a board must not spend its time on starting.
 *
 * `before`: the failures of this process so far, oldest first.
 */
export function afterFailure(error: unknown, before: readonly Failed[], now: Instant): Next {
  const recent = before.filter(({ at }) => elapsed(at, now) < hour);
  const rebuild = dispositionOf(error) === "rebuild";
  if (rebuild || isDamage(error)) {
    const mended = recent.filter((one) => dispositionOf(one.error) === "rebuild" || isDamage(one.error)).length;
    return mended < mostMended ? { do: "again", rebuild } : { do: "end" };
  }
  if (!mayPass(error)) return { do: "end" };
  const waits = recent.filter((one) => mayPass(one.error)).length;
  return { do: "wait", pause: backoff(waits + 1, pauses) };
}

const isDamage = (error: unknown): boolean => error instanceof StorageError && error.kind === "damaged";

/** A disk without room, one that went read-only, somebody who looks into the cache. Not: another agent. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false;
  return (
    error.kind === "full" || (error.kind === "io" && !error.isPlace) || (error.kind === "busy" && error.disposable)
  );
}
