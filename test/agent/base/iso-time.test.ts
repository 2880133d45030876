import { expect, test } from "vitest";
import { isoTime } from "../../../agent/base/iso-time.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const day = 86_400_000;

test("every time is written as Date writes it", () => {
  const random = new SeededRandom(1);
  const edges = [0, -1, 1, day - 1, 951_782_400_000, 1_709_164_799_999, -62_167_219_200_000, 253_402_300_799_999];
  const others = Array.from(
    { length: 2000 },
    () => Math.floor(random.next() * 315_569_520_000_000) - 62_167_219_200_000,
  );
  for (const wall of [...edges, ...others]) expect(isoTime(wall)).toBe(new Date(wall).toISOString());
});

test("so are the times of a clock that is thousands of years off, and what is no time is refused", () => {
  for (const wall of [-62_167_219_200_001, 253_402_300_800_000, 8.64e15])
    expect(isoTime(wall)).toBe(new Date(wall).toISOString());
  expect(() => isoTime(Number.NaN)).toThrow(RangeError);
});
