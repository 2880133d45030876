import { afterEach, beforeEach, expect, test } from "vitest";
import { leases, nodes, pods, type Resource } from "../../../agent/api/resources.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import { isInStep, isLive, type WatchHealth } from "../../../agent/informer/watch-health.ts";
import { linkOf } from "../../../agent/judgement/link.ts";
import { AwakeCaches } from "../../../agent/leading/awake-caches.ts";
import { neverSuspended, Suspensions } from "../../../agent/leading/suspensions.ts";
import type { Caches } from "../../../agent/loop/site-view.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const limits = { stall: 90_000, blip: 10_000 };

let clock: FakeClock;
let ends: AbortController;
let suspensions: Suspensions;

beforeEach(async () => {
  clock = new FakeClock();
  ends = new AbortController();
  suspensions = new Suspensions(clock, limits.blip);
  void suspensions.run(ends.signal);
  await clock.advance("10s");
});

afterEach(() => ends.abort());

/** Watches that have just received something, as far as this process knows. */
function caches(): Caches {
  const now = clock.now();
  const health: WatchHealth = {
    connected: true,
    lastReceived: now,
    lastProof: now,
    restoredAt: undefined,
    notLiveSince: undefined,
  };
  // Nothing but the health of a cache is asked.
  return new AwakeCaches(clock, { informer: () => ({ health }) } as unknown as Caches, suspensions);
}

const isLiveNow = (site: Caches, resource: Resource<never>): boolean =>
  isLive(site.informer(resource).health, limits, clock.now());

const linkNow = (site: Caches) =>
  linkOf({ nodes: site.informer(nodes).health, leases: site.informer(leases).health }, limits, clock.now());

test("a process that runs, or is half a second late, was not suspended", async () => {
  await clock.advance("200ms");
  clock.skip(450);
  await clock.advance("1h");
  expect(suspensions.now).toBe(neverSuspended);
});

test.each([0, 100, 250, 400, 499])(
  "a suspension of a little more than a second is noticed, %i ms after the process last showed that it runs",
  async (after) => {
    const site = caches();
    await clock.advance(after);
    expect(linkNow(site).live).toBe(true);
    clock.skip(1010);
    expect(linkNow(site).live).toBe(false);
  },
);

test("after a suspension the boards' watches are not live until they have been read, regardless of which caller asks first", async () => {
  const site = caches();
  expect(linkNow(site).live).toBe(true);
  clock.skip(3000);
  expect([isLiveNow(site, nodes as never), isLiveNow(site, leases as never), isLiveNow(site, pods as never)]).toEqual([
    false,
    false,
    true,
  ]);
  expect(isInStep(site.informer(nodes).health, limits, clock.now())).toBe(false);
  await clock.advance("1900ms");
  expect(linkNow(site).live).toBe(false);
  await clock.advance("2s");
  expect(linkNow(site)).toMatchObject({ live: true, restoredAt: undefined });
});

test("they are not live for as long as the process was suspended, as a frozen machine receives late what it missed", async () => {
  const site = caches();
  clock.skip(8000);
  expect(linkNow(site).live).toBe(false);
  await clock.advance("6500ms");
  expect(linkNow(site).live).toBe(false);
  await clock.advance("2s");
  expect(linkNow(site)).toMatchObject({ live: true, restoredAt: undefined });
});

test("a suspension longer than a blip is an outage", async () => {
  const site = caches();
  clock.skip(15_000);
  const woken = clock.now();
  expect(linkNow(site)).toMatchObject({ live: false, restoredAt: woken });
  await clock.advance("12s");
  expect(linkNow(site)).toMatchObject({ live: true, restoredAt: woken });
  clock.skip(3000);
  expect(linkNow(site)).toMatchObject({ live: false, restoredAt: woken });
});

test("time in which the process is not watched does not count", async () => {
  ends.abort();
  await clock.advance("1s");
  clock.skip(60_000);
  expect(suspensions.now).toBe(neverSuspended);
  ends = new AbortController();
  void suspensions.run(ends.signal);
  await clock.advance("1m");
  expect(suspensions.now).toBe(neverSuspended);
});

/** When a series of stops began, in seconds: at the end of the first of them. */
const secondsFrom = (begun: number, since: Instant | undefined): number | undefined =>
  since && (since.mono - begun) / 1000;

async function stopAgainAndAgain(seconds: number, every: number, stop = 1300): Promise<void> {
  for (let passed = 0; passed < seconds; passed += every) {
    clock.skip(stop);
    await clock.advance(`${every * 1000 - stop}ms`);
  }
}

test("a process that is stopped for a good second in every three says so after a minute, and not once it has run for half a minute", async () => {
  await stopAgainAndAgain(57, 3);
  expect(suspensions.stutteringSince(clock.now())).toBeUndefined();
  const begun = clock.now().mono - 57_000;
  await stopAgainAndAgain(9, 3);
  expect(secondsFrom(begun, suspensions.stutteringSince(clock.now()))).toBe(1.3);
  await clock.advance("31s");
  expect(suspensions.stutteringSince(clock.now())).toBeUndefined();
  clock.skip(1300);
  await clock.advance("1s");
  expect(suspensions.stutteringSince(clock.now())).toBeUndefined();
});

test("a process that is stopped in every three seconds is unable to judge from the first of them on; one that is stopped in every nine judges in between", async () => {
  const begun = clock.now().mono;
  await stopAgainAndAgain(60, 3);
  expect(secondsFrom(begun, suspensions.unableSince(clock.now()))).toBe(1.3);
  await clock.advance("4s");
  expect(suspensions.unableSince(clock.now())).toBeUndefined();
  await stopAgainAndAgain(90, 9);
  expect(suspensions.unableSince(clock.now())).toBeUndefined();
  expect(suspensions.stutteringSince(clock.now())).toBeDefined();
});

test("a process that is stopped for 8 s in every 15 s is unable to judge, because it has to receive as long what it missed", async () => {
  const begun = clock.now().mono;
  await stopAgainAndAgain(60, 15, 8000);
  expect(secondsFrom(begun, suspensions.unableSince(clock.now()))).toBe(8);
  await stopAgainAndAgain(80, 20, 8000);
  await clock.advance("1s");
  expect(suspensions.unableSince(clock.now())).toBeUndefined();
});
