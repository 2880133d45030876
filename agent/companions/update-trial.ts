import type { Millis } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { PreviousProcess } from "./process-controls.ts";

/** What a board remembers of its last update. Times are of the clock of one boot, and mean nothing in another one. */
export interface UpdateTrial {
  readonly version: string;
  /** What ran before; undefined: nothing did, as far as is known. */
  readonly former: string | undefined;
  readonly boot: string;
  /** The first start of this version. */
  readonly since: Millis;
  readonly crashes: number;
  /** The start that followed the last crash; before there was one, the first start. */
  readonly crashed: Millis;
}

/** One start of a process, and what it found of the one before in this boot. */
export interface Start {
  readonly version: string;
  readonly boot: string;
  readonly at: Millis;
  readonly previous: PreviousProcess | undefined;
}

/** So long crashes are counted, and so long a process must run to be well again. */
export const trialTime: Millis = 600_000;

/** So many are no accident. */
export const tooManyCrashes = 3;

/** A process that was asked to end, or ended in good order, has not crashed. */
const crashCauses: ReadonlySet<string> = new Set(["unclean", "watchdog", "failure"]);

/** The very same where there is nothing to remember: a start that changes nothing writes nothing. */
export function afterStart(trial: UpdateTrial | undefined, start: Start): UpdateTrial {
  const { version, boot, at } = start;
  const begun = { version, boot, since: at, crashes: 0, crashed: at };
  if (trial?.version !== version) return { ...begun, former: trial?.version };
  // A power cut is no crash. Where somebody switched the board off because of crashes, they are counted once more.
  if (trial.boot !== boot) return trial.crashes === 0 ? trial : { ...begun, former: trial.former };
  // Another life of a process that was counted.
  if (at === trial.crashed) return trial;
  const isCounted = trial.former !== undefined && (at - trial.since <= trialTime || isUnhealthy(trial, boot, at));
  return isCounted && hasCrashed(start) ? { ...trial, crashes: trial.crashes + 1, crashed: at } : trial;
}

export const isUnhealthy = ({ boot, crashes, crashed }: UpdateTrial, bootNow: string, now: Millis): boolean =>
  boot === bootNow && crashes >= tooManyCrashes && now - crashed < trialTime;

/** Where the former version has had the last word still, one of this version ended before it said anything. */
const hasCrashed = ({ previous, version }: Start): boolean =>
  previous !== undefined && (previous.version !== version || crashCauses.has(previous.ending.cause));

/** What was written down; undefined: nothing that this version understands. */
export function trialIn(text: string | undefined): UpdateTrial | undefined {
  const { version, former, boot, since, crashes, crashed } = (text === undefined ? undefined : recordIn(text)) ?? {};
  if (typeof version !== "string" || typeof boot !== "string") return undefined;
  if (typeof since !== "number" || typeof crashes !== "number" || typeof crashed !== "number") return undefined;
  return { version, former: typeof former === "string" ? former : undefined, boot, since, crashes, crashed };
}
