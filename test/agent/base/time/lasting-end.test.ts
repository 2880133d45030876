import { expect, test } from "vitest";
import {
  checkpoint,
  lastingEnd,
  lastingEndText,
  type Moment,
  readLastingEnd,
  remainingTime,
} from "../../../../agent/base/time/lasting-end.ts";

const hour = 3_600_000;
const wall = Date.parse("2026-11-20T12:00:00Z");

const at = (bootId: string, mono: number, now: number, isSynced = true): Moment => ({
  now: { mono, wall: now },
  bootId,
  isSynced,
});

test("within a boot an hour lasts an hour, even if the wall clock jumps by decades", () => {
  const end = lastingEnd(hour, at("a", 1000, wall));
  expect(remainingTime(end, at("a", 1000 + hour - 1, 0, false))).toBe(1);
  expect(remainingTime(end, at("a", 1000 + hour, wall - 50 * 365 * 24 * hour))).toBe(0);
});

test("after a reboot the wall clock decides, if it was trusted at both moments", () => {
  const end = lastingEnd(hour, at("a", 1000, wall));
  expect(remainingTime(end, at("b", 5000, wall + hour / 2))).toBe(hour / 2);
  expect(remainingTime(end, at("b", 5000, wall + hour))).toBe(0);
});

test.each([
  ["the clock is not set yet", true, false],
  ["the clock was not set when it was ordered", false, true],
])(
  "after a reboot while %s, the time left runs from the boot, so it is longer than requested, never shorter",
  (_, then, now) => {
    const end = lastingEnd(hour, at("a", 1000, wall, then));
    expect(remainingTime(end, at("b", 10 * 60_000, wall + 24 * hour, now))).toBe(hour - 10 * 60_000);
    expect(remainingTime(end, at("b", hour, 0, now))).toBe(0);
  },
);

test("storing the end again from time to time limits the delay that a reboot adds", () => {
  const end = checkpoint(lastingEnd(hour, at("a", 0, wall, false)), at("a", hour - 60_000, wall, false));
  expect(remainingTime(end, at("b", 30_000, 0, false))).toBe(30_000);
});

test("a clock that went back while the board was off does not prolong anything beyond the requested duration", () => {
  const end = lastingEnd(hour, at("a", 1000, wall));
  expect(remainingTime(end, at("b", 0, wall - 24 * hour))).toBe(hour);
});

test("a stored end is read back unchanged, and other text is refused", () => {
  const end = lastingEnd(hour, at("a", 1000, wall));
  expect(readLastingEnd(lastingEndText(end))).toEqual(end);
  for (const text of ["", "{}", "null", '{"until":1}', "[1,2]", lastingEndText(end).replace("true", "1")])
    expect(readLastingEnd(text)).toBeUndefined();
});
