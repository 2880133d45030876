import type { Millis } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { PreviousProcess } from "./process-controls.ts";

/** The stored record of the last update. Its times are those of the monotonic clock in the boot `boot`. */
export interface UpdateTrial {
  readonly version: string;
  /** The version that ran before; undefined if unknown. */
  readonly former: string | undefined;
  readonly boot: string;
  /** When this version first started, in this boot. */
  readonly since: Millis;
  /** The number of crashes since then. */
  readonly crashes: number;
  /** When the process started again after the last crash; without a crash, the same as `since`. */
  readonly crashed: Millis;
}

/** One start of a process, and the process before it in the same boot. */
export interface Start {
  readonly version: string;
  readonly boot: string;
  readonly at: Millis;
  readonly previous: PreviousProcess | undefined;
}

/** Crashes are counted for this long after an update. A process that has run for this long is healthy again. */
export const trialTime: Millis = 600_000;

/** The number of crashes from which an update counts as unhealthy. */
export const tooManyCrashes = 3;

/** The reasons for the end of a process that count as a crash. */
const crashCauses: ReadonlySet<string> = new Set(["unclean", "watchdog", "failure"]);

/** The record after a start. Returns the same object if nothing changed, so that the caller need not store it. */
export function afterStart(trial: UpdateTrial | undefined, start: Start): UpdateTrial {
  const { version, boot, at } = start;
  const begun = { version, boot, since: at, crashes: 0, crashed: at };
  if (trial?.version !== version) return { ...begun, former: trial?.version };
  // A power cut is not a crash. If an operator power-cycled the board because of crashes, the count starts again.
  if (trial.boot !== boot) return trial.crashes === 0 ? trial : { ...begun, former: trial.former };
  // The agent was restarted within a process whose start was already counted.
  if (at === trial.crashed) return trial;
  const isCounted = trial.former !== undefined && (at - trial.since <= trialTime || isUnhealthy(trial, boot, at));
  return isCounted && hasCrashed(start) ? { ...trial, crashes: trial.crashes + 1, crashed: at } : trial;
}

export const isUnhealthy = ({ boot, crashes, crashed }: UpdateTrial, bootNow: string, now: Millis): boolean =>
  boot === bootNow && crashes >= tooManyCrashes && now - crashed < trialTime;

/**
 * Whether the process before this start crashed. If the recorded process had another version, a process of this version
 * ran after it and left no record, so it crashed.
 */
const hasCrashed = ({ previous, version }: Start): boolean =>
  previous !== undefined && (previous.version !== version || crashCauses.has(previous.ending.cause));

/** Parses the record; undefined if there is none, or if this version cannot read it. */
export function trialIn(text: string | undefined): UpdateTrial | undefined {
  const { version, former, boot, since, crashes, crashed } = (text === undefined ? undefined : recordIn(text)) ?? {};
  if (typeof version !== "string" || typeof boot !== "string") return undefined;
  if (typeof since !== "number" || typeof crashes !== "number" || typeof crashed !== "number") return undefined;
  return { version, former: typeof former === "string" ? former : undefined, boot, since, crashes, crashed };
}
