import { expect, test } from "vitest";
import { backWithin, playBreak } from "./simulation/breaks.ts";
import { Fleet } from "./simulation/fleet.ts";

/** A share of what herd.ts plays: there with a hundred boards, 25 leaders, warm standby and five minutes without a server. */
test("fifty boards that lose their API server together come back one after the other, and do no harm", async () => {
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
