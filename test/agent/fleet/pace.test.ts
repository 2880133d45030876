import { expect, test } from "vitest";
import { afterEnd, type EndedLink, type Pace, rested } from "../../../agent/fleet/pace.ts";

const limits = { first: 1000, most: 300_000, refused: 60_000 };
const at = (mono: number) => ({ mono, wall: 0 });

function pauses(ended: EndedLink, times: number, chance: number): number[] {
  let pace = rested;
  return Array.from({ length: times }, () => {
    const next = afterEnd(pace, ended, at(0), limits, chance);
    pace = next.pace;
    return next.pause;
  });
}

test("the interval between attempts to reach a lost broker doubles up to five minutes, with even jitter", () => {
  const gone = { kind: "unreachable", upFor: undefined } as const;
  expect(pauses(gone, 11, 0.999_999).map(Math.round)).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
  ]);
  expect(pauses(gone, 3, 0)).toEqual([0, 0, 0]);
  expect(pauses(gone, 3, 0.5)).toEqual([500, 1000, 2000]);
});

test("after a refusal by the broker the first pause is a minute", () => {
  for (const kind of ["refused", "protocol", "credentials"] as const)
    expect(pauses({ kind, upFor: undefined }, 4, 0)).toEqual([60_000, 120_000, 240_000, 300_000]);
  expect(pauses({ kind: "refused", upFor: undefined }, 2, 0.5)).toEqual([90_000, 180_000]);
});

test("a connection that lasts a minute resets the failures, a shorter one does not", () => {
  let pace: Pace = { failures: 8, short: [] };
  expect(afterEnd(pace, { kind: "lost", upFor: 59_999 }, at(0), limits, 0.5).pause).toBe(128_000);
  const next = afterEnd(pace, { kind: "lost", upFor: 60_000 }, at(0), limits, 0.5);
  expect(next.pause).toBe(500);
  pace = next.pace;
  expect(pace.failures).toBe(1);
});

test("two boards with one certificate disconnect each other: four short connections within a minute, reported once", () => {
  let pace = rested;
  const found = [0, 10_000, 20_000, 59_999, 70_000].map((mono) => {
    const next = afterEnd(pace, { kind: "lost", upFor: 1000 }, at(mono), limits, 0);
    pace = next.pace;
    return [next.isDuplicate, next.pause];
  });
  expect(found).toEqual([
    [false, 0],
    [false, 0],
    [false, 0],
    [true, 300_000],
    [false, 0],
  ]);
});

test("a link that flaps slowly, or never came up, is not a sign of a duplicate", () => {
  for (const [ended, step] of [
    [{ kind: "lost", upFor: 5000 }, 1000],
    [{ kind: "lost", upFor: 1000 }, 20_000],
    [{ kind: "unreachable", upFor: undefined }, 1000],
  ] as const) {
    let pace = rested;
    for (let n = 0; n < 20; n++) {
      const next = afterEnd(pace, ended, at(n * step), limits, 0);
      pace = next.pace;
      expect(next.isDuplicate).toBe(false);
    }
  }
});

test("a broker's report that another client took over is a sign of a duplicate, regardless of how long the link lasted", () => {
  let pace = rested;
  const duplicates = [0, 1, 2, 3].map((n) => {
    const next = afterEnd(pace, { kind: "taken", upFor: 14_000 }, at(n * 15_000), limits, 0);
    pace = next.pace;
    return next.isDuplicate;
  });
  expect(duplicates).toEqual([false, false, false, true]);
});

test("a link that the broker ends with a reason, or that we end because of its content, is not a sign of a duplicate", () => {
  for (const kind of ["dismissed", "protocol", "stopped", "refused"] as const) {
    let pace = rested;
    for (let n = 0; n < 10; n++) {
      const next = afterEnd(pace, { kind, upFor: 20 }, at(n * 100), limits, 0);
      pace = next.pace;
      expect(next.isDuplicate).toBe(false);
    }
  }
});

test("a broker that violates MQTT is retried as rarely as one that refuses the board", () => {
  expect(pauses({ kind: "protocol", upFor: 20 }, 4, 0)).toEqual([60_000, 120_000, 240_000, 300_000]);
});
