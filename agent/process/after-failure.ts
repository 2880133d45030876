import { StorageError } from "../../storage/errors.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { dispositionOf } from "../base/errors.ts";

/**
 * The reaction to a failure. again: the agent restarts after `pause`, if any, with recreated files. wait: it restarts
 * after a pause, because the obstacle may pass or an operator may remove it. end: the process exits. `rebuild`: the
 * cache is deleted first.
 */
export type AfterFailure =
  | { readonly do: "again"; readonly rebuild: boolean; readonly pause?: Millis }
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
/**
 * The cache of another history, which a restored API server or another cluster leaves behind, is replaced this often
 * within an hour without a pause. More often than that, something goes back and forth, such as two servers with
 * different stores behind one address: each new start lists the whole site, so it waits, up to a minute. The process
 * goes on, because a new one would meet the same.
 */
const maxReplacedAtOnce = 3;
const hour: Millis = 3_600_000;
const pauses = { first: 2000, max: 60_000 };

/**
 * Decides the reaction to a failure. If a new process would meet the same obstacle, such as a full disk, this process
 * continues and retries at growing intervals.
 */
export function afterFailure(error: unknown, before: readonly FailedRun[], now: Instant): AfterFailure {
  const recent = before.filter(({ at }) => elapsed(at, now) < hour);
  const rebuild = dispositionOf(error) === "rebuild";
  if (isOfFile(error)) {
    const mended = recent.filter((one) => isOfFile(one.error)).length;
    return mended < maxMended ? { do: "again", rebuild } : { do: "end" };
  }
  if (rebuild) {
    const replaced = recent.filter((one) => isOfOtherHistory(one.error)).length;
    const times = replaced - maxReplacedAtOnce + 1;
    return { do: "again", rebuild, ...(times > 0 && { pause: backoff(times, pauses) }) };
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

/** Whether a file is damaged, or does not belong to the others, so that it must be recreated. */
function isOfFile(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof StorageError) return at.kind === "damaged" || at.disposition === "rebuild";
  }
  return false;
}

/** Whether the cache is sound, but of a history that the API server no longer has, or of another cluster. */
const isOfOtherHistory = (error: unknown): boolean => dispositionOf(error) === "rebuild" && !isOfFile(error);
