/**
 * How a loop reacts to an error.
 *
 * retry: back off this key or stream and try again · refresh: the cached object was outdated; wait for the watch, and
 * retry soon · relist: the server no longer has the requested history; list again · done: the goal is already reached ·
 * drop: retries do not help until the object changes · rebuild: delete the cache and list again · exit: an operator
 * must act
 */
export type Disposition = "retry" | "refresh" | "relist" | "done" | "drop" | "rebuild" | "exit";

const dispositions: readonly string[] = ["retry", "refresh", "relist", "done", "drop", "rebuild", "exit"];

/** Each error class states its own disposition. The classes in storage/ do so without importing this interface. */
export interface HasDisposition {
  readonly disposition: Disposition;
}

/**
 * The disposition stated by the error or, failing that, by the nearest of its causes. An error without a disposition is
 * a bug in this program; its key is retried, and everything else continues. No other function reads dispositions.
 */
export const dispositionOf = (error: unknown): Disposition => stated(error) ?? "retry";

/** True for errors without a disposition, which are bugs; they are logged with their stack. */
export const isUnforeseen = (error: unknown): boolean => stated(error) === undefined;

function stated(error: unknown): Disposition | undefined {
  for (let at = error, depth = 0; typeof at === "object" && at !== null && depth < 10; depth++) {
    if ("disposition" in at && typeof at.disposition === "string" && dispositions.includes(at.disposition)) {
      return at.disposition as Disposition;
    }
    at = "cause" in at ? at.cause : undefined;
  }
  return undefined;
}

/** The remedy for an operator that the error or one of its causes carries, if any. */
export function hintOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("hint" in at && typeof at.hint === "string") return at.hint;
  }
  return undefined;
}

/** True if the error or one of its causes says that a permission is missing, in the API or in the file system. */
export function isForbidden(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("isForbidden" in at && at.isForbidden === true) return true;
    if ("code" in at && (at.code === "EACCES" || at.code === "EPERM")) return true;
  }
  return false;
}

/** True if the error or one of its causes concerns only one object, so that requests for others may succeed. */
export function isOfOneObject(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("isOfOneObject" in at && at.isOfOneObject === true) return true;
  }
  return false;
}

/** The messages of an error and of its causes, outermost first, joined by colons. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${sentenceOf(error.cause)}`;
}

/** Thrown by a rule if retries do not help until the object changes. */
export class TerminalError extends Error implements HasDisposition {
  override readonly name = "TerminalError";
  readonly disposition = "drop";
}

/** Invalid configuration, with all its problems. The process exits with code 78. */
export class ConfigError extends Error implements HasDisposition {
  override readonly name = "ConfigError";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
