import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bootClock, bootId } from "../../../../../agent/board/facts.ts";
import { readFact } from "../../../../../agent/board/read-fact.ts";
import { judgeFreshness, type ReadingBoard } from "../../../../../agent/cli/commands/status/status-reader.ts";
import { dispatch } from "../../../../../agent/cli/dispatch.ts";
import type { Parts } from "../../../../../agent/status/parts.ts";
import type { Status } from "../../../../../agent/status/schema.ts";
import { snapshot } from "../../../../../agent/status/snapshot.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { recordingIo } from "../../../../support/recording-io.ts";
import { api, at, healthy, leading } from "../../../../support/site-status.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-status-"));
  file = path.join(folder, "status.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As this very process would have written it, so many milliseconds ago. */
function written(changes: Partial<Parts> = {}, overrides: Partial<Status> = {}, age = 1500): void {
  const now = bootClock(readFact) ?? 0;
  const mine = { bootId: bootId(readFact), pid: process.pid, writtenBootMs: now - age };
  writeFileSync(file, JSON.stringify({ ...snapshot(healthy(changes), undefined), ...mine, ...overrides }));
}

async function status(...argv: string[]) {
  const io = recordingIo();
  const code = await dispatch(io, ["status", "--file", file, ...argv]);
  return { code, out: io.out(), err: io.err(), lines: io.out().split("\n") };
}

const degraded: Partial<Parts> = {
  zones: [
    { name: "plant7-a", state: "Normal", nodes: 8, ready: 8, rate: 0.1 },
    { name: "plant7-b", state: "PartialDisruption", nodes: 4, ready: 1, rate: 0.01 },
  ],
};

test("a healthy site is shown in full, with units, on lines of at most 100 characters", async () => {
  written();
  const { code, lines } = await status();
  expect(code).toBe(0);
  expect(lines[0]).toMatch(/^OK {2}edge-02 · site plant7 · siteward 0\.4\.1 · up 1h {4}\(file 2s old\)$/);
  const body = lines.map((line) => line.replace(/ {2,}/g, " "));
  expect(body).toContainEqual(
    expect.stringMatching(
      /^Leader this board, term 17, since \d\d:\d\d \(50m\); lease 2s old of 1m, renew p95 180 ms, 0 missed$/,
    ),
  );
  expect(body.join(" ").replace(/ +/g, " ")).toContain(
    "Links api up for 59m59s, rtt 84/410 ms p50/p95, 3 of 412 requests failed (1 h), 1 watch (2 restarts/h)",
  );
  expect(body).toContain("Zones plant7-a Normal 8/8 ready 0.1/s");
  expect(body).toContain("LAN 6 of 7 other boards answered within a day; no answer from edge-07");
  expect(body).toContain("Journal 3 waiting, 4.0 MiB + WAL 256 KiB, /var/lib/siteward/cache.db");
  expect(body).toContain("Memory 71 MiB RSS, 20 MiB of it private, peak 76 MiB, heap 12 MiB");
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

test("one object and one restart are named in the singular", async () => {
  const [nodes] = healthy().watches ?? [];
  written({ api: { ...api, restarts1h: 1 }, watches: nodes ? [{ ...nodes, objects: 1 }] : [] });
  const { out } = await status();
  expect(out.replace(/\s+/g, " ")).toMatch(/1 watch \(1 restart\/h\).* live 1 object last event/);
});

test("problems come first, each with the next step", async () => {
  written(degraded);
  const { code, lines } = await status();
  expect(code).toBe(1);
  expect(lines[0]).toMatch(/^DEGRADED/);
  expect(lines[1]).toMatch(
    /^ {2}! ZoneDisrupted +plant7-b: PartialDisruption, 1 of 4 boards ready, evicting at 0\.01 boards\/s/,
  );
  expect(lines[2]).toMatch(/^ +-> check power and network of the zone$/);
  expect(lines[3]).toBe("");
});

test("acts that are held are counted by reason, and the hour of the safety valve is shown before it shuts", async () => {
  const heldActs = [
    { why: "verdict", now: 4, total: 9 },
    { why: "zone", now: 0, total: 3 },
  ];
  const eviction = { queue: 0, pending: 0, due: 4, held: undefined };
  const row = async (changes: Partial<NonNullable<Parts["eviction"]>>): Promise<string> => {
    written({ eviction: { ...eviction, ...changes } });
    const { out } = await status();
    return /^Eviction(.*?)^\S/ms.exec(out)?.[1]?.replace(/\s+/g, " ").trim() ?? "";
  };
  expect(await row({})).toBe("0 boards queued, 0 pods waiting, 4 pods due, not held");
  expect(await row({ heldActs })).toBe("0 boards queued, 0 pods waiting, 4 pods held, 4 acts held (verdict 4)");
  const zone = { why: "zone", now: 2, total: 3 };
  const many = [{ why: "valve", now: 100, total: 100 }];
  expect(await row({ heldActs: many })).toMatch(/, at least 100 acts held \(valve 100\)$/);
  expect(await row({ heldActs: [...heldActs.slice(0, 1), zone] })).toMatch(/, 6 acts held \(verdict 4, zone 2\)$/);
  const valve = { acts: 3, limit: 10, boards: 1, mostBoards: 2 };
  expect(await row({ due: 0, valve })).toMatch(/, 3 of 10 harmful acts this hour, not held$/);
  expect(await row({ due: 0, valve: { ...valve, acts: 0 } })).toBe("0 boards queued, 0 pods waiting, not held");
});

test("a zone that evicts slowly says until when, and a link that is down when it last answered", async () => {
  const slow = { slowUntil: at(4200), slowAfter: "outage" } as const;
  const error = { kind: "unreachable", message: "no answer" } as const;
  written({
    zones: [{ name: "plant7-a", state: "Normal", nodes: 8, ready: 8, rate: 0.01, ...slow }],
    api: { ...api, state: "down", since: at(3555), answeredMs: 90_000, error },
  });
  const { lines } = await status();
  const body = lines.map((line) => line.replace(/ {2,}/g, " "));
  expect(body).toContainEqual(
    expect.stringMatching(/^Zones plant7-a Normal 8\/8 ready 0\.01\/s slow until \d\d:\d\d \(outage\)$/),
  );
  expect(body).toContainEqual(expect.stringMatching(/^Links api down for 45s, last answer 1m30s ago, /));
});

test("every part of a fleet board's status has its line, of at most 100 characters", async () => {
  written({
    identity: { site: "plant7", board: "edge-02", node: "edge-02", profile: "raspberry-pi-4", fleet: "acme" },
    mqtt: {
      state: "up",
      since: at(14),
      session: 312,
      outbox: { state: 0, response: 1, event: 3, oldestMs: 900 },
      dropped: 0,
    },
    clock: { state: "synced", source: "timesyncd", apiSkewMs: -120 },
    holds: {
      freezes: [{ scope: "site", until: at(7200), by: "ops:alice", reason: "radio maintenance CHG-1182" }],
      pauses: [{ controller: "pod-gc", until: at(7200), by: "ops:alice" }],
      confirmed: [{ target: "plant7-b", until: at(7200), by: "ops:bob" }],
    },
    controllers: [
      { name: "node-lifecycle", state: "running", queue: 1, syncP95Ms: 38, errors1h: 0 },
      { name: "pod-gc", state: "running", queue: 0 },
    ],
    memory: {
      rssBytes: 74_448_896,
      anonymousBytes: undefined,
      peakBytes: undefined,
      heapUsedBytes: 12_582_912,
      softBytes: 115_343_360,
      hardBytes: 146_800_640,
      cgroup: "off",
    },
    board: {
      model: "Raspberry Pi 4 Model B Rev 1.5",
      ramBytes: 1_970_368_512,
      tempC: 61.2,
      throttled: { now: [], sinceBoot: ["undervoltage"] },
      storage: { dev: "mmcblk0", kind: "sd", freeBytes: 9_126_805_504, readOnly: false },
      loadavg1: 0.42,
    },
    config: { files: [], warnings: [], desiredVersion: 43, appliedVersion: 42, state: "rolled-back" },
    commands: [
      {
        id: "01JCZK6Q",
        name: "controllers.pause",
        state: "succeeded",
        at: at(3500),
        by: "ops:alice",
        reason: "CHG-1182",
      },
    ],
  });
  const { code, lines } = await status();
  expect(code).toBe(0);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  const body = lines.map((line) => line.replace(/ {2,}/g, " ").trim());
  expect(lines[0]).toMatch(/^OK {2}edge-02 · site plant7 · fleet acme · /);
  const wanted = [
    /^mqtt up for 59m46s, session 312, outbox 1 response \+ 3 events \(900ms\), 0 dropped$/,
    /^Zones plant7-a Normal 8\/8 ready 0\.1\/s FROZEN until \d\d:\d\d$/,
    /^plant7-b CONFIRMED DEAD until \d\d:\d\d by ops:bob$/,
    /^Eviction .* evicted by this board in the last hour, FROZEN:$/,
    /^pod-gc PAUSED until \d\d:\d\d by ops:alice$/,
    /^Memory 71 MiB RSS of 110 MiB soft, 140 MiB hard, heap 12 MiB, cgroup limit off$/,
    /^Board Raspberry Pi 4 Model B Rev 1\.5, 1\.8 GiB, 61\.2 °C, load 0\.42, sd 8\.5 GiB free, since$/,
    /^Clock synced \(timesyncd\), API skew -0\.12 s$/,
    /^Config fleet version 43 desired, 42 applied: rolled-back$/,
    /^Commands \d\d:\d\d controllers\.pause succeeded by ops:alice \(CHG-1182\), id 01JCZK6Q$/,
  ];
  for (const line of wanted) expect(body).toContainEqual(expect.stringMatching(line));
  const short = await status("--short");
  expect(short.out).toContain("mqtt up");
});

test("a follower shows who leads", async () => {
  written({
    leader: { ...leading(), role: "standby", holder: "edge-05", renewP95Ms: undefined, missedRenewals: undefined },
  });
  const { out } = await status();
  expect(out).toMatch(/^Leader +edge-05, term 17.*; lease of 1m, read 2s ago; this board is standby$/m);
});

test("a critical status exits with 2", async () => {
  written({
    selectionConflicts: [{ site: "plant8", lease: "kube-system/siteward-plant8", boards: 1, some: ["edge-07"] }],
  });
  expect((await status()).code).toBe(2);
});

test("an agent that is gone is STALE, regardless of its last status", async () => {
  written({}, { pid: 2 ** 22 + 1 });
  const { code, lines } = await status();
  expect(code).toBe(3);
  expect(lines[0]).toMatch(/^STALE {2}last update 2s ago \(pid 4194305 gone\)$/);
  expect(lines[1]).toContain("was ok");
  expect(lines[2]).toContain("-> it was killed or crashed, and journalctl -u siteward may say why: start it again");
  written({}, { pid: 2 ** 22 + 1, ending: { cause: "stop" } });
  expect((await status()).lines[2]).toContain("-> it was stopped: start it again");
});

test("an agent that hangs is STALE after its own limit, and not before", async () => {
  written({}, {}, 89_000);
  expect((await status()).code).toBe(0);
  written({}, {}, 252_000);
  const { code, lines } = await status("--short");
  expect(code).toBe(3);
  expect(lines[0]).toMatch(
    /^STALE edge-02 · last update 4m12s ago \(pid \d+ exists but hangs; its status is stale after 1m30s\)/,
  );
});

test("a status from another boot is STALE, even if it looks younger", async () => {
  written({}, { bootId: "another", writtenBootMs: Number.MAX_SAFE_INTEGER });
  const { code, lines } = await status();
  expect(code).toBe(3);
  expect(lines[0]).toBe("STALE  last update before a restart of the board (the agent has not started since)");
});

test("freshness depends only on boot, process and boot clock", () => {
  const last = snapshot(healthy(), undefined);
  const reader: ReadingBoard = { bootId: "boot-1", bootMs: last.writtenBootMs + 1000, isAlive: (pid) => pid === 512 };
  const kinds = [
    reader,
    { ...reader, bootMs: last.writtenBootMs + 90_000 },
    { ...reader, bootMs: last.writtenBootMs + 90_001 },
    { ...reader, bootMs: last.writtenBootMs - 10 },
    { ...reader, bootMs: undefined },
    { ...reader, isAlive: () => false },
    { ...reader, bootId: "boot-2" },
  ].map((one) => judgeFreshness(last, one).kind);
  expect(kinds).toEqual(["fresh", "fresh", "stale", "fresh", "stale", "stale", "stale"]);
});

test("without a status file the agent counts as not running, and the next step is shown", async () => {
  const { code, out } = await status();
  expect(code).toBe(3);
  expect(out).toBe(`NOT RUNNING  there is no ${file}\n  -> start it: siteward run\n`);
});

test.each([
  ["half a file", '{"schema":"siteward.status/1",'],
  ["another schema", '{"schema":"siteward.status/2"}'],
  ["no status at all", "[1, 2, 3]"],
])("%s is reported as unreadable, on one line and with exit code 4", async (_, source) => {
  writeFileSync(file, source);
  const { code, out, err } = await status();
  expect(code).toBe(4);
  expect(out).toBe("");
  expect(err).toMatch(/^siteward: \S+ is not a valid status file: .*\n$/);
});

test("a folder in place of the status file is reported as unreadable too", async () => {
  mkdirSync(file);
  expect((await status()).code).toBe(4);
});

test("--json prints the file's content and the reader's findings, in every state", async () => {
  written(degraded);
  const fresh = await status("--json");
  expect(fresh.code).toBe(1);
  const { reader, zones, health } = JSON.parse(fresh.out);
  expect(reader).toMatchObject({ state: "fresh", ageMs: expect.any(Number) });
  expect(zones).toHaveLength(2);
  expect(health.level).toBe("degraded");

  rmSync(file);
  const absent = await status("--json");
  expect([absent.code, JSON.parse(absent.out).reader.state]).toEqual([3, "absent"]);
});

test("--short prints one line", async () => {
  written(degraded);
  const { out } = await status("--short");
  expect(out).toBe(
    "DEGRADED edge-02 · leader, term 17 · boards 9/12 ready · evict 0 queued · api up · ZoneDisrupted\n",
  );
});

test("--short cuts its line only to fit a terminal, and names every problem in a pipe", async () => {
  const many = Array.from({ length: 12 }, (_, at) => `QuarantineHold${at}`);
  written({ problems: many.map((type) => ({ type, severity: "warning", message: "held" })) });
  const asked = async (isTTY: boolean): Promise<string> => {
    const io = recordingIo({ isTTY, columns: 80 });
    await dispatch(io, ["status", "--file", file, "--short"]);
    return io.out();
  };
  for (const type of many) expect(await asked(false)).toContain(type);
  expect(await asked(true)).toMatch(/…\n$/);
});

test("colour is used only on terminals, and not if NO_COLOR is set", async () => {
  written();
  const asked = async (io: ReturnType<typeof recordingIo>): Promise<boolean> => {
    await dispatch(io, ["status", "--file", file]);
    return io.out().includes("\u001b[");
  };
  expect(await asked(recordingIo({ isTTY: true }))).toBe(true);
  expect(await asked(recordingIo({ isTTY: true, env: { NO_COLOR: "1" } }))).toBe(false);
  expect(await asked(recordingIo())).toBe(false);
});

test("text from the API cannot control the terminal", async () => {
  const problems = [{ type: "Odd", severity: "warning", message: "a\u001b[2Jb\u0007c\u009bd" }] as const;
  written({ problems });
  const io = recordingIo({ isTTY: true });
  await dispatch(io, ["status", "--file", file]);
  expect(io.out()).toContain("a?[2Jb?c?d");
});

test("a narrow terminal gets narrow lines", async () => {
  written({ problems: [{ type: "Odd", severity: "warning", message: "word ".repeat(60), hint: "hint ".repeat(40) }] });
  const io = recordingIo({ columns: 60 });
  await dispatch(io, ["status", "--file", file]);
  expect(
    io
      .out()
      .split("\n")
      .filter((line) => line.length > 60),
  ).toEqual([]);
});

test("--wait ready waits until the agent is ready, and then prints its status", async () => {
  const clock = new FakeClock();
  const io = recordingIo({ clock });
  const done = dispatch(io, ["status", "--file", file, "--wait", "ready", "--timeout", "2m"]);
  await clock.advance("10s");
  written({ api: { ...api, state: "starting" } });
  await clock.advance("10s");
  expect(io.out()).toBe("");
  written();
  await clock.advance("1s");
  expect(await done).toBe(0);
  expect(io.out()).toMatch(/^OK/);
});

test("an agent that stops is STOPPING, not STARTING", async () => {
  written({ api: { ...api, state: "starting" } }, { ending: { cause: "stop" } });
  expect((await status()).out).toMatch(/^STOPPING {2}edge-02/);
});

test("the last outage is shown with its cause", async () => {
  const outage = { number: 1, from: at(3000), to: at(3060) };
  written({ api: { ...api, lastOutage: { ...outage, why: "credentials", boardsHeld: 0, podsHeld: 0 } } });
  expect((await status()).out).toContain("(1m): no usable credentials for the API server; no eviction became due");
  written({ api: { ...api, lastOutage: { ...outage, why: "credentials", boardsHeld: 1, podsHeld: 2 } } });
  expect((await status()).out).toMatch(/API server; 1 board and 2 pods held,\s+nothing evicted\n/);
  written({ api: { ...api, lastOutage: { ...outage, why: "silence" } } });
  expect((await status()).out).toContain("(1m): no heartbeats from the API server, although no request failed");
  // A board that did not lead does not know what was due.
  written({ api: { ...api, lastOutage: outage } });
  expect((await status()).out).toMatch(/\(1m\): no response from the API server\n/);
});

test("--wait ends at its timeout with the last status", async () => {
  const clock = new FakeClock();
  const io = recordingIo({ clock });
  const done = dispatch(io, ["status", "--file", file, "--wait", "ready", "--timeout", "5", "--short"]);
  written({ api: { ...api, state: "starting" } });
  await clock.advance("5250ms");
  expect(await done).toBe(1);
  expect(io.err()).toBe("siteward: the agent was not ready in time\n");
  expect(io.out()).toMatch(/^STARTING edge-02/);
});

test("--watch prints again until it is interrupted, and its exit code is that of the last status", async () => {
  const clock = new FakeClock();
  const io = recordingIo({ clock });
  written();
  const done = dispatch(io, ["status", "--file", file, "--watch", "5", "--short"]);
  await clock.advance("11s");
  written(degraded);
  await clock.advance("5s");
  io.stop.abort();
  expect(await done).toBe(1);
  expect(
    io
      .out()
      .split("\n")
      .map((line) => line.split(" ")[0]),
  ).toEqual(["OK", "OK", "OK", "DEGRADED", ""]);
});

test.each([
  ["--timeout soon --wait ready", "siteward: status: --timeout takes seconds, or a duration such as 2m\n"],
  ["--watch 0", "siteward: status: --watch takes seconds, or a duration such as 2m, of at least 100ms\n"],
  ["--watch abc", "siteward: status: --watch takes seconds, or a duration such as 2m, of at least 100ms\n"],
])("%s is refused", async (options, err) => {
  written();
  expect(await status(...options.split(" "))).toMatchObject({ code: 64, err });
});

test("the file is read from the run folder set in the environment", async () => {
  written({ identity: { ...healthy().identity, board: "edge-09" } });
  const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder } });
  expect(await dispatch(io, ["status", "--short"])).toBe(0);
  expect(io.out()).toContain("edge-09");
});

test.each(["constructor", "new"])("a level %s that this version does not know gives exit code 4", async (level) => {
  const { health } = snapshot(healthy({}), undefined);
  written({}, { health: { ...health, level } } as unknown as Partial<Status>);
  expect((await status()).code).toBe(4);
});

test("a space follows the name of each problem", async () => {
  const types = ["FleetConfigTakenBack", "ControllersNotStarted", "CommandPolicyUnusable"];
  written({
    problems: types.map((type) => ({ type, severity: "warning", message: "version 44 has been taken back" })),
  });
  const { out } = await status();
  for (const type of types) expect(out).toMatch(new RegExp(`^ {2}! ${type} +version 44`, "m"));
});
