import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import { neverConnected, type WatchHealth } from "../../../agent/informer/watch-health.ts";
import {
  isOutdated,
  isQuarantineActive,
  isRecovering,
  type Link,
  latestQuarantineEnd,
  linkOf,
  nextQuarantine,
  noQuarantine,
  type Quarantine,
} from "../../../agent/judgement/link.ts";

const start: Instant = { mono: 500_000, wall: 0 };
const at = (seconds: number): Instant => shifted(start, seconds * 1000);
const limits = { stall: 90_000, blip: 10_000 };
const live = (more: Partial<WatchHealth> = {}): WatchHealth => ({
  ...neverConnected,
  connected: true,
  lastReceived: at(0),
  lastProof: at(0),
  ...more,
});

describe("the link", () => {
  test("is live while both watches are live", () => {
    expect(linkOf({ nodes: live(), leases: live() }, limits, at(89))).toMatchObject({
      live: true,
      notLiveSince: undefined,
    });
    expect(linkOf({ nodes: live(), leases: live() }, limits, at(90)).live).toBe(false);
    expect(linkOf({ nodes: live(), leases: neverConnected }, limits, at(1)).live).toBe(false);
    expect(linkOf({ nodes: neverConnected, leases: live() }, limits, at(1)).live).toBe(false);
  });

  test("is deaf since the first of them was lost, and restored when the last one returned", () => {
    const nodes = live({ connected: false, notLiveSince: at(3), restoredAt: at(-9) });
    const leases = live({ connected: false, notLiveSince: at(5), restoredAt: at(-4) });
    expect(linkOf({ nodes, leases }, limits, at(9))).toMatchObject({ notLiveSince: at(3), restoredAt: at(-4) });
  });

  test("keeps the proof of each watch", () => {
    const link = linkOf({ nodes: live({ lastProof: at(-30) }), leases: live() }, limits, at(1));
    expect(link.proof).toEqual({ nodes: at(-30), leases: at(0) });
  });
});

describe("an observation from a live time", () => {
  const since = at(20);
  const isVoid = (watches: { nodes?: WatchHealth; leases?: WatchHealth }, seconds: number): boolean =>
    isOutdated(linkOf({ nodes: live(), leases: live(), ...watches }, limits, at(seconds)), since, limits, at(seconds));

  test("is valid while the link remains live, and after outages that ended before it", () => {
    expect(isVoid({}, 60)).toBe(false);
    expect(isVoid({ nodes: live({ restoredAt: at(20) }) }, 60)).toBe(false);
  });

  test("is outdated once either watch has had an outage, even if both have been live since", () => {
    expect(isVoid({ nodes: live({ restoredAt: at(21) }) }, 60)).toBe(true);
    expect(isVoid({ leases: live({ restoredAt: at(21) }) }, 60)).toBe(true);
  });

  test("is outdated during an outage, but not during a blip", () => {
    const leases = live({ connected: false, notLiveSince: at(30) });
    expect(isVoid({ leases }, 40)).toBe(false);
    expect(isVoid({ leases }, 41)).toBe(true);
    expect(isVoid({}, 95)).toBe(true);
  });
});

describe("a quarantine", () => {
  const gracePeriod = 40_000;
  const link = (more: Partial<Link> = {}): Link => ({
    live: true,
    notLiveSince: undefined,
    restoredAt: at(0),
    proof: { nodes: undefined, leases: undefined },
    ...more,
  });
  const step = (before: Quarantine, seconds: number, more: Partial<Link> = {}, allReported = false): Quarantine =>
    nextQuarantine(before, { link: link(more), gracePeriod, allReported }, at(seconds));

  test("does not exist before the first outage", () => {
    expect(isQuarantineActive(step(noQuarantine, 5, { restoredAt: undefined }))).toBe(false);
  });

  test("lasts a full grace period", () => {
    const first = step(noQuarantine, 1);
    expect(isQuarantineActive(first)).toBe(true);
    expect(isQuarantineActive(step(first, 39.9))).toBe(true);
    expect(isQuarantineActive(step(first, 40))).toBe(false);
  });

  test("counts only live time", () => {
    const deaf = step(step(noQuarantine, 20), 25, { live: false });
    const again = step(deaf, 60);
    expect(isQuarantineActive(again)).toBe(true);
    expect(isQuarantineActive(step(again, 79))).toBe(true);
    expect(isQuarantineActive(step(again, 80))).toBe(false);
  });

  test("ends early once every board has reported", () => {
    expect(isQuarantineActive(step(noQuarantine, 3, {}, true))).toBe(false);
    expect(isQuarantineActive(step(noQuarantine, 3, { live: false }, true))).toBe(true);
  });

  test("does not begin again with the same outage, but with the next one", () => {
    const over = step(noQuarantine, 40);
    expect(isQuarantineActive(step(over, 500))).toBe(false);
    expect(isQuarantineActive(step(over, 500, { restoredAt: at(499) }))).toBe(true);
  });

  test("is followed by a recovery", () => {
    const over = step(noQuarantine, 40);
    expect(isRecovering(over, 600_000, at(639))).toBe(true);
    expect(isRecovering(over, 600_000, at(640))).toBe(false);
    expect(isRecovering(step(noQuarantine, 39), 600_000, at(39))).toBe(false);
    expect(isRecovering(over, 0, at(40))).toBe(false);
  });

  test("that no pass counted has ended when its time has passed", () => {
    const late = step(noQuarantine, 5000);
    expect(late.releasedAt).toEqual(at(40));
    expect(isRecovering(late, 600_000, at(5000))).toBe(false);
  });

  test("lasts the whole grace period for a caller that does not know the boards", () => {
    expect(latestQuarantineEnd(link(), gracePeriod, at(39))).toEqual(at(40));
    expect(latestQuarantineEnd(link(), gracePeriod, at(40))).toBeUndefined();
    expect(latestQuarantineEnd(link({ restoredAt: undefined }), gracePeriod, at(1))).toBeUndefined();
  });
});
