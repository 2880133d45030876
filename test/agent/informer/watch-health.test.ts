import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { WatchHealthTracker } from "../../../agent/informer/reflector/watch-health-tracker.ts";
import {
  isInStep,
  isLive,
  neverConnected,
  recordClose,
  recordOpen,
  recordPause,
  recordProof,
  recordReceipt,
  worstOf,
} from "../../../agent/informer/watch-health.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { limits } from "./cache.ts";

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });
const live = recordOpen(neverConnected, limits, at(100));

describe("a watch", () => {
  test("is live while it is connected and received something within the stall bound", () => {
    expect(isLive(neverConnected, limits, at(100))).toBe(false);
    expect(isLive(live, limits, at(189.9))).toBe(true);
    expect(isLive(live, limits, at(190))).toBe(false);
    expect(isLive(recordClose(live, limits, at(101)), limits, at(101))).toBe(false);
  });

  test("does not end an outage when it is opened for the first time, regardless of how long that took", () => {
    expect(recordOpen(recordClose(neverConnected, limits, at(0)), limits, at(500)).restoredAt).toBeUndefined();
  });

  test("that was interrupted up to a blip had no outage", () => {
    const again = recordOpen(recordClose(live, limits, at(150)), limits, at(160));
    expect(again.restoredAt).toBeUndefined();
    expect(again.notLiveSince).toBeUndefined();
  });

  test("that was interrupted for longer is restored when it is opened again", () => {
    const down = recordClose(live, limits, at(150));
    expect(down.notLiveSince).toEqual(at(150));
    expect(recordOpen(down, limits, at(160.1)).restoredAt).toEqual(at(160.1));
  });

  test("that failed several times to open had an outage from the moment it was lost", () => {
    const down = recordClose(recordClose(live, limits, at(150)), limits, at(155));
    expect(down.notLiveSince).toEqual(at(150));
  });

  test("that was closed because it stalled had an outage from its last event on", () => {
    expect(recordClose(live, limits, at(190)).notLiveSince).toEqual(at(100));
  });

  test("that received something after the stall bound, without being closed, had an outage", () => {
    expect(recordReceipt(live, limits, at(195)).restoredAt).toEqual(at(195));
  });

  test("is in step while it delivers, and again some time after a longer interruption", () => {
    const since = (down: number, up: number) => recordOpen(recordClose(live, limits, at(down)), limits, at(up));
    expect(isInStep(live, limits, at(150))).toBe(true);
    expect(isInStep(recordClose(live, limits, at(150)), limits, at(150))).toBe(false);
    expect(isInStep(since(150, 151), limits, at(151))).toBe(true);
    expect(isInStep(since(150, 151.1), limits, at(151.1))).toBe(false);
    expect(isInStep(since(150, 151.1), limits, at(161))).toBe(false);
    expect(isInStep(since(150, 151.1), limits, at(161.1))).toBe(true);
  });

  test("is not in step while received changes cannot be applied", () => {
    const behind = { ...live, behindSince: at(150) };
    expect(isInStep(behind, limits, at(150.9))).toBe(true);
    expect(isInStep(behind, limits, at(151))).toBe(false);
    expect(isInStep(worstOf([live, behind, { ...live, behindSince: at(160) }]), limits, at(151))).toBe(false);
  });

  test("is proven by positions that moved, not by any received bytes", () => {
    expect(live.lastProof).toBeUndefined();
    const known = recordProof(recordReceipt(live, limits, at(110)), at(110));
    expect(recordReceipt(known, limits, at(120)).lastProof).toEqual(at(110));
  });
});

describe("an ordered pause", () => {
  const outage = recordOpen(recordClose(live, limits, at(150)), limits, at(200));

  test("is not an outage if the watch was live when the order came", () => {
    const resting = recordPause(recordClose(live, limits, at(150)), at(150));
    expect(resting).toEqual(neverConnected);
    expect(recordOpen(resting, limits, at(4000)).restoredAt).toBeUndefined();
    expect(recordOpen(recordClose(resting, limits, at(3900)), limits, at(4000)).restoredAt).toBeUndefined();
  });

  test("leaves an earlier outage in place", () => {
    const resting = recordPause(recordClose(outage, limits, at(250)), at(250));
    expect(recordOpen(resting, limits, at(4000)).restoredAt).toEqual(at(200));
  });

  test.each([
    ["was lost before the order came", recordClose(live, limits, at(149))],
    ["had stalled", recordClose(live, limits, at(190))],
  ])("ends an outage if the watch %s", (_, health) => {
    expect(recordOpen(recordPause(health, at(150)), limits, at(4000)).restoredAt).toEqual(at(4000));
  });

  test("expects news only in the next run", () => {
    const next = recordOpen(recordPause(recordClose(live, limits, at(150)), at(140)), limits, at(4000));
    expect([next.lastNews, next.newslessSince]).toEqual([undefined, at(4000)]);
  });

  test("forgets attempts that failed before the first connection, so that the next run begins like the first one", () => {
    expect(recordPause(recordClose(neverConnected, limits, at(100)), at(150))).toEqual(neverConnected);
  });

  test("does not affect a running watch", () => {
    expect(recordPause(outage, at(100))).toBe(outage);
  });
});

test("several watches are as healthy as the worst of them", () => {
  const early = recordProof(recordReceipt(live, limits, at(110)), at(110));
  const late = recordProof(recordReceipt(live, limits, at(130)), at(130));
  const lost = recordClose(late, limits, at(140));
  const restored = recordOpen(recordClose(late, limits, at(140)), limits, at(160));
  expect(worstOf([early])).toEqual(early);
  expect(worstOf([late, early])).toMatchObject({ connected: true, lastReceived: at(110), lastProof: at(110) });
  expect(worstOf([early, lost])).toMatchObject({ connected: false, notLiveSince: at(140) });
  expect(worstOf([early, restored]).restoredAt).toEqual(at(160));
  expect(worstOf([early, neverConnected])).toMatchObject({
    connected: false,
    lastReceived: undefined,
    lastProof: undefined,
  });
});

test("events and moving bookmarks are news; repeated bookmarks and a watch that was opened are not", async () => {
  const clock = new FakeClock();
  const tracker = new WatchHealthTracker(clock, limits);
  const news = () => {
    const { lastNews, newslessSince } = tracker.health(true);
    return [lastNews?.mono, newslessSince?.mono];
  };
  expect(news()).toEqual([undefined, undefined]);
  tracker.opened();
  const first = clock.now().mono;
  expect(news()).toEqual([undefined, first]);
  await clock.advance("60s");
  tracker.bookmark("1", false);
  expect(news()).toEqual([undefined, first]);
  tracker.closed();
  tracker.opened();
  expect(news()).toEqual([undefined, first]);
  tracker.bookmark("2", true);
  const moved = clock.now().mono;
  expect(news()).toEqual([moved, undefined]);
  await clock.advance("60s");
  tracker.closed();
  tracker.opened();
  expect(news()).toEqual([moved, clock.now().mono]);
  await clock.advance("60s");
  tracker.event("3");
  expect(news()).toEqual([clock.now().mono, undefined]);
});
