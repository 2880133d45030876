import { describe, expect, test } from "vitest";
import { OwnWrites } from "../../../agent/election/lease-observer.ts";
import { renewalMark } from "../../../agent/election/lease-record.ts";

describe("our own writes to the Lease", () => {
  const began = (wall: number) => ({ mono: 0, wall });
  const mark = (renewTime: unknown) => renewalMark(renewTime) ?? Number.NaN;

  test("are recognised by their time, in any format of the API server", () => {
    const own = new OwnWrites();
    own.add(began(1_767_225_600_123));
    expect(own.has(mark("2026-01-01T00:00:00.123000Z"))).toBe(true);
    expect(own.has(mark("2026-01-01T01:00:00.123+01:00"))).toBe(true);
    expect(own.has(mark("2026-01-01T00:00:00.124000Z"))).toBe(false);
    expect(own.has(mark("2026-01-01T00:00:00Z"))).toBe(false);
  });

  test("are remembered even if the clock is in 1970, but only the newest of them", () => {
    const own = new OwnWrites();
    for (let write = 0; write < 100; write++) own.add(began(write));
    expect([0, 35, 36, 99].map((wall) => own.has(wall))).toEqual([false, false, true, true]);
  });

  test("do not include refused writes, because another process may have written at that very moment", () => {
    const own = new OwnWrites();
    own.add(began(5));
    own.add(began(6));
    own.remove(began(5));
    expect([5, 6].map((wall) => own.has(wall))).toEqual([false, true]);
  });

  test.each([undefined, "", "yesterday", 5])("are not recognised by a time like %j", (renewTime) => {
    expect(renewalMark(renewTime)).toBeUndefined();
  });
});
