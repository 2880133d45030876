import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../../agent/base/clock.ts";
import { bootId } from "../../../../agent/board/facts.ts";
import { readFact } from "../../../../agent/board/read-fact.ts";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { ControlSocket } from "../../../../agent/commands/operator-api/control-socket.ts";
import { type DecisionRecord, subjectText } from "../../../../agent/decisions/decision-record.ts";
import { DecisionLog } from "../../../../storage/decision-log.ts";
import { StateFolder } from "../../../../storage/state-folder.ts";
import { CommandBoard } from "../../../support/command-desk.ts";
import { recordingIo } from "../../../support/recording-io.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

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
  new DecisionLog(state.state.database, { rows: 100, bytes: 100_000 }).write(
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
      "least 5m53s (grace period 40s)",
      "",
      `  ${local("10:51:37")}  node/pi-3 marked as Ready=Unknown: pi-3 was silent for at least 44s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 3s old`,
      `  ${local("10:51:37")}  node/pi-3 tainted NoExecute: pi-3 was silent for at least 44s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 3s old; zone zone-a normal`,
      `  ${local("10:56:37")}  pod/default/web-1 held back: evictions of the site were frozen by ops:jo (radio) for another 10m`,
      `  ${local("11:06:00")}  pod/default/web-1 held back: after an outage, not every board had sent a heartbeat yet`,
      `  ${local("11:07:00")}  pod/default/web-1 evicted from pi-3: pi-3 has the taint node.kubernetes.io/unreachable, which the pod tolerates for 5m; pi-3 was silent for at least 5m53s (grace period 40s); verdict unproven (silent past its grace period, and no witness but the API); last proof 2s old`,
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
    `pod/default/web-1 is due to be evicted from pi-3, but this has been held back since ${local("10:56:37")} by edge-02 (term 3): evictions of the site were frozen by ops:jo (radio)`,
  );
  stored({ ...evicted, state: "lapsed" });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(`and was no longer due at ${local("11:07:00")}`);
  stored({ ...evicted, state: "failed", failures: 3, error: "pods is forbidden", restraints: [] });
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(
    `is due to be evicted from pi-3; this has failed 3 times since ${local("10:56:37")} by edge-02 (term 3): pods is forbidden`,
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
  expect((await why("last")).out.replace(/\s+/g, " ")).toContain(`by edge-02 (term 3): ${text}`);
});

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
  { records: [], code: 1, says: "; edge-02 leads now." },
  { records: [marked], code: 0, says: "node/pi-3 was marked as Ready=Unknown at" },
])("a running agent adds a line to the answer: $says", async ({ records, code, says }) => {
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
