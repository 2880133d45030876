import { expect, test } from "vitest";
import type { Instant, Millis } from "../../../../agent/base/clock.ts";
import { nextWait, type RetryPace } from "../../../../agent/informer/reflector/retry-pace.ts";

const at = (mono: Millis): Instant => ({ mono, wall: 0 });
const least = { next: () => 0, uuid: () => "" };
const most = { next: () => 0.999_999, uuid: () => "" };

function waits(random: typeof least, count: number, between: Millis = 0): number[] {
  let pace: RetryPace | undefined;
  let wait: Millis;
  const all: number[] = [];
  for (let now = 0; all.length < count; now += between) {
    [wait, pace] = nextWait(pace, at(now), random);
    all.push(Math.round(wait));
  }
  return all;
}

test("each wait is twice the previous one, up to half a minute, plus a random part of up to the same length", () => {
  expect(waits(least, 8)).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  expect(waits(most, 7)).toEqual([1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000]);
});

test("the sequence restarts once more than two minutes have passed since its last start, regardless of what happened in between", () => {
  expect(waits(least, 4, 120_000)).toEqual([800, 1600, 800, 1600]);
  expect(waits(least, 3, 120_001)).toEqual([800, 800, 800]);
  expect(waits(least, 6, 50_000)).toEqual([800, 1600, 3200, 800, 1600, 3200]);
});
