import { expect, test } from "vitest";
import type { ApiPart } from "../../../agent/status/parts.ts";
import { readStatus } from "../../../agent/status/schema.ts";
import { snapshot, substance } from "../../../agent/status/snapshot.ts";
import { api, at, healthy } from "../../support/site-status.ts";

const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("what is written can be read again, and says the same", () => {
  const status = snapshot(healthy(), undefined);
  expect(readStatus(JSON.stringify(status))).toEqual(written(status));
});

test("the parts stand where the schema says", () => {
  expect(written(snapshot(healthy(), undefined))).toMatchObject({
    schema: "siteward.status/1",
    writtenAt: "2026-11-20T13:00:00.000Z",
    writtenBootMs: 4_605_000,
    staleAfterMs: 90_000,
    startedAt: "2026-11-20T12:00:00.000Z",
    health: { level: "ok", ready: true, conditions: [] },
    leader: { role: "leader", holder: "edge-02", term: 17, leaseAgeMs: 2000, leaseDurationMs: 60_000, renewP95Ms: 180 },
    link: { api: { state: "up", watch: { open: 1, restarts: 1, lastRelist: "2026-11-20T12:00:02.000Z" } } },
    watches: [{ resource: "nodes", state: "live", objects: 12, heardMs: 4000 }],
    zones: [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 8, rate: 0.1 }],
  });
});

test("parts that are not there are left out, not made up", () => {
  const { now, process, identity } = healthy();
  const status = written(snapshot({ now, process, identity }, undefined));
  expect(Object.keys(status as object).sort()).toEqual([
    "bootId",
    "health",
    "identity",
    "pid",
    "schema",
    "staleAfterMs",
    "startedAt",
    "version",
    "writeFailures",
    "writtenAt",
    "writtenBootMs",
  ]);
  expect(readStatus(JSON.stringify(status))).toEqual(status);
});

test("times are counted back from now: a wall clock that was set meanwhile does not make them years old", () => {
  const before1970: ApiPart = { ...api, since: { mono: at(3000).mono, wall: -5_000_000_000 } };
  expect(snapshot(healthy({ api: before1970 }), undefined).link?.api.since).toBe("2026-11-20T12:50:00.000Z");
});

test("a problem keeps its beginning while it lasts, each zone its own, and a new one begins when it comes back", () => {
  const zone = (name: string, ready: number) =>
    ({ name, state: "PartialDisruption", nodes: 4, ready, rate: 0 }) as const;
  const since = (status: ReturnType<typeof snapshot>): string[] =>
    status.health.conditions.map(({ subject, since }) => `${subject} ${since.slice(11, 19)}`);

  const first = snapshot(healthy({ zones: [zone("a", 1)] }, at(100)), undefined);
  const second = snapshot(healthy({ zones: [zone("a", 0), zone("b", 1)] }, at(200)), first);
  expect(since(second)).toEqual(["a 12:01:40", "b 12:03:20"]);
  const well = snapshot(healthy({}, at(300)), second);
  expect(since(snapshot(healthy({ zones: [zone("a", 1)] }, at(400)), well))).toEqual(["a 12:06:40"]);
});

test("ages and counters are no news, a leader, a zone or a problem is", () => {
  const calm = substance(snapshot(healthy(), undefined));
  const memory = { rssBytes: 1, anonymousBytes: 1, peakBytes: 1, heapUsedBytes: 1 };
  const later = healthy({ memory }, at(3700));
  expect(substance(snapshot(later, undefined))).toBe(calm);

  const zones = [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 7, rate: 0.1 }] as const;
  expect(substance(snapshot(healthy({ zones }), undefined))).not.toBe(calm);
  const problems = [{ type: "StorageFull", severity: "critical", message: "no space" }] as const;
  expect(substance(snapshot(healthy({ problems }), undefined))).not.toBe(calm);
});
