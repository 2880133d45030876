import { expect, test } from "vitest";
import { durableTimers, type Timer } from "../../../../agent/controllers/taint-eviction/timer.ts";

const now = { mono: 50_000, wall: 9_000_000 };
const timer: Timer = {
  uid: "u",
  board: "pi",
  start: { mono: 20_000, wall: 8_970_000 },
  length: 300_000,
  taints: ["a=:NoExecute@T1"],
  at: { mono: 30_000, wall: 8_980_000 },
  loaded: false,
  carried: false,
  former: false,
  asked: undefined,
  tries: 0,
  overtaken: false,
};

test("within a boot a timer comes back as it was", () => {
  const text = durableTimers("boot").save(timer, now) ?? "";
  expect(durableTimers("boot").load(text, now)).toMatchObject({
    start: { mono: 20_000 },
    length: 300_000,
    carried: false,
  });
});

test("in another boot what had run when it was written is left of it", () => {
  const text = durableTimers("boot").save(timer, now) ?? "";
  expect(durableTimers("next").load(text, now)).toMatchObject({ start: { mono: 40_000 }, carried: true });
});

test("a start in the future is now", () => {
  const text = durableTimers("boot").save({ ...timer, start: { mono: 90_000, wall: 0 } }, now) ?? "";
  expect(durableTimers("boot").load(text, now)?.start).toEqual(now);
});

test("what is over needs no keeping", () => {
  expect(durableTimers("boot").save(undefined, now)).toBeUndefined();
  expect(durableTimers("boot").save({ ...timer, asked: now }, now)).toBeUndefined();
});

test.each(["", "{", "null", "[]", "{}", '{"v":2}', '{"v":1,"boot":"b","uid":"u","board":"p","start":"x"}'])(
  "%j is refused",
  (text) => {
    expect(() => durableTimers("boot").load(text, now)).toThrow();
  },
);
