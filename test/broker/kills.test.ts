import { describe, expect, test } from "vitest";
import { killBroker } from "./kills.ts";
import { lack } from "./site.ts";

describe.skipIf(lack)("a broker that is killed while commands flow", () => {
  test.each([1, 2])("each command takes effect once or is reported as expired (seed %i)", async (seed) => {
    const { problems, commands, succeeded, sessions } = await killBroker({ kills: 12, seed });
    expect(problems).toEqual([]);
    // Three for each kill, plus the first one, which is awaited.
    expect(commands).toBe(37);
    expect(succeeded).toBeGreaterThan(20);
    expect(sessions).toBeGreaterThan(5);
  });
});
