/**
 * What a loop does about an error.
 *
 * retry: back off this key or stream and try again · refresh: somebody else wrote; wait for the watch and go again soon ·
 * relist: the server lost the history we ask for · done: the wish is already fulfilled · drop: more tries do not help
 * until the object changes · rebuild: throw the cache away and list again · exit: only a person can help
 */
export type Disposition = "retry" | "refresh" | "relist" | "done" | "drop" | "rebuild" | "exit";

const dispositions: readonly string[] = ["retry", "refresh", "relist", "done", "drop", "rebuild", "exit"];

/** An error class states its own disposition; storage, which may import nothing of ours, does it structurally. */
export interface HasDisposition {
  readonly disposition: Disposition;
}

/**
 * The one place that asks: what the outermost error of a chain of causes states that states anything. An error that
 * states nothing is a bug of ours: its key backs off, the rest goes on.
 */
export const dispositionOf = (error: unknown): Disposition => stated(error) ?? "retry";

/** True for errors that nobody foresaw; they are logged with their stack. */
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

/** What a person can do about it, where there is something. */
export function hintOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("hint" in at && typeof at.hint === "string") return at.hint;
  }
  return undefined;
}

/** Whether it says that this user may not: an error that knows it, or the system. */
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

/** A rule says that more tries do not help until the object changes. */
export class TerminalError extends Error implements HasDisposition {
  override readonly name = "TerminalError";
  readonly disposition = "drop";
}

/** Configuration that cannot be used: every problem at once. The process ends with status 78. */
export class ConfigError extends Error implements HasDisposition {
  override readonly name = "ConfigError";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
