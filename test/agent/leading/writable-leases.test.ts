import { expect, test } from "vitest";
import { leases, nodes } from "../../../agent/api/resources.ts";
import {
  firstWrite,
  type LeaseRenewalHealth,
  recordAttempt,
  recordFailure,
  recordSuccess,
} from "../../../agent/election/lease-renewal-health.ts";
import type { WatchHealth } from "../../../agent/informer/watch-health.ts";
import { isLive } from "../../../agent/informer/watch-health.ts";
import { linkOf } from "../../../agent/judgement/link.ts";
import { WritableLeases, whileWritable } from "../../../agent/leading/writable-leases.ts";
import type { Caches } from "../../../agent/loop/site-view.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const limits = { stall: 90_000, blip: 10_000 };
const at = (seconds: number) => ({ mono: 1000 * seconds, wall: 0 });
const open: WatchHealth = {
  connected: true,
  lastReceived: at(100),
  lastProof: at(100),
  restoredAt: at(5),
  notLiveSince: undefined,
};
const refusing = recordFailure(recordAttempt(firstWrite(at(80), at(80.1)), at(90)));
const health = (writes: LeaseRenewalHealth, second: number) => whileWritable(open, writes, limits.blip, at(second));

test("a watch that stays open while the API server refuses renewals is not live", () => {
  expect(isLive(health(refusing, 100), limits, at(100))).toBe(true);
  expect(isLive(health(refusing, 101), limits, at(101))).toBe(false);
  expect(health(refusing, 101).notLiveSince).toEqual(at(90));
});

test("once renewals succeed again, an outage has just ended", () => {
  const restored = health(recordSuccess(refusing, at(124), limits.blip, at(124)), 125);
  expect(isLive(restored, limits, at(125))).toBe(true);
  expect(linkOf({ nodes: open, leases: restored }, limits, at(125)).restoredAt).toEqual(at(124));
});

test("an outage of the watch that ended later counts", () => {
  const restored = recordSuccess(refusing, at(124), limits.blip, at(124));
  expect(whileWritable({ ...open, restoredAt: at(200) }, restored, limits.blip, at(210)).restoredAt).toEqual(at(200));
});

test("other watches are not affected", () => {
  const clock = new FakeClock();
  const cache = { health: open };
  const caches = new WritableLeases(clock, { informer: () => cache } as unknown as Caches, {
    writes: () => ({ ...refusing, pendingSince: { mono: clock.now().mono - 20_000, wall: 0 } }),
    blip: limits.blip,
  });
  expect(caches.informer(nodes).health.connected).toBe(true);
  expect(caches.informer(leases).health.connected).toBe(false);
});
