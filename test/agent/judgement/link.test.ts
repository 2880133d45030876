import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import { unheard, type WatchHealth } from "../../../agent/informer/watch-health.ts";
import {
  heldUntil,
  isHeld,
  isOutdated,
  isRecovering,
  type Link,
  linkOf,
  nextQuarantine,
  noQuarantine,
  type Quarantine,
} from "../../../agent/judgement/link.ts";

const start: Instant = { mono: 500_000, wall: 0 };
const at = (seconds: number): Instant => shifted(start, seconds * 1000);
const limits = { stall: 90_000, blip: 10_000 };
const live = (more: Partial<WatchHealth> = {}): WatchHealth => ({
  ...unheard,
  connected: true,
  lastHeard: at(0),
  lastProof: at(0),
  ...more,
});

describe("the link", () => {
  test("is live while both watches are", () => {
    expect(linkOf({ nodes: live(), leases: live() }, limits, at(89))).toMatchObject({
      live: true,
      deafSince: undefined,
    });
    expect(linkOf({ nodes: live(), leases: live() }, limits, at(90)).live).toBe(false);
    expect(linkOf({ nodes: live(), leases: unheard }, limits, at(1)).live).toBe(false);
    expect(linkOf({ nodes: unheard, leases: live() }, limits, at(1)).live).toBe(false);
  });

  test("is deaf since the first of them went, and restored when the last one came back", () => {
    const nodes = live({ connected: false, deafSince: at(3), restoredAt: at(-9) });
    const leases = live({ connected: false, deafSince: at(5), restoredAt: at(-4) });
    expect(linkOf({ nodes, leases }, limits, at(9))).toMatchObject({ deafSince: at(3), restoredAt: at(-4) });
  });

  test("knows what each watch vouches for", () => {
    const link = linkOf({ nodes: live({ lastProof: at(-30) }), leases: live() }, limits, at(1));
    expect(link.proof).toEqual({ nodes: at(-30), leases: at(0) });
  });
});

describe("what was concluded while we listened", () => {
  const since = at(20);
  const isVoid = (watches: { nodes?: WatchHealth; leases?: WatchHealth }, seconds: number): boolean =>
    isOutdated(linkOf({ nodes: live(), leases: live(), ...watches }, limits, at(seconds)), since, limits, at(seconds));

  test("holds while we go on listening, and after outages that were over before", () => {
    expect(isVoid({}, 60)).toBe(false);
    expect(isVoid({ nodes: live({ restoredAt: at(20) }) }, 60)).toBe(false);
  });

  test("is void once there was an outage of either watch, however well both are heard since", () => {
    expect(isVoid({ nodes: live({ restoredAt: at(21) }) }, 60)).toBe(true);
    expect(isVoid({ leases: live({ restoredAt: at(21) }) }, 60)).toBe(true);
  });

  test("is void while one goes on, and not for a blip", () => {
    const leases = live({ connected: false, deafSince: at(30) });
    expect(isVoid({ leases }, 40)).toBe(false);
    expect(isVoid({ leases }, 41)).toBe(true);
    expect(isVoid({}, 95)).toBe(true);
  });
});

describe("quarantine", () => {
  const gracePeriod = 40_000;
  const link = (more: Partial<Link> = {}): Link => ({
    live: true,
    deafSince: undefined,
    restoredAt: at(0),
    proof: { nodes: undefined, leases: undefined },
    ...more,
  });
  const step = (before: Quarantine, seconds: number, more: Partial<Link> = {}, allHeard = false): Quarantine =>
    nextQuarantine(before, { link: link(more), gracePeriod, allHeard }, at(seconds));

  test("there is none before the first outage", () => {
    expect(isHeld(step(noQuarantine, 5, { restoredAt: undefined }))).toBe(false);
  });

  test("lasts a full grace period", () => {
    const first = step(noQuarantine, 1);
    expect(isHeld(first)).toBe(true);
    expect(isHeld(step(first, 39.9))).toBe(true);
    expect(isHeld(step(first, 40))).toBe(false);
  });

  test("of live time", () => {
    const deaf = step(step(noQuarantine, 20), 25, { live: false });
    const again = step(deaf, 60);
    expect(isHeld(again)).toBe(true);
    expect(isHeld(step(again, 79))).toBe(true);
    expect(isHeld(step(again, 80))).toBe(false);
  });

  test("ends early once every board was heard", () => {
    expect(isHeld(step(noQuarantine, 3, {}, true))).toBe(false);
    expect(isHeld(step(noQuarantine, 3, { live: false }, true))).toBe(true);
  });

  test("does not begin again with the outage that it followed, but with the next one", () => {
    const over = step(noQuarantine, 40);
    expect(isHeld(step(over, 500))).toBe(false);
    expect(isHeld(step(over, 500, { restoredAt: at(499) }))).toBe(true);
  });

  test("is followed by a while of recovery", () => {
    const over = step(noQuarantine, 40);
    expect(isRecovering(over, 600_000, at(639))).toBe(true);
    expect(isRecovering(over, 600_000, at(640))).toBe(false);
    expect(isRecovering(step(noQuarantine, 39), 600_000, at(39))).toBe(false);
    expect(isRecovering(over, 0, at(40))).toBe(false);
  });

  test("one that nobody looked at was over when its time was over", () => {
    const late = step(noQuarantine, 5000);
    expect(late.releasedAt).toEqual(at(40));
    expect(isRecovering(late, 600_000, at(5000))).toBe(false);
  });

  test("who does not know the boards waits for the whole grace period", () => {
    expect(heldUntil(link(), gracePeriod, at(39))).toEqual(at(40));
    expect(heldUntil(link(), gracePeriod, at(40))).toBeUndefined();
    expect(heldUntil(link({ restoredAt: undefined }), gracePeriod, at(1))).toBeUndefined();
  });
});
