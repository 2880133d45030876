import { StorageError } from "../../storage/errors.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { dispositionOf } from "../base/errors.ts";

/**
 * again: at once, with recreated files. wait: the obstacle may pass by itself, or a person may remove it. end: only
 * another start can help, or nothing.
 */
export type Next =
  | { readonly do: "again"; readonly rebuild: boolean }
  | { readonly do: "wait"; readonly pause: Millis }
  | { readonly do: "end" };

/** A failed life of the agent. */
export interface Failed {
  readonly error: unknown;
  readonly at: Instant;
}

/** More recreated files than this within an hour mean a disk that destroys its content. */
const mostMended = 3;
const hour: Millis = 3_600_000;
const pauses = { first: 2000, most: 60_000 };

/**
 * The reaction to a failure. If a start after two seconds would find the same full disk, the process stays and tries
 * again, less and less often: a board must not spend its time on starting.
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

/** A full disk, a file system that went read-only, a program that holds the cache open. Not: another agent. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false;
  return (
    error.kind === "full" || (error.kind === "io" && !error.isPlace) || (error.kind === "busy" && error.disposable)
  );
}
