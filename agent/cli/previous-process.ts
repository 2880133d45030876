import type { Ending } from "../companions/process-controls.ts";
import { readStatus } from "../status/schema.ts";
import { stuckCondition } from "../status/watchdog.ts";

/** How the former process ended, from the status that it left behind; undefined: there was none in this boot. */
export function previousEnding(left: string | undefined, bootId: string): Ending | undefined {
  const status = left === undefined ? "there is none" : readStatus(left);
  if (typeof status === "string" || status.bootId !== bootId) return undefined;
  if (status.ending) return status.ending;
  const stuck = status.health.conditions.find(({ type }) => type === stuckCondition);
  if (stuck) return { cause: "watchdog", message: stuck.message };
  return { cause: "unclean", message: "it was killed, or crashed, before it could say why" };
}
