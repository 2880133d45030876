import { expect, test } from "vitest";
import { notBegun, sent } from "../../../../agent/controllers/taint-eviction/deletion.ts";
import { durableTimers, type EvictionTimer, ranFor } from "../../../../agent/controllers/taint-eviction/timer.ts";

const now = { mono: 50_000, wall: 9_000_000 };
const timer: EvictionTimer = {
  uid: "u",
  board: "pi",
  start: { mono: 20_000, wall: 8_970_000 },
  back: undefined,
  length: 300_000,
  taints: ["a=:NoExecute@T1"],
  at: { mono: 30_000, wall: 8_980_000 },
  origin: "this term",
  deletion: notBegun,
  explained: undefined,
};

test.each([
  [19_000, 0],
  [319_999.9, 299_999],
  [319_999.9999999, 300_000],
  [320_000, 300_000],
  [320_000.9, 300_000],
])("a timer that began at 20 s has at %d ms run for %d complete milliseconds", (mono, ran) => {
  expect(ranFor(timer, { mono, wall: 0 })).toBe(ran);
});

test("within a boot a timer is restored unchanged", () => {
  const text = durableTimers("boot").save(timer, now) ?? "";
  expect(durableTimers("boot").load(text, now)).toMatchObject({
    start: { mono: 20_000 },
    length: 300_000,
    origin: "loaded",
  });
});

test("after a reboot, the time that had elapsed when the timer was stored still counts", () => {
  const text = durableTimers("boot").save(timer, now) ?? "";
  expect(durableTimers("next").load(text, now)).toMatchObject({
    start: { mono: 40_000 },
    origin: "loaded after a reboot",
  });
});

test("that the board has reported again is restored too", () => {
  const text = durableTimers("boot").save({ ...timer, back: { mono: 29_000, wall: 0 } }, now) ?? "";
  expect(durableTimers("boot").load(text, now)?.back?.mono).toBe(29_000);
  expect(durableTimers("next").load(text, now)).toMatchObject({ start: { mono: 40_000 }, back: { mono: 49_000 } });
});

test("a start in the future counts as now", () => {
  const text = durableTimers("boot").save({ ...timer, start: { mono: 90_000, wall: 0 } }, now) ?? "";
  expect(durableTimers("boot").load(text, now)?.start).toEqual(now);
});

test("an ended timer is not stored", () => {
  expect(durableTimers("boot").save(undefined, now)).toBeUndefined();
  expect(durableTimers("boot").save({ ...timer, deletion: sent(notBegun, now) }, now)).toBeUndefined();
});

test.each(["", "{", "null", "[]", "{}", '{"v":2}', '{"v":1,"boot":"b","uid":"u","board":"p","start":"x"}'])(
  "%j is refused",
  (text) => {
    expect(() => durableTimers("boot").load(text, now)).toThrow();
  },
);
