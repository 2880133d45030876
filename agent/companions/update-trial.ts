import type { Millis } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { PreviousProcess } from "./process-controls.ts";

/** Record of the last update. Times are of one boot's monotonic clock and mean nothing in another boot. */
export interface UpdateTrial {
  readonly version: string;
  /** The version that ran before; undefined: none known. */
  readonly former: string | undefined;
  readonly boot: string;
  /** The first start of this version. */
  readonly since: Millis;
  readonly crashes: number;
  /** The start after the last crash; before any crash, the first start. */
  readonly crashed: Millis;
}

/** One start of a process, with what it found of the previous one in this boot. */
export interface Start {
  readonly version: string;
  readonly boot: string;
  readonly at: Millis;
  readonly previous: PreviousProcess | undefined;
}

/** How long crashes are counted, and how long a process must run to count as healthy again. */
export const trialTime: Millis = 600_000;

/** From this number on, crashes are not accidental. */
export const tooManyCrashes = 3;

/** A process that was asked to end, or ended in good order, did not crash. */
const crashCauses: ReadonlySet<string> = new Set(["unclean", "watchdog", "failure"]);

/** Returns the same object if nothing changed, so that nothing is written. */
export function afterStart(trial: UpdateTrial | undefined, start: Start): UpdateTrial {
  const { version, boot, at } = start;
  const begun = { version, boot, since: at, crashes: 0, crashed: at };
  if (trial?.version !== version) return { ...begun, former: trial?.version };
  // A power cut is not a crash. If an operator power-cycled the board because of crashes, the count starts again.
  if (trial.boot !== boot) return trial.crashes === 0 ? trial : { ...begun, former: trial.former };
  // Another run within a process that was already counted.
  if (at === trial.crashed) return trial;
  const isCounted = trial.former !== undefined && (at - trial.since <= trialTime || isUnhealthy(trial, boot, at));
  return isCounted && hasCrashed(start) ? { ...trial, crashes: trial.crashes + 1, crashed: at } : trial;
}

export const isUnhealthy = ({ boot, crashes, crashed }: UpdateTrial, bootNow: string, now: Millis): boolean =>
  boot === bootNow && crashes >= tooManyCrashes && now - crashed < trialTime;

/** If the record is still the former version's, a process of this version ended before it wrote any. */
const hasCrashed = ({ previous, version }: Start): boolean =>
  previous !== undefined && (previous.version !== version || crashCauses.has(previous.ending.cause));

/** Parses the record; undefined: none that this version understands. */
export function trialIn(text: string | undefined): UpdateTrial | undefined {
  const { version, former, boot, since, crashes, crashed } = (text === undefined ? undefined : recordIn(text)) ?? {};
  if (typeof version !== "string" || typeof boot !== "string") return undefined;
  if (typeof since !== "number" || typeof crashes !== "number" || typeof crashed !== "number") return undefined;
  return { version, former: typeof former === "string" ? former : undefined, boot, since, crashes, crashed };
}
