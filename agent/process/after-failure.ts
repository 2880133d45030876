import { isDamage, StorageError } from "../../storage/errors.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { dispositionOf } from "../base/errors.ts";

/**
 * The reaction to a failure. again: the agent restarts immediately, with recreated files. wait: it restarts after a
 * pause, because the obstacle may pass or an operator may remove it. end: the process exits. `rebuild`: the cache is
 * deleted first.
 */
export type AfterFailure =
  | { readonly do: "again"; readonly rebuild: boolean }
  | { readonly do: "wait"; readonly pause: Millis }
  | { readonly do: "end" };

/** One run of the agent within this process (a life) that ended in an error. */
export interface FailedRun {
  readonly error: unknown;
  readonly at: Instant;
}

/**
 * If files are recreated more often than this within an hour, the disk is assumed to damage them, and the process
 * exits.
 */
const maxMended = 3;
const hour: Millis = 3_600_000;
const pauses = { first: 2000, max: 60_000 };

/**
 * Decides the reaction to a failure. If a new process would meet the same obstacle, such as a full disk, this process
 * continues and retries at growing intervals.
 */
export function afterFailure(error: unknown, before: readonly FailedRun[], now: Instant): AfterFailure {
  const recent = before.filter(({ at }) => elapsed(at, now) < hour);
  const rebuild = dispositionOf(error) === "rebuild";
  if (rebuild || isDamage(error)) {
    const mended = recent.filter((one) => dispositionOf(one.error) === "rebuild" || isDamage(one.error)).length;
    return mended < maxMended ? { do: "again", rebuild } : { do: "end" };
  }
  if (!mayPass(error)) return { do: "end" };
  const waits = recent.filter((one) => mayPass(one.error)).length;
  return { do: "wait", pause: backoff(waits + 1, pauses) };
}

/**
 * Whether the failure may pass by itself: a full disk, a read-only file system, or a cache that another program has
 * open. False if another agent has state.db open.
 */
function mayPass(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false;
  return (
    error.kind === "full" || (error.kind === "io" && !error.isWrongPath) || (error.kind === "busy" && error.disposable)
  );
}
