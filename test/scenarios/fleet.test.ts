import { expect, test } from "vitest";
import { backWithin, playBreak } from "./simulation/breaks.ts";
import { Fleet } from "./simulation/fleet.ts";
import { judging } from "./simulation/site-config.ts";
import { mostInOneSecond } from "./simulation/tally.ts";

// Some of the cases of herd.ts, which also supports any seed, warm standby, and five minutes without a server.

test("fifty boards that lose their API server together reconnect spread over time, without harmful acts", async () => {
  const fleet = new Fleet({ sites: 1, boardsPerSite: 50, standby: "cold", seed: 1 });
  try {
    fleet.boot();
    await fleet.time.runUntil(100_000);
    const { most, returned, last, harm, torn } = await playBreak(fleet, "restart");
    expect(most).toBeLessThanOrEqual(5);
    expect(returned).toBe(50);
    expect(last).toBeLessThanOrEqual(backWithin);
    expect(harm).toEqual([]);
    expect(torn).toEqual([]);
  } finally {
    fleet.close();
  }
});

test("25 leaders whose links are reset at the same moment reconnect spread over time, before it counts as an outage", async () => {
  const fleet = new Fleet({ sites: 25, boardsPerSite: 1, standby: "cold", seed: 1 });
  const { time, tally } = fleet;
  try {
    fleet.boot();
    // A minute after the last site began, all sites have read each other's Leases.
    await time.runUntil(140_000);
    expect([...fleet.leaders().values()].map((leaders) => leaders.length)).toEqual(Array(25).fill(1));
    tally.begin();
    fleet.resetAll();
    await time.runUntil(140_000 + judging.blip);
    expect(tally.arrivals.size).toBe(25);
    expect(mostInOneSecond(tally.arrivals.values())).toBeLessThanOrEqual(5);
    expect(tally.harm).toEqual([]);
  } finally {
    fleet.close();
  }
});
