import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../../../agent/base/clock.ts";
import { bootClock, bootId } from "../../../../../agent/board/facts.ts";
import { readFact } from "../../../../../agent/board/read-fact.ts";
import { dispatch } from "../../../../../agent/cli/dispatch.ts";
import { ControlSocket } from "../../../../../agent/commands/operator-api/control-socket.ts";
import { decisionBound } from "../../../../../agent/decisions/decision-book.ts";
import { type DecisionRecord, type HeldGroup, subjectText } from "../../../../../agent/decisions/decision-record.ts";
import type { Status } from "../../../../../agent/status/schema.ts";
import { DecisionLog } from "../../../../../storage/decision-log.ts";
import { cacheMigrations } from "../../../../../storage/schema.ts";
import { StateFolder } from "../../../../../storage/state-folder.ts";
import { bareStatus } from "../../../../support/bare-status.ts";
import { CommandBoard } from "../../../../support/command-desk.ts";
import { recordingIo } from "../../../../support/recording-io.ts";
import { RecordingLog } from "../../../../support/recording-log.ts";
import { SeededRandom } from "../../../../support/seeded-random.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-why-"));
  mkdirSync(path.join(folder, "state"));
  writeFileSync(
    path.join(folder, "siteward.yaml"),
    [
      "apiVersion: siteward.dev/v1",
      "kind: AgentConfiguration",
      "board: { name: edge-02 }",
      `state: { folder: ${path.join(folder, "state")} }`,
    ].join("\n"),
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

async function why(...argv: readonly string[]) {
  const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder }, clock: new SystemClock() });
  const code = await dispatch(io, ["why", ...argv, "--config", path.join(folder, "siteward.yaml")]);
  return { code, out: io.out(), err: io.err() };
}

const at = (time: string) => ({ at: `2026-11-20T${time}.000Z`, boot: "an earlier boot", mono: 1000 });
const local = (time: string): string => {
  const moment = new Date(`2026-11-20T${time}Z`);
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
  return `${date} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":")}`;
};

const silence = { verdict: "unproven", rule: "silent past its grace period, and no witness but the API" } as const;
const common = { v: 1, board: "pi-3", leader: "edge-02", term: 3, state: "done", restraints: [], failures: 0 } as const;
const onBoard = { kind: "Node", name: "pi-3", uid: "n3" };

const marked: DecisionRecord = {
  ...common,
  act: "board-marked",
  on: onBoard,
  by: "node-lifecycle",
  because: { kind: "silence", ...silence, silentMs: 44_000, graceMs: 40_000, provenMs: 3000 },
  gate: { ready: "True" },
  first: at("10:51:37"),
  last: at("10:51:37"),
};
const tainted: DecisionRecord = {
  ...marked,
  act: "board-tainted",
  because: { ...marked.because, kind: "silence", ...silence, zone: { name: "zone-a", state: "normal" } },
  gate: { policy: "evidence", ready: "Unknown", rate: 0.1, level: 1 },
};
const evicted: DecisionRecord = {
  ...common,
  act: "pod-evicted",
  on: { kind: "Pod", namespace: "default", name: "web-1", uid: "p1" },
  by: "taint-eviction",
  because: {
    kind: "taints",
    taints: ["node.kubernetes.io/unreachable"],
    toleratedMs: 300_000,
    ranMs: 300_500,
    silence: { ...silence, silentMs: 353_000, graceMs: 40_000, provenMs: 2000 },
  },
  gate: { policy: "evidence", ready: "Unknown" },
  restraints: [
    { why: "freeze", scope: "site", by: "ops:jo", reason: "radio", leftMs: 600_000, since: at("10:56:37") },
    { why: "quarantine", since: at("11:06:00") },
  ],
  first: at("10:56:37"),
  last: at("11:07:00"),
};

/** Stores the records where no agent runs. */
function stored(...records: readonly DecisionRecord[]): void {
  const pragmas = { cacheKiB: 512, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 4096 };
  const state = StateFolder.open({ folder: path.join(folder, "state"), pragmas, stamp: "1" });
  new DecisionLog(state.state.database, decisionBound).write(
    records.map((record) => ({
      id: undefined,
      subject: subjectText(record.on),
      board: record.board,
      text: JSON.stringify(record),
    })),
  );
  state.close();
}

test("siteward why POD prints one sentence, then the story of the pod and its board, in local time", async () => {
  stored(marked, tainted, evicted);
  const { code, out } = await why("pod/default/web-1");
  expect(code).toBe(0);
  const text = out.replace(/\n +(?=\S)/g, (gap) => (gap.length > 20 ? " " : gap));
  expect(text).toBe(
    [
      `pod/default/web-1 was evicted from pi-3 at ${local("11:07:00")} by edge-02 (term 3), because pi-3 has`,
      "the taint node.kubernetes.io/unreachable, which the pod tolerates for 5m; pi-3 was silent for at",
      "least 5m51s (grace period 40s)",
      "",
      `  ${local("10:51:37")}  node/pi-3 marked as Ready=Unknown: pi-3 was silent for at least 41s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 3s old`,
      `  ${local("10:51:37")}  node/pi-3 tainted NoExecute: pi-3 was silent for at least 41s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 3s old; zone zone-a normal`,
      `  ${local("10:56:37")}  pod/default/web-1 held back: evictions of the site were frozen by ops:jo (radio) for another 10m`,
      `  ${local("11:06:00")}  pod/default/web-1 held back: after an outage, not every board had sent a heartbeat yet`,
      `  ${local("11:07:00")}  pod/default/web-1 evicted from pi-3: pi-3 has the taint node.kubernetes.io/unreachable, which the pod tolerates for 5m; pi-3 was silent for at least 5m51s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 2s old`,
      "",
      "The agent of this board, edge-02, is not running: its records end where it stopped. Ask the board",
      "that leads now.",
      "",
    ].join("\n"),
  );
});

test("siteward why BOARD prints the board's story and those of its pods; why last prints the newest one", async () => {
  stored(marked, tainted, evicted);
  const { out } = await why("node/pi-3");
  expect(out).toContain("node/pi-3 was tainted NoExecute at");
  expect(out).toContain("pod/default/web-1 evicted from pi-3");
  expect((await why("last")).out).toBe((await why("pod/default/web-1")).out);
});

test("an act that is held back, has lapsed or failed is described as such", async () => {
  const { restraints } = evicted;
  stored({ ...evicted, state: "held", restraints: restraints.slice(0, 1) });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(
    `pod/default/web-1 was due to be evicted from pi-3, but edge-02 (term 3) held this back from ${local("10:56:37")} until its agent stopped or its term ended: evictions of the site were frozen by ops:jo (radio)`,
  );
  stored({ ...evicted, state: "lapsed" });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(`and was no longer due at ${local("11:07:00")}`);
  stored({ ...evicted, state: "failed", failures: 3, error: "pods is forbidden", restraints: [] });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(
    `was due to be evicted from pi-3; edge-02 (term 3) failed to do this 3 times from ${local("10:56:37")} until its agent stopped or its term ended: pods is forbidden`,
  );
});

test.each([
  ["acts", "the safety valve was shut: 10 harmful acts within an hour (limit 10)"],
  ["pods", "the safety valve was shut for pods: 10 harmful acts within an hour (limit 10, of which a part is kept"],
  ["share", "the safety valve was shut for the pod's namespace, which had used its share: 10 harmful acts within an"],
  ["boards", "the safety valve was shut: 10 silent boards were tainted (limit 10)"],
  ["unknown", "the safety valve was shut: the harmful acts of the last hour were unknown"],
] as const)("an act that the safety valve holds because of its %s is described as such", async (of, text) => {
  const since = at("10:56:37");
  stored({ ...evicted, state: "held", restraints: [{ why: "valve", of, count: 10, limit: 10, since }] });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(`until its agent stopped or its term ended: ${text}`);
});

test.each([
  ["asked", "pod", "the annotation siteward.dev/on-silence of the pod keeps it on a silent board"],
  ["asked", "namespace", "the annotation siteward.dev/on-silence of its namespace keeps it on a silent board"],
  [
    "asked unclearly",
    "pod",
    "the annotation siteward.dev/on-silence of the pod has a value that this version does not",
  ],
  ["no owner", undefined, "no controller would replace the pod, so an eviction would lose it for good"],
  ["StatefulSet", undefined, "its StatefulSet starts no second copy before the board confirms that the pod has ended"],
  ["DaemonSet", undefined, "its DaemonSet would start it on the same board again"],
  ["no board", undefined, "no other board is Ready and uncordoned, so an eviction would gain no second copy"],
  [
    "placement",
    undefined,
    "no other Ready board can take it (node selector, affinity, taints, requests), so an eviction",
  ],
  ["volume", undefined, "its volume cannot be used on another Ready board, so an eviction would gain no second copy"],
] as const)(
  "a pod that stays on its silent board (%s, %s) is described as such, and how to evict it",
  async (reason, of, text) => {
    const since = at("10:56:37");
    const restraint = { why: "no-gain", reason, ...(of && { of }), since } as const;
    stored({ ...evicted, state: "held", restraints: [restraint] });
    const out = (await why("last")).out.replace(/\s+/g, " ");
    expect(out).toContain(`until its agent stopped or its term ended: ${text}`);
    expect(out).toContain(
      "; board.confirm-dead evicts it all the same, and so does siteward.dev/on-silence: replace-when-lost",
    );
  },
);

test("a moment of this boot is shown correctly even if the clock has been set since then", async () => {
  const { mono, wall } = new SystemClock().now();
  const moment = { at: "1970-01-01T00:00:09.000Z", boot: bootId(readFact), mono: mono - 60_000 };
  stored({ ...marked, first: moment, last: moment });
  const then = new Date(wall - 60_000);
  const seconds = [then.getHours(), then.getMinutes()].map((value) => String(value).padStart(2, "0")).join(":");
  expect((await why("node/pi-3")).out).toContain(` ${seconds}:`);
});

test("events are in the order of their displayed times, even if the clock was set back in between", async () => {
  const { mono, wall } = new SystemClock().now();
  const ago = (ms: number, at: string) => ({ at, boot: bootId(readFact), mono: mono - ms });
  const [first, second] = [ago(60_000, "2037-01-01T00:00:00.000Z"), ago(30_000, new Date(wall - 30_000).toISOString())];
  stored({ ...marked, first, last: first }, { ...evicted, restraints: [], first: second, last: second });
  const { out } = await why("pod/default/web-1");
  expect(out.indexOf("node/pi-3 marked")).toBeGreaterThan(0);
  expect(out.lastIndexOf("evicted from pi-3")).toBeGreaterThan(out.indexOf("node/pi-3 marked"));
});

test("as JSON a pod's records include those of its board, and the name of the board that answers", async () => {
  stored(marked, evicted);
  const { code, out } = await why("pod/default/web-1", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ board: "edge-02", records: [marked, evicted] });
});

describe("a decision that is exported", () => {
  const file = () => path.join(folder, "case.json");
  const replay = async (named = file()) => {
    const io = recordingIo({ env: {} });
    const code = await dispatch(io, ["replay", named]);
    return { code, out: io.out(), err: io.err() };
  };
  const changed = (change: (text: string) => string) => writeFileSync(file(), change(readFileSync(file(), "utf8")));

  test("is the newest record of the board or pod in question, and siteward replay decides it again", async () => {
    stored(marked, tainted, evicted);
    const written = await why("pod/default/web-1", "--export", file());
    expect(written).toMatchObject({ code: 0, err: "", out: expect.stringContaining(`siteward replay ${file()}`) });
    expect(JSON.parse(readFileSync(file(), "utf8"))).toMatchObject({
      id: `pod/default/web-1 ${evicted.last.at}`,
      family: "decision",
      given: { act: "pod-evicted", gate: { ready: "Unknown" } },
      expect: { ruling: "act", verdict: "unproven" },
    });
    const again = await replay();
    expect(again).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(again.out)).toMatchObject({ ruling: "act", verdict: "unproven" });
  });

  test("about a board is the board's own, even if one about its pod is newer", async () => {
    stored(marked, tainted, evicted);
    await why("node/pi-3", "--export", file());
    expect(JSON.parse(readFileSync(file(), "utf8"))).toMatchObject({ given: { act: "board-tainted" } });
    expect((await replay()).code).toBe(0);
  });

  test("gives exit code 1 and lists each difference if its facts are changed", async () => {
    stored(tainted);
    await why("last", "--export", file());
    changed((text) => text.replace('"silentMs": 44000', '"silentMs": 40000'));
    const { code, out, err } = await replay();
    expect([code, JSON.parse(out).ruling]).toEqual([1, "verdict"]);
    expect(err).toBe(
      [
        `siteward: replay: ${file()}: the decision differs from the expected one`,
        "  - ruling: act",
        "  + ruling: verdict",
        "  - verdict: unproven",
        "  + verdict: alive",
        "",
      ].join("\n"),
    );
    changed((text) => text.replace(/,\s*"expect": \{[^}]*\}/, ""));
    expect(await replay()).toMatchObject({ code: 0, out });
  });

  test("does not overwrite an existing file, and is not made from a record of an earlier version", async () => {
    stored(evicted);
    writeFileSync(file(), "mine");
    expect(await why("last", "--export", file())).toMatchObject({ code: 1, out: "" });
    expect(readFileSync(file(), "utf8")).toBe("mine");
    const { gate: _, ...earlier } = evicted;
    stored(earlier);
    const refused = await why("last", "--export", path.join(folder, "other.json"));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("earlier version") });
    expect(existsSync(path.join(folder, "other.json"))).toBe(false);
  });

  test.each([
    ["no JSON", "no JSON", "is not a JSON object"],
    ["a list", "[]", "is not a JSON object"],
    ["a behaviour case", '{"id":"NH-01","family":"NH","given":{}}', "family must be decision"],
    ["several faults", '{"family":"decision","given":{"act":"x"}}', "given.act must be one of"],
  ])("is refused with exit code 64 if its file holds %s", async (_what, text, why) => {
    writeFileSync(file(), text);
    expect(await replay()).toMatchObject({ code: 64, out: "", err: expect.stringContaining(why) });
  });

  test("is refused without being read if its file is absent, a folder or far too large", async () => {
    expect(await replay()).toMatchObject({ code: 64, err: expect.stringContaining("does not exist") });
    expect(await replay(folder)).toMatchObject({ code: 64, err: expect.stringContaining("is a folder") });
    writeFileSync(file(), "x".repeat(600_000));
    expect(await replay()).toMatchObject({ code: 64, err: expect.stringContaining("is too large") });
  });
});

test("no record, no state and an unknown argument have different exit codes", async () => {
  const absent = await why("node/pi-3");
  expect(absent).toMatchObject({ code: 1, out: "" });
  expect(absent.err).toContain(
    "this board, edge-02, has no record of node/pi-3\n  Run this on the board that led at the time",
  );
  // An operator's drain leaves no record.
  expect((await why("pod/default/web-1")).err).toContain('journalctl -u siteward -g "pod evicted by a drain"');
  stored(marked);
  expect((await why("pod/default/web-1")).code).toBe(1);
  expect(await why("web-1")).toMatchObject({
    code: 64,
    err: "siteward: why: name node/NAME, pod/NAMESPACE/NAME or last\n",
  });
  expect((await why()).code).toBe(64);
  expect((await why(`node/${"a".repeat(253)}`)).code).toBe(1);
  expect(await why(`node/${"a".repeat(254)}`)).toMatchObject({
    code: 64,
    err: "siteward: why: a name has at most 253 characters\n",
  });
});

test("records of a later version are shown as far as they are known", async () => {
  const later = { ...evicted, because: { kind: "hunch" }, state: "foreseen" };
  stored(Object(later), Object({ ...evicted, v: 2 }));
  const { code, out } = await why("last");
  expect(code).toBe(0);
  expect(out).toContain("pod/default/web-1 was due to be evicted from pi-3: foreseen");
});

/** Runs the socket of an agent; the result stops it. */
async function running(board: CommandBoard): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const file = path.join(folder, "ctl.sock");
  const socket = new ControlSocket(
    { clock: new SystemClock(), random: new SeededRandom(), log: new RecordingLog() },
    { file, desk: board.start(), stuck: () => [], missing: () => [], status: () => undefined, metrics: () => "" },
  );
  const run = socket.run(stop.signal);
  await expect.poll(() => existsSync(file)).toBe(true);
  return async () => {
    stop.abort();
    await run;
  };
}

test.each([
  { records: [], code: 1, says: "no harmful act on node/pi-3 was done or withheld since this board, edge-02, began" },
  { records: [marked], code: 0, says: "node/pi-3 was marked as Ready=Unknown at" },
])("a running agent answers: $says", async ({ records, code, says }) => {
  const board = new CommandBoard();
  board.decisions = records.map(Object);
  const stop = await running(board);
  const answered = await why("node/pi-3");
  expect(answered.code).toBe(code);
  expect(answered.out + answered.err).toContain(says);
  await stop();
});

test("the story of a board mentions its marking and its taint once each, even after a pod was evicted from it", async () => {
  stored(marked, tainted, evicted);
  const { out } = await why("node/pi-3");
  expect(out.match(/marked/g)).toHaveLength(1);
  expect(JSON.parse((await why("node/pi-3", "--json")).out).records).toHaveLength(3);
});

test("the agent that runs with the named configuration is queried, regardless of where its socket is", async () => {
  const configured = path.join(folder, "siteward.yaml");
  writeFileSync(configured, `${readFileSync(configured, "utf8")}\nrun: { folder: ${folder} }`);
  const board = new CommandBoard();
  board.decisions = [Object(marked)];
  const stop = await running(board);
  const io = recordingIo({ env: {}, clock: new SystemClock() });
  expect(await dispatch(io, ["why", "last", "--config", configured])).toBe(0);
  expect(io.out()).toContain("node/pi-3 was marked");
  await stop();
});

/** A moment of this boot. */
const ago = (ms: number) => {
  const { mono, wall } = new SystemClock().now();
  return { at: new Date(wall - ms).toISOString(), boot: bootId(readFact), mono: mono - ms };
};
const words = (text: string): string => text.replace(/\s+/g, " ");

/** Writes the status of the agent of edge-02, which started an hour ago. */
function reports(leader: Partial<NonNullable<Status["leader"]>>, more: Partial<Status> = {}): void {
  const now = Date.now();
  const status: Status = {
    ...bareStatus,
    identity: { ...bareStatus.identity, board: "edge-02" },
    pid: process.pid,
    bootId: bootId(readFact),
    writtenBootMs: bootClock(readFact) ?? 0,
    writtenAt: new Date(now).toISOString(),
    startedAt: new Date(now - 3_600_000).toISOString(),
    watches: ["nodes", "pods"].map((resource) => ({
      ...{ resource, state: "live", objects: 1, lists: 1, restarts: 0, rejected: 0, rejectedWhy: [] },
    })),
    leader: { role: "leader", holder: "edge-02", term: 3, leaseDurationMs: 60_000, ...leader },
    ...more,
  };
  writeFileSync(path.join(folder, "status.json"), JSON.stringify(status));
}

/** Stores these objects in the agent's cache; without any, the cache has no objects. */
function cached(...nodes: readonly object[]): void {
  const file = path.join(folder, "state", "cache.db");
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  const database = new Sqlite(file, { timeout: 1000 });
  for (const { sql } of cacheMigrations) database.exec(sql);
  database.exec("INSERT INTO resources (id, name, populated) VALUES (1, 'nodes', 1), (2, 'pods', 1)");
  const insert = database.prepare("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, 'u', '1', ?)");
  for (const node of nodes) insert.run(Object(node).metadata.name, JSON.stringify(node));
  database.close();
}

const node = (name: string, more: { readonly spec?: object; readonly annotations?: object; ready?: string } = {}) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, uid: "u", resourceVersion: "1", annotations: more.annotations },
  spec: more.spec ?? {},
  status: { conditions: [{ type: "Ready", status: more.ready ?? "True" }] },
});

const heldPod = (name: string, changes: Partial<DecisionRecord> = {}): DecisionRecord => ({
  ...evicted,
  on: { kind: "Pod", namespace: "default", name, uid: name },
  state: "held",
  restraints: [{ why: "quarantine", since: ago(60_000) }],
  first: ago(60_000),
  last: ago(60_000),
  ...changes,
});

describe("a pod that was held back", () => {
  const asked = async (...records: readonly DecisionRecord[]): Promise<string> => {
    const board = new CommandBoard();
    board.decisions = records.map(Object);
    const stop = await running(board);
    const { out } = await why("pod/default/web-1");
    await stop();
    return words(out);
  };

  test("is held back now only while this board leads in the term of its record", async () => {
    reports({});
    const text = await asked(heldPod("web-1"));
    expect(text).toContain("pod/default/web-1 is due to be evicted from pi-3, but this has been held back since");
    expect(text).not.toContain("leads now");
  });

  test("was held back until the term ended if another board leads now, which the answer names", async () => {
    reports({ role: "standby", holder: "edge-01", term: 4, since: "2026-11-20T11:20:00Z" });
    const text = await asked(heldPod("web-1"));
    expect(text).toContain(
      "pod/default/web-1 was due to be evicted from pi-3, but edge-02 (term 3) held this back from",
    );
    expect(text).toContain("until its term ended: after an outage");
    expect(text).toContain("edge-01 leads now: ask there about anything later.");
  });

  test("was held back until the term ended if this board leads in a later term", async () => {
    reports({ term: 5 });
    expect(await asked(heldPod("web-1"))).toContain("until its term ended: after an outage");
  });

  test("was held back until the agent restarted if the term is the same, but an earlier process began the record", async () => {
    reports({});
    expect(await asked(heldPod("web-1", { first: ago(7_200_000) }))).toContain("until its agent restarted: after");
  });

  test("was held back until the agent stopped if it does not run", async () => {
    reports({}, { pid: 0x7fff_fff0 });
    stored(heldPod("web-1"));
    const text = words((await why("pod/default/web-1")).out);
    expect(text).toContain("until its agent stopped: after an outage");
    expect(text).toContain("The agent of this board, edge-02, is not running");
  });
});

describe("a board that was lost three times", () => {
  const lostAt = (minutes: number): readonly DecisionRecord[] => {
    const moment = ago(minutes * 60_000);
    return [marked, tainted, { ...evicted, restraints: [], on: { ...evicted.on, uid: `p${minutes}` } }].map(
      (record) => ({
        ...record,
        first: moment,
        last: moment,
      }),
    );
  };

  test("is shown with three incidents, its returns and its state now", async () => {
    reports({});
    stored(...lostAt(50), ...lostAt(30), ...lostAt(10));
    cached(node("pi-3"));
    const { out } = await why("node/pi-3");
    expect(out).toMatch(/\nIncident 1 of 3:\n(.+\n)+\nIncident 2 of 3, after pi-3 had been Ready again:\n/);
    expect(out).toContain("\nIncident 3 of 3, after pi-3 had been Ready again:\n");
    expect(out).toMatch(/\n {2}now {7,}node\/pi-3: Ready, no taints\n/);
  });

  test("is not said to have returned if only a restore of the API server reset its Node", async () => {
    reports({});
    const unheard = lostAt(10).map((record) => ({ ...record, because: { ...marked.because, unheard: true as const } }));
    stored(...lostAt(50), ...(unheard as readonly DecisionRecord[]));
    const text = words((await why("node/pi-3")).out);
    expect(text).toContain(
      "Incident 2 of 2, after Node pi-3 had been Ready again without a heartbeat to this leader: it returned under another leader, or the API server was restored to a state from before:",
    );
    expect(text).not.toContain("after pi-3 had been Ready again");
  });

  test("has a single incident if its taint was only replaced, or it was tainted once", async () => {
    const [mark, taint] = lostAt(10) as [DecisionRecord, DecisionRecord];
    stored(mark, taint, { ...taint, because: { kind: "reported" }, gate: { free: "swap" } });
    expect((await why("node/pi-3")).out).not.toContain("Incident");
  });

  test("had returned if its taint was no longer due", async () => {
    const [mark, taint] = lostAt(10) as [DecisionRecord, DecisionRecord];
    stored(mark, { ...taint, state: "lapsed" }, { ...taint, because: { kind: "reported" }, gate: {} });
    expect((await why("node/pi-3")).out).toContain("Incident 2 of 2:");
  });

  test("is shown without its state now if the agent does not receive the Nodes", async () => {
    reports({}, { watches: [] });
    stored(...lostAt(10));
    cached(node("pi-3"));
    expect((await why("node/pi-3")).out).not.toMatch(/^ {2}now /m);
  });
});

test("a board out of service is described with the operator who ordered it and the reason", async () => {
  const because = { kind: "out-of-service", by: "ops:jo", reason: "burnt" } as const;
  stored({ ...evicted, act: "pod-collected", because, restraints: [] });
  reports({});
  const annotations = { "siteward.dev/out-of-service": JSON.stringify({ v: 1, by: "ops:jo", reason: "burnt" }) };
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "siteward" }];
  cached(node("pi-3", { ready: "Unknown", spec: { taints }, annotations }));
  const text = words((await why("pod/default/web-1")).out);
  expect(text).toContain("because pi-3 was declared out of service by ops:jo (burnt)");
  expect(text).toContain(
    "now node/pi-3: Ready=Unknown, tainted node.kubernetes.io/out-of-service:NoExecute, confirmed dead by ops:jo (burnt)",
  );
  expect(text).toContain("now there is no Pod default/web-1");
});

describe("siteward why last", () => {
  const held: readonly HeldGroup[] = [
    {
      board: "pi-3",
      act: "pod-evicted",
      restraint: { why: "valve", of: "acts", count: 10, limit: 10 },
      since: ago(60_000),
      count: 9,
      some: ["pod/default/web-1", "pod/default/web-2"],
    },
    {
      board: "pi-4",
      act: "board-tainted",
      restraint: { why: "quarantine" },
      since: ago(50_000),
      count: 1,
      some: ["node/pi-4"],
    },
  ];

  const last = async (records: readonly DecisionRecord[], acts: readonly HeldGroup[]) => {
    const board = new CommandBoard();
    board.decisions = records.map(Object);
    board.heldActs = acts.map(Object);
    const stop = await running(board);
    const [shown, json] = [await why("last"), await why("last", "--json")];
    await stop();
    return { out: words(shown.out), code: shown.code, err: shown.err, json };
  };

  test("shows the last act, and all that is held back now by board and reason", async () => {
    reports({});
    const { out, json } = await last([evicted, heldPod("web-2")], held);
    expect(out).toContain("pod/default/web-1 was evicted from pi-3 at");
    expect(out).toContain("Held back now: 10 acts on 2 boards:");
    expect(out).toContain(
      "pi-3: 9 pods due to be evicted from pi-3 (pod/default/web-1, pod/default/web-2, and 7 more); held since",
    );
    expect(out).toContain(": the safety valve was shut: 10 harmful acts within an hour (limit 10)");
    expect(out).toContain("pi-4: node/pi-4, due to be tainted NoExecute; held since");
    expect(JSON.parse(json.out).held).toEqual(held);
  });

  test("shows what is held back even if nothing was ever done", async () => {
    reports({});
    const { out, code, err } = await last([], held);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("Held back now: 10 acts on 2 boards:");
  });

  test("says that nothing is held back now", async () => {
    reports({});
    expect((await last([evicted], [])).out).toContain("Nothing is held back now.");
  });

  test("does not describe on another board what is held back", async () => {
    reports({ role: "standby", holder: "edge-01", term: 4 });
    const { out } = await last([evicted], []);
    expect(out).not.toContain("held back now");
    expect(out).toContain("edge-01 leads now");
  });
});

describe("a board without a record", () => {
  const asked = async (about: string): Promise<string> => {
    const stop = await running(new CommandBoard());
    const { code, err } = await why(about);
    await stop();
    expect(code).toBe(1);
    return err;
  };

  test("on the leader was not harmed since this board began to lead; its state and the previous leader are named", async () => {
    reports({ since: "2026-11-20T11:20:00Z", previous: "edge-01" });
    cached(
      node("edge-01", {
        ready: "Unknown",
        spec: { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] },
      }),
    );
    const text = await asked("node/edge-01");
    expect(text).toContain(
      `no harmful act on node/edge-01 was done or withheld since this board, edge-02, began to lead (${local("11:20:00")})`,
    );
    expect(text).toContain("now: node/edge-01: Ready=Unknown, tainted node.kubernetes.io/unreachable:NoExecute\n");
    expect(text).toContain("edge-01 led before: what it did and held back is recorded there.");
    expect(text).not.toContain("Run this on the board that led at the time");
  });

  test("that was drained by an operator is shown as cordoned", async () => {
    reports({});
    cached(
      node("pi-3", {
        spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] },
      }),
    );
    const text = await asked("node/pi-3");
    expect(text).toContain("now: node/pi-3: Ready, cordoned, no taints");
    expect(text).toContain("Drains and cordons by operators have no record.");
  });

  test("that does not exist is reported as such", async () => {
    reports({});
    cached(node("pi-3"));
    expect(await asked("node/nonsense")).toBe(
      "siteward: this site has no Node nonsense, and edge-02 has no record of one\n",
    );
  });

  test("is not said to exist or not if the cache is not current", async () => {
    reports({ role: "standby", holder: "edge-01", term: 4 }, { watches: [] });
    cached();
    const text = await asked("node/pi-3");
    expect(text).toContain("this board, edge-02, has no record of node/pi-3\n");
    expect(text).toContain("edge-01 leads now");
  });
});

test("what a controller in shadow mode would have done is told as such, in every state", async () => {
  const shadow = { shadow: true } as const;
  const failed = { ...tainted, ...shadow, state: "failed", failures: 1, error: "conflict" } as const;
  const [freeze] = evicted.restraints;
  const held = { ...evicted, ...shadow, state: "held", restraints: freeze ? [freeze] : [] } as const;
  stored({ ...marked, ...shadow }, failed, held);
  const flat = (text: string): string => text.replace(/\s+/g, " ");
  const ofBoard = flat((await why("node/pi-3")).out);
  expect(ofBoard).toMatch(
    /^node\/pi-3 would have been tainted NoExecute by edge-02 \(term 3, in shadow mode: nothing was written\) from .*, but this would have failed: conflict/,
  );
  expect(ofBoard).toContain("node/pi-3 (shadow) would have been marked as Ready=Unknown: pi-3 was silent");
  expect(ofBoard).toContain("node/pi-3 (shadow) would not have been tainted NoExecute: conflict");
  expect(ofBoard).toContain("pod/default/web-1 (shadow) would have been held back: evictions of the site were frozen");
  const ofPod = flat((await why("pod/default/web-1")).out);
  expect(ofPod).toMatch(
    /^pod\/default\/web-1 would have been evicted from pi-3, but edge-02 \(.*\) would have held this back from/,
  );
  const again = flat((await why("node/pi-3", "--json")).out);
  expect(JSON.parse(again).records.map(({ shadow: is }: DecisionRecord) => is)).toEqual([true, true, true]);
});

test("an act that lapsed in shadow mode would no longer have been due", async () => {
  stored({ ...evicted, shadow: true, state: "lapsed" });
  const { out } = await why("pod/default/web-1");
  expect(out.replace(/\s+/g, " ")).toMatch(
    /would have held this back from .*, and it was no longer due at .* \(shadow\) would no longer have been due to be evicted/,
  );
});

test("why last leaves out what was only pretended, unless there is nothing else", async () => {
  const last = at("11:30:00");
  const other = { ...evicted.on, name: "web-2", uid: "p2" };
  stored(evicted, { ...evicted, on: other, shadow: true, first: last, last });
  expect((await why("last")).out).toMatch(/^pod\/default\/web-1 was evicted/);
});

test("why last tells of a site that is wholly in shadow mode what would have been done", async () => {
  stored({ ...evicted, shadow: true });
  expect((await why("last")).out).toMatch(/^pod\/default\/web-1 would have been evicted/);
});

describe("beside another program", () => {
  const shadowed = { ...evicted, shadow: true, restraints: [] } as const;
  const { gate: _, ...bare } = shadowed;
  const seen: DecisionRecord = {
    ...bare,
    by: "another program",
    because: { kind: "seen", verdict: "cut-off", rule: "it answers on the LAN" },
    first: at("11:07:30"),
    last: at("11:07:30"),
  };

  test("what it did is told as such, and the decision of siteward is the one that is exported", async () => {
    stored({ ...marked, shadow: true }, shadowed, seen);
    const out = (await why("pod/default/web-1")).out.replace(/\s+/g, " ");
    expect(out).toMatch(
      /^pod\/default\/web-1 was evicted from pi-3 by another program, as edge-02 \(term 3\) saw at .*, while siteward was in shadow mode/,
    );
    expect(out).toContain("pod/default/web-1 (shadow) would have been evicted from pi-3");
    expect(out).toContain("evicted from pi-3 by another program; siteward's verdict: cut-off (it answers on the LAN)");
    const file = path.join(folder, "case.json");
    expect((await why("pod/default/web-1", "--export", file)).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ given: { because: { kind: "taints" } } });
  });

  test("an act from before siteward could see it is shown as done at that time or earlier", async () => {
    stored({ ...seen, because: { kind: "seen", late: true } });
    const out = (await why("pod/default/web-1")).out.replace(/\s+/g, " ");
    expect(out).toMatch(/^pod\/default\/web-1 was evicted from pi-3 by another program, at .* or earlier, as edge-02 /);
    expect(out).toContain("evicted from pi-3 by another program, at this time or earlier");
    const reported = (await report()).out.replace(/\s+/g, " ");
    expect(reported).toMatch(/pod\/default\/web-1 evicted from pi-3: really done [0-9:]+ or earlier $/);
  });

  test("its mark of the same board is no further incident", async () => {
    const seenMark: DecisionRecord = { ...seen, act: "board-marked", on: onBoard };
    stored({ ...marked, shadow: true }, seenMark);
    expect((await why("node/pi-3")).out).not.toContain("Incident");
  });

  async function report(...argv: readonly string[]) {
    // The day of the records.
    const clock = {
      now: () => ({ mono: 0, wall: Date.parse("2026-11-20T12:00:00Z") }),
      after: () => ({ cancel: () => {} }),
    };
    const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder }, clock });
    const code = await dispatch(io, ["shadow", "report", ...argv, "--config", path.join(folder, "siteward.yaml")]);
    return { code, out: io.out(), err: io.err() };
  }

  test("siteward shadow report lists both, differences first", async () => {
    const other = { ...evicted.on, name: "web-2", uid: "p2" };
    stored(marked, { ...marked, shadow: true }, shadowed, seen, { ...seen, on: other });
    const { code, out } = await report();
    expect(code).toBe(0);
    expect(out.replace(/\n {4}/g, " ").replace(/\d\d:\d\d:\d\d/g, "TIME")).toBe(
      [
        "3 acts in the last 24h, 2 differences, as recorded by edge-02",
        "",
        "Done by others, without a decision of siteward:",
        "  pod/default/web-2 evicted from pi-3: really done TIME; siteward's verdict on the board was cut-off",
        "",
        "Siteward would have done it, and nobody did:",
        "  node/pi-3 marked as Ready=Unknown: would have been done TIME",
        "",
        "Done by others, and siteward would have done it:",
        "  pod/default/web-1 evicted from pi-3: would have been done TIME; really done TIME, 30s later than here",
        "",
      ].join("\n"),
    );
    const { acts } = JSON.parse((await report("--json")).out);
    expect(acts.map(({ comparison }: { comparison: string }) => comparison)).toEqual([
      "others only",
      "never done",
      "both",
    ]);
  });

  test("the report says what is later than what under a compared policy", async () => {
    const policy = { compared: "kubernetes" } as const;
    stored({ ...shadowed, ...policy }, { ...seen, ...policy });
    expect((await report()).out.replace(/\n {4}/g, " ")).toMatch(
      /Done, as under policy kubernetes:\n.*; really done [0-9:]+, 30s later than it would have been under policy kubernetes\n/,
    );
  });

  test("the report says how many records are missing because there were too many at once", async () => {
    const later = { ...seen, on: { ...evicted.on, uid: "p2" } };
    stored({ ...seen, unrecorded: 200 }, { ...later, unrecorded: 747 }, { ...later, term: 9, unrecorded: 3 });
    const { out } = await report();
    expect(out.replace(/\n(?=\S)/g, " ")).toContain(
      "750 records of the same terms could not be kept, because there were too many at once: an act that only one side seems to have done may be among them",
    );
    expect(JSON.parse((await report("--json")).out)).toMatchObject({ unrecorded: 750 });
  });

  test("the report says if the board has no room for more records, because those of a compared policy go first", async () => {
    const named = (n: number) => ({ ...evicted.on, name: `web-${n}`, uid: `p${n}` });
    const held = Array.from({ length: 480 }, (_, n): DecisionRecord => ({ ...evicted, on: named(n) }));
    stored(...held);
    const { code, out } = await report();
    expect([code, out.split("\n")[0]]).toEqual([
      0,
      "edge-02 has no record of the last 24h of a controller in shadow mode or of a compared policy.",
    ]);
    expect(out.replace(/\n/g, " ")).toContain("The board has no room for more records, and deletes old ones");
    expect(JSON.parse((await report("--json")).out)).toMatchObject({ acts: [], isFull: true });
  });

  test("the report does not miss a record that changes, and so becomes the newest, while others are read", async () => {
    const board = new CommandBoard();
    const records = Array.from({ length: 120 }, (_, n) => ({
      ...shadowed,
      on: { ...evicted.on, name: `web-${n}`, uid: `p${n}` },
    }));
    let isFirst = true;
    const moved = () => {
      const now = records.map(Object);
      if (isFirst) records.push(...records.splice(5, 1));
      isFirst = false;
      return now;
    };
    Object.defineProperty(board, "decisions", { get: moved });
    const stop = await running(board);
    expect((await report("--socket", path.join(folder, "ctl.sock"))).out).toMatch(/^120 acts/);
    await stop();
  });

  test("the report covers more records than one answer holds, as far back as asked", async () => {
    const many = Array.from({ length: 70 }, (_, n) => ({
      ...shadowed,
      on: { ...evicted.on, name: `web-${n}`, uid: `p${n}` },
    }));
    stored(...many, { ...shadowed, first: at("08:00:00"), last: at("08:00:00"), on: { ...evicted.on, uid: "old" } });
    expect((await report()).out).toMatch(/^71 acts/);
    expect((await report("--since", "2h")).out).toMatch(/^70 acts in the last 2h/);
    expect((await report("--since", "10m")).out).toContain("no record of the last 10m");
    expect(await report("--since", "soon")).toMatchObject({ code: 64, err: expect.stringContaining("not a duration") });
  });
});
