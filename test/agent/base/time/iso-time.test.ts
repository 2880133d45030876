import { expect, test } from "vitest";
import { isoTime, readTime } from "../../../../agent/base/time/iso-time.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const day = 86_400_000;

test("times are formatted as Date formats them", () => {
  const random = new SeededRandom(1);
  const edges = [0, -1, 1, day - 1, 951_782_400_000, 1_709_164_799_999, -62_167_219_200_000, 253_402_300_799_999];
  const others = Array.from(
    { length: 2000 },
    () => Math.floor(random.next() * 315_569_520_000_000) - 62_167_219_200_000,
  );
  for (const wall of [...edges, ...others]) expect(isoTime(wall)).toBe(new Date(wall).toISOString());
});

test("times of a clock that is thousands of years off are formatted too; an invalid time is refused", () => {
  for (const wall of [-62_167_219_200_001, 253_402_300_800_000, 8.64e15])
    expect(isoTime(wall)).toBe(new Date(wall).toISOString());
  expect(() => isoTime(Number.NaN)).toThrow(RangeError);
});

test("a time is parsed in its own time zone", () => {
  expect(readTime("2026-11-20T12:00:00Z")).toBe(Date.UTC(2026, 10, 20, 12));
  expect(readTime("2026-11-20T12:00:00.250+01:00")).toBe(Date.UTC(2026, 10, 20, 11, 0, 0, 250));
  expect(readTime("2026-11-20")).toBe(Date.UTC(2026, 10, 20));
  expect(readTime("2028-02-29T00:00:00Z")).toBe(Date.UTC(2028, 1, 29));
});

test("a day that does not exist is not read as the day after", () => {
  const none = [
    "2026-02-29",
    "2027-02-31T12:00:00Z",
    "2026-04-31",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "soon",
    "",
  ];
  for (const written of none) expect(readTime(written), written).toBeUndefined();
});
