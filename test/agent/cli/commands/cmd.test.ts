import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SystemClock } from "../../../../agent/base/clock.ts";
import { dispatch } from "../../../../agent/cli/dispatch.ts";
import { isSignatureOf, readPublicKey } from "../../../../agent/commands/desk/signature.ts";
import { readTrust } from "../../../../agent/commands/desk/trust.ts";
import { ControlSocket } from "../../../../agent/commands/operator-api/control-socket.ts";
import { CommandBoard } from "../../../support/command-desk.ts";
import { type RecordingIo, recordingIo } from "../../../support/recording-io.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

let folder: string;
let file: string;
let board: CommandBoard;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-cmd-"));
  file = path.join(folder, "ctl.sock");
  board = new CommandBoard();
  stop = new AbortController();
  const socket = new ControlSocket(
    { clock: new SystemClock(), random: new SeededRandom(), log: new RecordingLog() },
    { file, desk: board.start(), stuck: () => [], missing: () => [], status: () => undefined, metrics: () => "" },
  );
  running = socket.run(stop.signal);
  await expect.poll(() => existsSync(file)).toBe(true);
});

afterEach(async () => {
  stop.abort();
  await running;
  rmSync(folder, { recursive: true });
});

async function siteward(...argv: readonly string[]): Promise<{ readonly code: number; readonly io: RecordingIo }> {
  const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder }, clock: new SystemClock() });
  return { code: await dispatch(io, argv), io };
}

const why = ["--reason", "a test"] as const;

test("a command prints its result for programs and its outcome for people", async () => {
  const { code, io } = await siteward(
    "cmd",
    "eviction.freeze",
    '{"scope":"zone","target":"plant7-a","ttl":600}',
    "--reason",
    "radio",
  );
  expect(code).toBe(0);
  expect(JSON.parse(io.out())).toEqual({ what: "freeze plant7-a 600000" });
  expect(io.err()).toMatch(/^accepted\nsucceeded after \d+ ms\n$/);
  const row = board.database.prepare<{ author: string }>("SELECT author FROM commands").get();
  expect(row?.author).toBe(`local:${process.getuid?.()}`);
});

test("a dry run changes nothing", async () => {
  const { code, io } = await siteward("cmd", "board.drain", '{"timeout":60}', "--dry-run", ...why);
  expect([code, JSON.parse(io.out())]).toEqual([0, { plan: "drain" }]);
  expect(board.effects).toEqual([]);
  expect(io.err()).toContain("dry run: nothing was changed\n");
  expect(io.err()).not.toContain("succeeded");
});

test("a refusal by the board exits with 1, and shows the reason and the place", async () => {
  const wrong = await siteward("cmd", "eviction.freeze", '{"ttl":5}', ...why);
  expect([wrong.code, wrong.io.err()]).toEqual([
    1,
    "siteward: rejected: must be a whole number from 60 to 86400 (/args/ttl)\n",
  ]);
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  const elsewhere = await siteward("cmd", "eviction.thaw", "--json", ...why);
  expect(elsewhere.code).toBe(1);
  expect(JSON.parse(elsewhere.io.out())).toMatchObject({ error: "not-leader", result: { leader: "edge-05" } });
  expect((await siteward("cmd", "eviction.thaw", ...why)).io.err()).toContain("\n  edge-05 leads: run it there.\n");
  board.standing = { isLeader: false, leader: undefined, term: 18 };
  const inOutage = ["cmd", "eviction.freeze", '{"ttl":600}', ...why];
  expect((await siteward(...inOutage)).io.err()).toContain("without the API it would not hear of a new one");
});

test("a user who stops waiting for a drain is shown how to cancel it", async () => {
  board.effect = () => new Promise(() => undefined);
  const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder }, clock: new SystemClock() });
  const given = dispatch(io, ["cmd", "board.drain", '{"timeout":60}', ...why]);
  await expect.poll(() => board.effects).toEqual(["drain"]);
  io.stop.abort(new Error("SIGINT"));
  expect(await given).toBe(1);
  expect(io.err()).toMatch(
    /stopped waiting; the command continues. To cancel it: siteward cmd cmd\.cancel '\{"id":"[0-9a-f-]{36}"\}' --reason TEXT\n$/,
  );
});

test("a user who stops waiting for a command that cannot be cancelled is offered nothing that would be refused", async () => {
  board.effect = () => new Promise(() => undefined);
  const io = recordingIo({ env: { SITEWARD_RUN_FOLDER: folder }, clock: new SystemClock() });
  const given = dispatch(io, ["cmd", "eviction.freeze", '{"ttl":3600}', ...why]);
  await expect.poll(() => board.effects).toEqual(["freeze site 3600000"]);
  io.stop.abort(new Error("SIGINT"));
  expect(await given).toBe(1);
  expect(io.err()).toMatch(/stopped waiting; the command continues\n$/);
});

test("a restart is reported as accepted, since this process cannot know more", async () => {
  const given = siteward("cmd", "agent.restart", ...why);
  await expect.poll(() => board.effects).toEqual(["restart"]);
  const { code, io } = await given;
  expect(code).toBe(0);
  expect(io.err()).toContain("after a restart, siteward status shows its outcome");
});

test.each([
  [["cmd"], "cmd needs NAME, one of\n  ping                 Returns the identity and uptime of this process.\n"],
  [["cmd", "eviction.freze"], "did you mean eviction.freeze?"],
  [["cmd", "ping", "{"], "is not a JSON object"],
  [["cmd", "ping", "[]"], "is not a JSON object"],
  [["cmd", "--schema", "nothing"], "there is no command"],
  [["cmd", "board.cordon"], "board.cordon changes something: give a reason for log and status: --reason TEXT"],
  [["cmd", "board.cordon", "--dry-run"], "--reason TEXT"],
  [["config", "rollback"], "--reason TEXT"],
  [["config", "rollback", "--to", "latest", ...why], "--to takes a version number"],
  [["config", "rollback", "--to", "-1", ...why], "--to needs a value"],
])("%j is reported as wrong usage, and has no effect", async (argv, complaint) => {
  const { code, io } = await siteward(...argv);
  expect(code).toBe(64);
  expect(io.err()).toContain(complaint);
  expect(board.effects).toEqual([]);
});

test.each([
  [[], "roll back undefined"],
  [["--to", "41"], "roll back 41"],
])("an operator on the board returns to earlier valid settings: %j", async (to, effect) => {
  board.effect = async () => ({ outcome: "done", result: { version: 41, desiredVersion: 43 } });
  const { code, io } = await siteward("config", "rollback", ...to, "--reason", "no renewals since 43");
  expect([code, io.out()]).toEqual([
    0,
    "version 41 of the fleet settings will be in force in a moment; this board will accept the next fleet version after 43\n",
  ]);
  expect(board.effects).toEqual([effect]);
  expect(board.log.lines.find(({ message }) => message === "command accepted")?.fields).toMatchObject({
    name: "config.rollback",
    by: `local:${process.getuid?.()}`,
    reason: "no renewals since 43",
  });
});

test("if there is no version to return to, the command exits with 1, and its message names those that exist", async () => {
  board.effect = async () => ({
    outcome: "refused",
    code: 404,
    error: "no-such-version",
    message: "there is no such version to go back to",
    result: { good: [41, 40] },
  });
  const { code, io } = await siteward("config", "rollback", "--to", "7", ...why);
  expect([code, JSON.parse(io.out())]).toEqual([1, { good: [41, 40] }]);
  expect(io.err()).toContain("siteward: rejected: there is no such version to go back to");
});

test("the schema of a command is printed without an agent", async () => {
  stop.abort();
  const { code, io } = await siteward("cmd", "--schema", "eviction.freeze");
  expect(code).toBe(0);
  expect(JSON.parse(io.out())).toMatchObject({
    properties: { name: { const: "eviction.freeze" } },
    required: ["v", "id", "name", "args", "reason"],
  });
});

test("without an agent at the socket the exit code is 69, and the next step is shown", async () => {
  const { code, io } = await siteward("cmd", "ping", "--socket", path.join(folder, "none.sock"));
  expect([code, io.err()]).toEqual([
    69,
    `siteward: the agent does not answer at ${folder}/none.sock\n  Check that it is running: systemctl status siteward\n`,
  ]);
});

const main = path.resolve(import.meta.dirname, "../../../../agent/main.ts");
const asNobody = (...argv: readonly string[]) =>
  spawnSync("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups", process.execPath, main, ...argv], {
    encoding: "utf8",
  });
const canBeNobody = process.getuid?.() === 0 && asNobody("version").status === 0;
if (!canBeNobody) console.info("another user cannot run the program here: the permission of the socket is not tried");

test.runIf(canBeNobody)("a user outside the socket's group gets a message and exit code 77", () => {
  const { status, stderr } = asNobody("cmd", "ping", "--socket", file);
  expect(status).toBe(77);
  expect(stderr).toContain("Join the group of the socket");
});

test("an operator creates a key pair once, and only that operator can read the secret key", async () => {
  const made = await siteward("keygen", "alice", "--dir", folder);
  expect(made.code).toBe(0);
  expect(statSync(path.join(folder, "alice.key")).mode & 0o777).toBe(0o600);
  expect([...readTrust(folder).keys.keys()]).toEqual(["alice"]);
  const before = readFileSync(path.join(folder, "alice.key"), "utf8");
  const again = await siteward("keygen", "alice", "--dir", folder);
  expect(again.code).toBe(1);
  expect(again.io.err()).toContain("already exists: choose another name or folder");
  expect(readFileSync(path.join(folder, "alice.key"), "utf8")).toBe(before);
  expect((await siteward("keygen", "../alice", "--dir", folder)).code).toBe(64);
  const none = path.join(folder, "none");
  const missing = await siteward("keygen", "bob", "--dir", none);
  expect([missing.code, missing.io.err()]).toEqual([
    1,
    `siteward: keygen: there is no folder ${none}: create it, or choose another with --dir\n`,
  ]);
});

test("a board accepts a signature of siteward sign", async () => {
  await siteward("keygen", "alice", "--dir", folder);
  const topic = "sw1/acme/plant7/_site/cmd/eviction.freeze/F1";
  const payload = path.join(folder, "f1.json");
  const text = `{"v":1,"id":"F1","name":"eviction.freeze","args":{"ttl":600},"reason":"radio","ctr":1}\n`;
  writeFileSync(payload, text);
  const { code, io } = await siteward(
    "sign",
    "--key",
    path.join(folder, "alice.key"),
    "--topic",
    topic,
    payload,
    "--json",
  );
  expect(code).toBe(0);
  const { kid, sig } = JSON.parse(io.out());
  expect(kid).toBe("alice");
  const key = readPublicKey(readFileSync(path.join(folder, "alice.pub"), "utf8"));
  expect(isSignatureOf(sig, topic, Buffer.from(text), key)).toBe(true);
});

test.each([
  ["an id other than the topic's", '{"v":1,"id":"F2","name":"ping","ctr":1}', "must match the topic"],
  ["a command with neither expiry nor counter", '{"v":1,"id":"F1","name":"ping"}', "it needs exp or ctr"],
  ["text that is not a command", "hello", "not JSON"],
])("signing refuses %s", async (_, text, why) => {
  await siteward("keygen", "alice", "--dir", folder);
  const payload = path.join(folder, "f1.json");
  writeFileSync(payload, text);
  const { code, io } = await siteward(
    "sign",
    "--key",
    path.join(folder, "alice.key"),
    "--topic",
    "sw1/acme/plant7/edge-02/cmd/ping/F1",
    payload,
  );
  expect([code, io.out()]).toEqual([1, ""]);
  expect(io.err()).toContain(why);
});

test("a change to a site is not signed without a counter, because no leader would accept it", async () => {
  await siteward("keygen", "alice", "--dir", folder);
  const payload = path.join(folder, "f1.json");
  const signFor = async (board: string, more: object) => {
    const [name, exp] = ["board.cordon", "2026-11-20T12:05:00Z"];
    writeFileSync(payload, JSON.stringify({ v: 1, id: "F1", name, reason: "CHG-1182", exp, ...more }));
    const topic = `sw1/acme/plant7/${board}/cmd/${name}/F1`;
    const { code, io } = await siteward("sign", "--key", path.join(folder, "alice.key"), "--topic", topic, payload);
    return `${code} ${io.err()}`;
  };
  expect(await signFor("_site", {})).toMatch(/^1 .*every board would refuse this.*needs a counter.*\(\/ctr\)/);
  expect(await signFor("_site", { ctr: 1 })).toBe("0 ");
  expect(await signFor("edge-02", {})).toBe("0 ");
});

test("a signature needs a key, a topic and a file that can be read", async () => {
  const [topic, payload] = ["sw1/acme/plant7/edge-02/cmd/ping/F1", path.join(folder, "f1.json")];
  expect((await siteward("sign", payload)).code).toBe(64);
  expect((await siteward("sign", "--key", "x", "--topic", "sw1/acme/cmd", payload)).code).toBe(64);
  expect((await siteward("sign", "--key", path.join(folder, "none"), "--topic", topic, payload)).code).toBe(1);
  writeFileSync(payload, '{"v":1,"id":"F1","name":"ping","ctr":1}');
  expect((await siteward("sign", "--key", payload, "--topic", topic, payload)).code).toBe(1);
});

test("diag collect does not overwrite an existing file", async () => {
  const archive = path.join(folder, "edge-02.tar.gz");
  writeFileSync(archive, "mine");
  const { code, io } = await siteward("diag", "collect", "--offline", "-o", archive);
  expect([code, readFileSync(archive, "utf8")]).toEqual([1, "mine"]);
  expect(io.err()).toBe(`siteward: diag collect: ${archive} already exists: choose another name\n`);
});

test("diag collect says which folder for its archive is missing", async () => {
  const { code, io } = await siteward("diag", "collect", "--offline", "-o", path.join(folder, "none", "a.tar.gz"));
  expect(code).toBe(1);
  expect(io.err()).toBe(`siteward: diag collect: there is no folder ${path.join(folder, "none")}: create it first\n`);
});
