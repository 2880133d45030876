import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import {
  closed,
  heard,
  isLive,
  opened,
  paused,
  proven,
  unheard,
  worstOf,
} from "../../../agent/informer/watch-health.ts";
import { limits } from "./cache.ts";

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });
const live = opened(unheard, limits, at(100));

describe("a watch", () => {
  test("is live while it is connected and something came within the stall bound", () => {
    expect(isLive(unheard, limits, at(100))).toBe(false);
    expect(isLive(live, limits, at(189.9))).toBe(true);
    expect(isLive(live, limits, at(190))).toBe(false);
    expect(isLive(closed(live, limits, at(101)), limits, at(101))).toBe(false);
  });

  test("ends no outage when it is opened for the first time, however long that took", () => {
    expect(opened(closed(unheard, limits, at(0)), limits, at(500)).restoredAt).toBeUndefined();
  });

  test("that was interrupted up to a blip was not deaf", () => {
    const again = opened(closed(live, limits, at(150)), limits, at(160));
    expect(again.restoredAt).toBeUndefined();
    expect(again.deafSince).toBeUndefined();
  });

  test("that was interrupted for longer is restored when it is opened again", () => {
    const down = closed(live, limits, at(150));
    expect(down.deafSince).toEqual(at(150));
    expect(opened(down, limits, at(160.1)).restoredAt).toEqual(at(160.1));
  });

  test("that failed to open several times was deaf since it was lost", () => {
    const down = closed(closed(live, limits, at(150)), limits, at(155));
    expect(down.deafSince).toEqual(at(150));
  });

  test("that was torn down because it stalled was deaf since it was last heard", () => {
    expect(closed(live, limits, at(190)).deafSince).toEqual(at(100));
  });

  test("that spoke again after the stall bound, without being torn down, was deaf", () => {
    expect(heard(live, limits, at(195)).restoredAt).toEqual(at(195));
  });

  test("proves with what moved, not with what was merely heard", () => {
    expect(live.lastProof).toBeUndefined();
    const known = proven(heard(live, limits, at(110)), at(110));
    expect(heard(known, limits, at(120)).lastProof).toEqual(at(110));
  });
});

describe("a pause that was ordered", () => {
  const outage = opened(closed(live, limits, at(150)), limits, at(200));

  test("is no outage where the watch was live when the order came", () => {
    const resting = paused(closed(live, limits, at(150)), at(150));
    expect(resting).toEqual(unheard);
    expect(opened(resting, limits, at(4000)).restoredAt).toBeUndefined();
    expect(opened(closed(resting, limits, at(3900)), limits, at(4000)).restoredAt).toBeUndefined();
  });

  test("leaves the outage before it where it was", () => {
    const resting = paused(closed(outage, limits, at(250)), at(250));
    expect(opened(resting, limits, at(4000)).restoredAt).toEqual(at(200));
  });

  test.each([
    ["was lost before the order came", closed(live, limits, at(149))],
    ["had stalled", closed(live, limits, at(190))],
  ])("ends an outage where the watch %s", (_, health) => {
    expect(opened(paused(health, at(150)), limits, at(4000)).restoredAt).toEqual(at(4000));
  });

  test("changes nothing of a watch that runs", () => {
    expect(paused(outage, at(100))).toBe(outage);
  });
});

test("several watches are as good as the worst of them", () => {
  const early = proven(heard(live, limits, at(110)), at(110));
  const late = proven(heard(live, limits, at(130)), at(130));
  const lost = closed(late, limits, at(140));
  const restored = opened(closed(late, limits, at(140)), limits, at(160));
  expect(worstOf([early])).toEqual(early);
  expect(worstOf([late, early])).toMatchObject({ connected: true, lastHeard: at(110), lastProof: at(110) });
  expect(worstOf([early, lost])).toMatchObject({ connected: false, deafSince: at(140) });
  expect(worstOf([early, restored]).restoredAt).toEqual(at(160));
  expect(worstOf([early, unheard])).toMatchObject({ connected: false, lastHeard: undefined, lastProof: undefined });
});
