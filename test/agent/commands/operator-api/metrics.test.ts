import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { DeskTotals } from "../../../../agent/commands/desk/desk-counts.ts";
import { exposition } from "../../../../agent/commands/operator-api/exposition.ts";
import { metricsOf } from "../../../../agent/commands/operator-api/metrics.ts";
import type { Status } from "../../../../agent/status/schema.ts";
import { parseExposition } from "./parse-exposition.ts";

const counts: DeskTotals = {
  rejected: [
    { code: 400, error: "malformed", count: 3 },
    { code: 400, error: "schema", count: 1 },
  ],
  answered: [{ name: "ping", state: "succeeded", count: 12 }],
  replayed: 1,
};

/** A board in trouble: every member of the status is present. */
const full: Status = {
  schema: "siteward.status/1",
  writtenAt: "2026-11-20T12:00:05.204Z",
  writtenBootMs: 981_223,
  staleAfterMs: 90_000,
  bootId: "boot-1",
  invocationId: undefined,
  pid: 512,
  version: '1.2.3"\\\n',
  startedAt: "2026-11-20T09:12:11.000Z",
  writeFailures: 4,
  ending: undefined,
  previous: undefined,
  health: {
    level: "degraded",
    ready: false,
    conditions: ["pods", "nodes"].map((subject) => ({
      type: "WatchFailing",
      subject,
      status: true,
      severity: "warning",
      since: "2026-11-20T12:00:00.000Z",
      message: "no",
      hint: undefined,
    })),
  },
  identity: { site: "plant7", board: "edge-02", node: "edge-02", profile: undefined, fleet: "acme" },
  clock: { state: "synced", source: "timesyncd", apiSkewMs: -120 },
  leader: {
    role: "leader",
    holder: "edge-02",
    term: 17,
    since: undefined,
    leaseAgeMs: 2100,
    leaseDurationMs: 60_000,
    renewP95Ms: 180,
    missedRenewals: 0,
  },
  link: {
    api: {
      state: "up",
      since: "2026-11-20T09:12:14Z",
      rttP50Ms: 84,
      rttP95Ms: 410,
      requests1h: 412,
      failed1h: 3,
      lastError: undefined,
      watch: { open: 3, restarts: 2 },
    },
    mqtt: {
      state: "up",
      server: undefined,
      since: "2026-11-20T09:12:14Z",
      session: 312,
      rttMs: 61,
      outbox: { state: 0, response: 1, event: 3, oldestMs: 900 },
      dropped: 7,
      lastError: undefined,
    },
  },
  watches: [
    { resource: "pods", state: "live", objects: 110, heardMs: 10, lists: 1, restarts: 2, rejected: 0, rejectedWhy: [] },
    {
      resource: "nodes",
      state: "failing",
      objects: 12,
      heardMs: undefined,
      lists: 1,
      restarts: 0,
      rejected: 1,
      rejectedWhy: [],
    },
  ],
  traffic: [{ resource: "pods", verb: "watch", requests: 3, sentBytes: 400, receivedBytes: 81_000 }],
  zones: [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 7, rate: 0.1, frozenUntil: undefined }],
  boards: {
    lost: { count: 1, some: [{ name: "edge-03", since: "2026-11-20T11:55:00.000Z" }] },
    off: { count: 0, some: [] },
    notReady: { count: 0, some: [] },
    tainted: 1,
  },
  eviction: {
    queue: 4,
    queueHeld: 4,
    pending: 2,
    due: 1,
    evicted1h: 2,
    acts: [{ act: "pod-evicted", lastHour: 2, total: 7 }],
    heldActs: [{ why: "freeze", now: 1, total: 3 }],
    oldestMs: 61_200,
    held: "quarantine",
    frozen: undefined,
  },
  controllers: [
    {
      name: "pod-gc",
      state: "paused",
      queue: 1,
      syncP95Ms: 38,
      errors1h: 1,
      lastError: undefined,
      until: undefined,
      by: undefined,
      reason: undefined,
    },
  ],
  journal: {
    path: "/var/lib/siteward/cache.db",
    depth: 1822,
    dbBytes: 4_194_304,
    walBytes: 262_144,
    persistence: "persistent",
    writtenBytes24h: 18_874_368,
  },
  memory: {
    rssBytes: 74_448_896,
    anonymousBytes: 20_000_000,
    peakBytes: 80_000_000,
    heapUsedBytes: 31_457_280,
    softBytes: undefined,
    hardBytes: undefined,
    cgroup: undefined,
    psiSome10: undefined,
  },
  board: {
    model: "Raspberry Pi 4",
    compatible: undefined,
    ramBytes: 1_970_368_512,
    tempC: 61.2,
    tempZone: "cpu-thermal",
    throttled: { now: ["undervoltage"], sinceBoot: ["undervoltage", "temperature"] },
    storage: { dev: "mmcblk0", kind: "sd", wear: 0.4, freeBytes: 9_126_805_504, readOnly: false },
    loadavg1: 0.42,
  },
  config: { files: [], warnings: [], desiredVersion: 43, appliedVersion: 42, state: "in-sync" },
  holds: { freezes: [], pauses: [], confirmed: [], quietUntil: undefined },
  commands: [],
};

const families = (status: Status) => parseExposition(exposition(metricsOf(status, counts)));

test("every metric of a board is valid in Prometheus' text format", () => {
  const found = families(full);
  const value = (name: string, labels = {}) =>
    found.get(name)?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;
  expect(value("siteward_build_info", { version: '1.2.3"\\\n' })).toBe(1);
  expect(value("siteward_leader")).toBe(1);
  expect(value("siteward_lease_age_seconds")).toBe(2.1);
  expect(value("siteward_api_clock_skew_seconds")).toBe(-0.12);
  expect(value("siteward_conditions", { type: "WatchFailing", severity: "warning" })).toBe(2);
  expect(value("siteward_api_received_bytes_total", { resource: "pods", verb: "watch" })).toBe(81_000);
  expect(value("siteward_board_throttled", { cause: "temperature" })).toBe(0);
  expect(value("siteward_board_throttled", { cause: "undervoltage" })).toBe(1);
  expect(value("siteward_controller_state", { controller: "pod-gc", state: "paused" })).toBe(1);
  expect(value("siteward_outbox_messages", { class: "event" })).toBe(3);
  expect(value("siteward_cmd_rejected_total", { code: "400", error: "malformed" })).toBe(3);
});

test("names follow the conventions: one prefix, base units, _total only for counters", () => {
  for (const [name, { type }] of families(full)) {
    expect(name).toMatch(/^siteward_[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    expect(name).not.toMatch(/_(ms|millis|milliseconds|minutes|percent|kib|mib|mb|kb)(_|$)/);
  }
});

/** Dashboards and alerts are built on these: a name may be added, none may go. */
test("the names of metrics are stable", () => {
  const names = readFileSync(path.join(import.meta.dirname, "metric-names.txt"), "utf8")
    .trim()
    .split("\n");
  expect([...families(full).keys()].sort()).toEqual(names);
});

test("an agent that has just started exports known values, and omits the others instead of exporting zeros", () => {
  const {
    link,
    leader,
    watches,
    traffic,
    zones,
    eviction,
    controllers,
    board,
    clock,
    holds,
    config,
    journal,
    ...bare
  } = full;
  const found = families({
    ...bare,
    ...{
      link: undefined,
      leader: undefined,
      watches: undefined,
      traffic: undefined,
      zones: undefined,
      eviction: undefined,
    },
    ...{
      controllers: undefined,
      board: undefined,
      clock: undefined,
      holds: undefined,
      config: undefined,
      journal: undefined,
    },
  });
  expect(found.has("siteward_leader")).toBe(false);
  expect(found.has("siteward_eviction_queue")).toBe(false);
  expect(found.get("siteward_ready")?.samples).toEqual([{ labels: {}, value: 0 }]);
});

test("evictions of a site are held by a quarantine, by a freeze of the whole site and by quiet hours", () => {
  const held = (changes: Partial<Status>): string | undefined =>
    /^siteward_eviction_held\S* (\d)$/m.exec(exposition(metricsOf({ ...full, ...changes }, counts)))?.[1];
  const eviction = { queue: 0, pending: 0 };
  const none = { freezes: [], pauses: [], confirmed: [] };
  const frozen = (scope: "site" | "zone") => ({
    eviction: { ...eviction, frozen: [{ scope, until: "2026-11-20T13:00:00.000Z", by: "ops:alice" }] },
    holds: none,
  });
  expect(held({ eviction, holds: none })).toBe("0");
  expect(held({ eviction: { ...eviction, held: "quarantine" }, holds: none })).toBe("1");
  expect(held(frozen("site"))).toBe("1");
  expect(held(frozen("zone"))).toBe("0");
  expect(held({ eviction, holds: { ...none, quietUntil: "2026-11-20T13:00:00.000Z" } })).toBe("1");
});

test("the parser of this test finds faults", () => {
  const ok = "# HELP a b\n# TYPE a gauge\na 1\n";
  expect(parseExposition(ok).size).toBe(1);
  for (const wrong of [
    ok.slice(0, -1),
    "a 1\n",
    "# HELP a b\na 1\n",
    `${ok}a 1\n`,
    `${ok}b 1\n`,
    `${ok}# HELP b c\n# TYPE b gauge\n`,
    '# HELP a b\n# TYPE a gauge\na{x="1",x="2"} 1\n',
    '# HELP a b\n# TYPE a gauge\na{x="\\t"} 1\n',
    '# HELP a b\n# TYPE a gauge\na{x="1"} one\n',
    "# HELP a b\n# TYPE a clock\na 1\n",
    `${ok}\n`,
  ]) {
    expect(() => parseExposition(wrong), wrong).toThrow();
  }
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool) console.info("promtool is not installed: the metrics are read by our own strict reader alone");
test.runIf(hasPromtool)("promtool accepts every metric", () => {
  execFileSync("promtool", ["check", "metrics"], { input: exposition(metricsOf(full, counts)) });
});
