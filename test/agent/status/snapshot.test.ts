import { expect, test } from "vitest";
import type { ApiPart } from "../../../agent/status/parts.ts";
import { readStatus } from "../../../agent/status/schema.ts";
import { significantState, snapshot } from "../../../agent/status/snapshot.ts";
import { api, at, healthy } from "../../support/site-status.ts";

const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("a written status is read back unchanged", () => {
  const status = snapshot(healthy(), undefined);
  expect(readStatus(JSON.stringify(status))).toEqual(written(status));
});

test("each part has the place that the schema gives it", () => {
  expect(written(snapshot(healthy(), undefined))).toMatchObject({
    schema: "siteward.status/1",
    writtenAt: "2026-11-20T13:00:00.000Z",
    writtenBootMs: 4_605_000,
    staleAfterMs: 90_000,
    startedAt: "2026-11-20T12:00:00.000Z",
    health: { level: "ok", ready: true, conditions: [] },
    leader: { role: "leader", holder: "edge-02", term: 17, leaseAgeMs: 2000, leaseDurationMs: 60_000, renewP95Ms: 180 },
    link: { api: { state: "up", watch: { open: 1, restarts: 1 } } },
    watches: [{ resource: "nodes", state: "live", objects: 12, heardMs: 4000 }],
    zones: [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 8, rate: 0.1 }],
  });
});

test("facts that only the rules need are not written, and instants and durations have the schema's format", () => {
  const held = { why: "quarantine after an outage", since: at(3540) };
  const judgement = { at: at(3597), period: 5000, isPaused: false, unwritten: 2, behindSince: undefined, qps: 20 };
  const { journal = { path: "", depth: 0, dbBytes: 0, walBytes: 0 } } = healthy();
  const parts = healthy({
    eviction: { queue: 2, pending: 0, oldestMs: 1000.4, held },
    judgement,
    journal: { ...journal, walExpected: 2 ** 25 },
  });
  const status = snapshot(parts, undefined);
  expect(written(status.eviction)).toEqual({ queue: 2, pending: 0, oldestMs: 1000, held: held.why });
  expect(written(status.judgement)).toEqual({ unwritten: 2, isPaused: false, ageMs: 3000 });
  expect(written(status.journal)).toEqual(journal);
  expect(status.leader).not.toHaveProperty("ownDuration");
  expect(status).not.toHaveProperty("now");
  expect(Object.keys(status.leader ?? {}).slice(0, 4)).toEqual(["role", "holder", "term", "since"]);
});

test("absent parts are left out, not made up", () => {
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

test("times are counted back from now: setting the wall clock does not make them years old", () => {
  const before1970: ApiPart = { ...api, since: { mono: at(3000).mono, wall: -5_000_000_000 } };
  expect(snapshot(healthy({ api: before1970 }), undefined).link?.api.since).toBe("2026-11-20T12:50:00.000Z");
});

test("a problem keeps its start time while it lasts, separately for each zone, and gets a new one when it returns", () => {
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

test("ages and counters are not a change, but a leader, a zone or a problem is", () => {
  const calm = significantState(snapshot(healthy(), undefined));
  const memory = { rssBytes: 1, anonymousBytes: 1, peakBytes: 1, heapUsedBytes: 1 };
  const later = healthy({ memory }, at(3700));
  expect(significantState(snapshot(later, undefined))).toBe(calm);

  const zones = [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 7, rate: 0.1 }] as const;
  expect(significantState(snapshot(healthy({ zones }), undefined))).not.toBe(calm);
  const problems = [{ type: "StorageFull", severity: "critical", message: "no space" }] as const;
  expect(significantState(snapshot(healthy({ problems }), undefined))).not.toBe(calm);
});

test("a drain's progress is written when it changes, because its operator waits for it", () => {
  const draining = (left: number): string => {
    const message = `pi-3 is being drained: 0 pods evicted, ${left} left`;
    const problems = [{ type: "BoardDraining", subject: "pi-3", severity: "info", message }] as const;
    return significantState(snapshot(healthy({ problems }), undefined));
  };
  expect(draining(2)).toBe(draining(2));
  expect(draining(1)).not.toBe(draining(2));
});
