import { type Millis, sleep } from "../../../agent/base/clock.ts";
import type { RevisionLog } from "../../../storage/revision-log.ts";
import { rangeOf } from "../objects/object-store.ts";
import type { Site } from "../requests/call.ts";
import { eventsServed } from "../served.ts";
import { itemsOf } from "../verbs/list.ts";
import { deleteObject } from "../verbs/write.ts";

/**
 * Interval between removals of old revisions. History is kept for at least this long, and at most about twice as long,
 * as on a real server.
 */
const compactEvery: Millis = 5 * 60_000;
/** Events that have not been written for this many rounds (an hour) are deleted. */
const roundsOfEvents = 12;
const rowsPerStep = 500;
const eventsPerStep = 100;
const pauseBetweenSteps: Millis = 20;

/** Removes old revisions, and Events after an hour, in steps, so that requests are served in between. */
export async function forgetHistory(site: Site, log: RevisionLog, signal: AbortSignal): Promise<void> {
  const pause = (): Promise<void> => sleep(site.clock, pauseBetweenSteps, signal);
  const rounds: number[] = [];
  while (!signal.aborted) {
    const upTo = log.revision;
    rounds.push(upTo);
    await sleep(site.clock, compactEvery, signal);
    while (!signal.aborted && log.compact(upTo, rowsPerStep)) await pause();
    const hourAgo = rounds.length > roundsOfEvents ? rounds.shift() : undefined;
    while (!signal.aborted && hourAgo !== undefined && expireEvents(site, hourAgo)) await pause();
  }
}

/** Deletes some of the Events that were last written by a revision. Returns whether there may be more. */
function expireEvents(site: Site, revision: number): boolean {
  const { store } = site;
  let deleted = 0;
  for (const entry of itemsOf(store, rangeOf(eventsServed), store.revision)) {
    if (entry.revision > revision) continue;
    deleteObject(site, eventsServed, entry, { gracePeriodSeconds: 0 }, false);
    if (++deleted === eventsPerStep) return true;
  }
  return false;
}
