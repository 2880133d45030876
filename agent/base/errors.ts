/**
 * What a loop does about an error.
 *
 * retry: back off this key or stream and try again · refresh: another writer was faster; wait for the watch and retry
 * soon · relist: the server lost the history we ask for · done: the goal is already reached · drop: retries do not help
 * until the object changes · rebuild: delete the cache and list again · exit: an operator must act
 */
export type Disposition = "retry" | "refresh" | "relist" | "done" | "drop" | "rebuild" | "exit";

const dispositions: readonly string[] = ["retry", "refresh", "relist", "done", "drop", "rebuild", "exit"];

/** An error class states its own disposition; storage, which imports nothing of ours, does so structurally. */
export interface HasDisposition {
  readonly disposition: Disposition;
}

/**
 * The only place that reads dispositions: the outermost one stated in a chain of causes. An error without one is a bug
 * of ours: its key backs off, everything else continues.
 */
export const dispositionOf = (error: unknown): Disposition => stated(error) ?? "retry";

/** True for unforeseen errors; they are logged with their stack. */
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

/** The action an operator can take, if there is one. */
export function hintOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("hint" in at && typeof at.hint === "string") return at.hint;
  }
  return undefined;
}

/** True if this user lacks the permission, as stated by an error of ours or of the system. */
export function isForbidden(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("isForbidden" in at && at.isForbidden === true) return true;
    if ("code" in at && (at.code === "EACCES" || at.code === "EPERM")) return true;
  }
  return false;
}

/** The sentences of an error and of its causes, outermost first. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${sentenceOf(error.cause)}`;
}

/** A rule states that retries do not help until the object changes. */
export class TerminalError extends Error implements HasDisposition {
  override readonly name = "TerminalError";
  readonly disposition = "drop";
}

/** Invalid configuration, with all problems at once. The process ends with status 78. */
export class ConfigError extends Error implements HasDisposition {
  override readonly name = "ConfigError";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
