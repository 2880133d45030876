import type { Millis } from "../../../agent/base/clock.ts";
import { unlimited } from "../unlimited-controls.ts";
import { checkHistory } from "./checks/checks.ts";
import { checkConverged, timeToConverge } from "./checks/convergence.ts";
import { checkEnding } from "./checks/ending.ts";
import { checkRecords } from "./checks/records.ts";
import { checkReplays } from "./checks/replays.ts";
import { Faults } from "./faults.ts";
import type { History } from "./history.ts";
import type { Schedule } from "./schedule.ts";
import { Site } from "./site.ts";

/** Boards are not all powered on at the same moment. */
const bootsWithin: Millis = 5000;
const look: Millis = 10_000;
const stays: Millis = 60_000;
/** How long the operator releases the safety valve for. */
const released: Millis = 600_000;
const longestStale: Millis = 120_000;

export interface Outcome {
  readonly violations: readonly string[];
  readonly digest: string;
  readonly trace: readonly string[];
  readonly history: History;
}

export async function runSchedule(schedule: Schedule, { everything = false } = {}): Promise<Outcome> {
  const site = new Site(schedule, { everything });
  const { history } = site.recorder;
  const uncaught = (error: unknown): void => {
    const text = error instanceof Error ? String(error.stack) : String(error);
    history.complaints.push({ at: site.time.now, text: `not caught: ${text}` });
  };
  process.on("unhandledRejection", uncaught);
  try {
    const atEnd = await played(site, schedule);
    const violations = [...checkHistory(history, site.time.now), ...atEnd];
    return { violations, digest: site.recorder.digest, trace: site.recorder.lines, history };
  } finally {
    site.close();
    process.off("unhandledRejection", uncaught);
  }
}

/** Plays a schedule from power-on to the clean end. An exception counts as a violation. */
async function played(site: Site, schedule: Schedule): Promise<readonly string[]> {
  try {
    for (const board of site.boards) {
      const { number, wall } = board.plate;
      site.time.at((7919 * schedule.seed + 1103 * number) % bootsWithin, () => board.powerOn(wall));
    }
    site.keeper.start();
    new Faults(site, schedule).plan(schedule.faults);
    await site.time.runUntil(schedule.calmAt);
    return [...(await calm(site)), ...(await checkEnding(site)), ...checkRecords(site), ...checkReplays(site)];
  } catch (error) {
    return [`broken off at ${site.time.now / 1000}s: ${error instanceof Error ? error.stack : error}`];
  }
}

/** An operator releases the safety valve of a site whose status shows that it holds acts. */
async function releaseValve({ leader, time, recorder }: Site): Promise<void> {
  const agent = leader?.agent;
  const { valve } = agent?.agent.parts(agent.process.now()).eviction ?? {};
  if (valve?.heldSince === undefined || recorder.history.releases.some(({ until }) => until > time.now)) return;
  const release = { from: time.now, until: Number.POSITIVE_INFINITY };
  recorder.history.releases.push(release);
  const author = { by: "ops:sim", reason: "the boards are lost" };
  const effect = await (agent && unlimited(agent.agent.siteControls).releaseValve(released, author, false));
  recorder.note(`. valve: ${JSON.stringify(effect)}`);
  // A change of leader may prolong it a little. One that failed may have been written all the same.
  release.until = time.now + (effect?.outcome === "done" ? 1.05 * released + longestStale : look);
}

/** Waits until the site has converged, within the permitted time, and checks that it stays so. */
async function calm(site: Site): Promise<readonly string[]> {
  const { time, recorder } = site;
  const limit = time.now + timeToConverge(recorder.history.setting);
  await time.runUntil(time.now + stays);
  while (checkConverged(site).length > 0 && time.now < limit) {
    void releaseValve(site);
    await time.runUntil(time.now + look);
  }
  await time.runUntil(time.now + stays);
  return checkConverged(site);
}
