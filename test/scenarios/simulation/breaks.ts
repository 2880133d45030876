import type { Millis } from "../../../agent/base/clock.ts";
import type { Fleet } from "./fleet.ts";
import { mostInOneSecond } from "./tally.ts";

/** The API server restarts, is down for long, or all boards' links are reset at the same moment. */
export const breaks = { restart: 3000, away: 300_000, reset: 0 } as const satisfies Record<string, Millis>;
export type Break = keyof typeof breaks;

/** A sleeping follower reads the Lease within one term and half a retry; after a failure, within 70 s by its clock. */
export const backWithin: Millis = 72_000;

export interface Return {
  /** The highest number of agents whose first request since the break arrived within any one second. */
  readonly most: number;
  /** The highest number of agents whose first attempt fell within any one second, successful or not. */
  readonly tried: number;
  readonly returned: number;
  /** Time from the server's return to the first request of the last agent. */
  readonly last: Millis;
  /** The first harmful acts. */
  readonly harm: readonly string[];
  /** Sites without exactly one leader at the end. */
  readonly torn: readonly string[];
}

export async function playBreak(fleet: Fleet, is: Break): Promise<Return> {
  const { tally, time } = fleet;
  const back = time.now + breaks[is];
  tally.begin();
  if (is === "reset") fleet.resetAll();
  else fleet.crash(breaks[is]);
  await time.runUntil(back + 2 * backWithin);
  return {
    most: mostInOneSecond(tally.arrivals.values()),
    tried: mostInOneSecond(tally.tries.values()),
    returned: tally.arrivals.size,
    last: Math.max(...tally.arrivals.values()) - back,
    harm: [...tally.harm],
    torn: [...fleet.leaders()].filter(([, names]) => names.length !== 1).map(([site]) => site),
  };
}
