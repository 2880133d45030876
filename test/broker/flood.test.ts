import { describe, expect, test } from "vitest";
import { floodBroker } from "./flood.ts";
import { lack } from "./site.ts";

describe.skipIf(lack)("if there are more commands than a board can accept", () => {
  test("each one is counted, takes effect at most once, and does not use memory or space on the Lease", async () => {
    const { problems, accounted, unheard, accepted, answered } = await floodBroker({ commands: 600, seed: 1 });
    expect(problems).toEqual([]);
    expect(accounted + unheard).toBeGreaterThanOrEqual(600);
    // One key signs all changes: five at once, and then one every ten seconds.
    expect(accepted).toBeGreaterThanOrEqual(5);
    expect(answered).toBeGreaterThan(accepted);
  });
});
