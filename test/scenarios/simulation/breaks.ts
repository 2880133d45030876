import type { Millis } from "../../../agent/base/clock.ts";
import type { Fleet } from "./fleet.ts";
import { mostInOneSecond } from "./tally.ts";

/** The API server restarts, is away for long, or the links of all boards are reset at one moment. */
export const breaks = { restart: 3000, away: 300_000, reset: 0 } as const satisfies Record<string, Millis>;
export type Break = keyof typeof breaks;

/** A sleeping follower looks at the Lease after one term and half a retry at the latest; one that failed, after 70 s of its clock. */
export const backWithin: Millis = 72_000;

export interface Return {
  /** Most agents whose first request since the break arrived within one second, wherever that second begins. */
  readonly most: number;
  /** Most agents that tried for the first time within one second, whether anybody was there or not. */
  readonly tried: number;
  readonly returned: number;
  /** After the server was back: when the last one came. */
  readonly last: Millis;
  /** The first of them. */
  readonly harm: readonly string[];
  /** Sites that have another number of leaders than one in the end. */
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
