import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  BoardOperations,
  type BoardOperationsDeps,
  type ProcessOperations,
} from "../../../../agent/commands/operations/board-operations.ts";
import { loadConfig } from "../../../../agent/config/load.ts";
import { Database } from "../../../../storage/database/database.ts";
import { DecisionLog } from "../../../../storage/decision-log.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { pragmas } from "../../../storage/object-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-own-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const clock = new FakeClock();

function board(changes: Partial<BoardOperationsDeps> = {}): {
  readonly board: BoardOperations;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const file = path.join(folder, "siteward.yaml");
  writeFileSync(
    file,
    "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\napi:\n  proxy: http://user:secret@proxy:3128\n",
  );
  const { config, origins } = loadConfig({
    file,
    env: { SITEWARD_LOG_LEVEL: "warn" },
    hostname: "edge-02",
    profile: { id: "rpi-4", settings: { cache: { pageSize: 100 } } },
    remote: { version: 43, config: { client: { qps: 5 } } },
  });
  const controls: ProcessOperations = {
    loaded: { config, origins },
    setLogLevel: (level) => void asked.push(`level ${level}`),
    restart: ({ cause, message }) => void asked.push(`restart ${cause}: ${message}`),
    reloadCredentials: async () => {
      asked.push("api credentials");
      return undefined;
    },
  };
  const deps: BoardOperationsDeps = {
    controls,
    version: "1.2.3",
    bootId: "boot-1",
    status: () => undefined,
    databases: [],
    decisions: { newest: () => [], heldGroups: () => [] },
    allowed: () => ["ping"],
    fleet: undefined,
    collectDiagnostics: undefined,
    ...changes,
  };
  return { board: new BoardOperations(clock, deps), asked };
}

const settingsOf = (found: ReturnType<BoardOperations["config"]>) => Object(found.settings);

test("the settings in force are returned with their origin and without secrets", () => {
  const settings = settingsOf(board().board.config(undefined));
  expect(settings["api.proxy"]).toEqual({
    value: "http://...@proxy:3128",
    origin: path.join(folder, "siteward.yaml:4"),
  });
  expect(settings["leader.duration"]).toEqual({ value: "1m", origin: "default" });
  expect(settings["api.context"]).toEqual({ value: null, origin: "default" });
  expect(JSON.stringify(settings)).not.toContain("secret");
});

test.each([
  ["file", ["api.proxy"]],
  ["profile", ["cache.pageSize"]],
  ["remote", ["client.qps"]],
  ["environment", ["log.level"]],
] as const)('the settings from the source "%s" are %j', (source, names) => {
  expect(Object.keys(settingsOf(board().board.config(source)))).toEqual(names);
});

test("an unset value has the source default, and so has a value derived from the host's name", () => {
  const settings = settingsOf(board().board.config("default"));
  expect(settings["board.name"]).toEqual({ value: "edge-02", origin: "host name" });
  expect(settings).not.toHaveProperty(["api.proxy"]);
});

test("a status that is too long loses its longest parts, but is always sent", () => {
  const watches = Array.from({ length: 2000 }, (_, n) => ({ resource: `resource-${n}`, state: "live" }));
  const status = {
    ...{ schema: "siteward.status/1", version: "1", health: { level: "ok", ready: true, conditions: [] } },
    ...{ watches, leader: { role: "leader", term: 3 } },
  };
  const whole = board({ status: () => Object(status) }).board;
  const full = whole.status("full");
  expect(full).toMatchObject({ leader: { term: 3 } });
  expect(full).not.toHaveProperty("watches");
  expect(JSON.stringify(whole.status("summary")).length).toBeLessThan(1000);
  expect(board().board.status("full")).toBeUndefined();
});

test("only the leader reports what is held back, and a list of records that is too long is reported as cut", () => {
  const held = Array.from({ length: 40 }, (_, n) => Object({ board: `pi-${n}` }));
  const decisions = { newest: () => [JSON.stringify({ text: "x".repeat(20_000) }), "{}"], heldGroups: () => held };
  const reporting = (role: string) =>
    board({ decisions, status: () => Object({ leader: { role, holder: "edge-01", term: 3 } }) }).board;
  expect(reporting("leader").decisions(undefined, 2)).toMatchObject({ records: [{}, {}], held: held.slice(0, 16) });
  expect(reporting("standby").decisions(undefined, 2)).toMatchObject({ leader: "edge-01", held: undefined });
  const texts = [JSON.stringify({ text: "x".repeat(30_000) }), "{}"];
  const long = { ...decisions, newest: (_: string | undefined, most: number) => texts.slice(-most) };
  expect(board({ decisions: long }).board.decisions(undefined, 2)).toMatchObject({ records: [{}], isCut: true });
});

test("the records of a board itself are sent although those of its pods alone are too long", () => {
  const log = new DecisionLog(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas }), {
    ...{ rows: 500, bytes: 256 * 1024 },
  });
  const put = (subject: string) => {
    const text = JSON.stringify({ subject, why: "x".repeat(700) });
    log.write([{ id: undefined, subject, board: "pi-3", text }]);
  };
  for (const subject of ["node/pi-3", "node/pi-3"]) put(subject);
  for (let n = 0; n < 90; n++) put(`pod/default/web-${n}`);
  const decisions = { newest: log.newest.bind(log), heldGroups: () => [] };
  const { records, isCut } = board({ decisions }).board.decisions("node/pi-3", 200);
  const subjects = (records as readonly { readonly subject: string }[]).map(({ subject }) => subject);
  expect(isCut).toBe(true);
  expect(subjects.slice(0, 2)).toEqual(["node/pi-3", "node/pi-3"]);
  expect(subjects.length).toBeGreaterThan(25);
  expect(subjects.at(-1)).toBe("pod/default/web-89");
});

test("compaction checkpoints the logs, and frees pages if requested", async () => {
  const file = path.join(folder, "state.db");
  const database = Database.open({ file, migrations: stateMigrations, pragmas });
  const insert = database.prepare("INSERT INTO memo (area, key, value) VALUES ('a', ?, ?)");
  for (let n = 0; n < 500; n++) insert.run(String(n), "x".repeat(2000));
  database.prepare("DELETE FROM memo").run();
  const { board: own } = board({ databases: [database] });
  const before = database.sizes();
  const rehearsed = await own.compact(true, true);
  expect(rehearsed).toEqual({ outcome: "done", result: { beforeBytes: before.file + before.wal } });
  expect(database.sizes()).toEqual(before);
  await own.compact(false, false);
  expect(database.sizes().wal).toBe(0);
  const thorough = await own.compact(true, false);
  expect(thorough).toMatchObject({ outcome: "done" });
  expect(database.sizes().file).toBeLessThan(100_000);
  database.close();
});

test("new credentials are applied to the fleet first, and then to the API; a failure is reported", async () => {
  const alone = board();
  expect(await alone.board.reloadCredentials(true)).toMatchObject({
    outcome: "done",
    result: { api: { taken: false } },
  });
  expect(alone.asked).toEqual([]);
  expect(await alone.board.reloadCredentials(false)).toMatchObject({
    outcome: "done",
    result: { api: { taken: true } },
  });
  const refused = { outcome: "refused", code: 422, error: "credentials" } as const;
  const fleet = {
    configVersion: () => 43,
    announce: () => ({}),
    applyConfig: async () => refused,
    rollbackConfig: async () => refused,
    reloadCredentials: async () => refused,
  };
  const inFleet = board({ fleet });
  expect(await inFleet.board.reloadCredentials(false)).toEqual(refused);
  expect(inFleet.asked).toEqual([]);
  expect(inFleet.board.configVersion()).toBe(43);
});

test("a board without a fleet has no desired configuration to apply, and says how to change it locally", () => {
  const { board: own, asked } = board();
  expect([own.applyConfig, own.rollbackConfig, own.configVersion()]).toEqual([undefined, undefined, undefined]);
  expect(own.announce()).toEqual({ version: "1.2.3", bootId: "boot-1", commands: ["ping"] });
  own.restart("command of ops:alice");
  expect(asked).toEqual(["restart command: command of ops:alice"]);
});
