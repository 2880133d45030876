import type { Ending, PreviousProcess } from "../companions/process-controls.ts";
import { uncleanText } from "../status/ending-text.ts";
import { readStatus, type Status } from "../status/schema.ts";
import { stuckCondition } from "../status/watchdog.ts";

/**
 * How the previous process ended, from the last status that it wrote; undefined if there was no such process in this
 * boot.
 */
export function previousProcess(left: string | undefined, bootId: string): PreviousProcess | undefined {
  const status = left === undefined ? "there is none" : readStatus(left);
  if (typeof status === "string" || status.bootId !== bootId) return undefined;
  return { version: status.version, ending: endingOf(status) };
}

function endingOf(status: Status): Ending {
  if (status.ending) return status.ending;
  const stuck = status.health.conditions.find(({ type }) => type === stuckCondition);
  if (stuck) return { cause: "watchdog", message: stuck.message };
  return { cause: "unclean", message: uncleanText };
}
