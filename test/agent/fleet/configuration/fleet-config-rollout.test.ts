import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readRemote, startRemote, writeRemote } from "../../../../agent/config/remote-file.ts";
import { judgeRemote } from "../../../../agent/config/remote-judge.ts";
import { type Fault, inForce } from "../../../../agent/config/remote-record.ts";
import {
  type ConfigKeeperDeps,
  FleetConfigRollout,
} from "../../../../agent/fleet/configuration/fleet-config-rollout.ts";
import type { FleetEvent } from "../../../../agent/fleet/reporting/fleet-events.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

class PowerCut extends Error {}

/** A board over the lives of its agent and of its processes. Of the settings only their number matters here. */
class Board {
  readonly clock = new FakeClock();
  readonly folder = mkdtempSync(path.join(tmpdir(), "siteward-remote-"));
  readonly noted: FleetEvent[] = [];
  vitals = { lease: true, api: true, mqtt: true };
  locked: string | undefined;
  /** No life of the agent can begin with these. */
  readonly unusable = new Set<number>();
  /** What the settings do to the board. */
  effectOf: (version: number | undefined) => void = () => {};
  /** Before the write of this number the power fails. */
  cutAtWrite = Number.POSITIVE_INFINITY;
  writes = 0;
  isFull = false;
  inForce: number | undefined;
  /** The faults of stored settings that the last start left out. */
  leftOut: readonly Fault[] = [];
  /** What becomes of settings that are read again. */
  outcome: ReturnType<ConfigKeeperDeps["reload"]> = "begins";
  reloads = 0;
  keeper: FleetConfigRollout;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor() {
    folders.push(this.folder);
    this.keeper = this.#live(inForce(startRemote(this.folder).record)?.version);
  }

  /** The process is gone, and another one begins. */
  async restart(): Promise<void> {
    await this.#end();
    this.keeper = this.#live(inForce(startRemote(this.folder).record)?.version);
  }

  /** A new life of the agent in the same process; where none can begin, the former settings are taken again. */
  async reload(): Promise<void> {
    await this.#end();
    const before = this.inForce;
    const next = inForce(readRemote(this.folder))?.version;
    this.keeper = this.#live(next !== undefined && this.unusable.has(next) ? before : next);
  }

  async send(
    version: number,
    config: object = { nodeLifecycle: { gracePeriod: `${40 + version}s` } },
    more: object = {},
  ): Promise<void> {
    await this.raw(JSON.stringify({ v: 1, version, config, ...more }));
  }

  async raw(text: string, refusal?: Fault): Promise<void> {
    await this.keeper.take({ payload: Buffer.from(text), refusal });
    await this.clock.settle();
  }

  get state(): string {
    const { state, appliedVersion } = (this.keeper.reported() ?? {}) as {
      state?: string;
      appliedVersion?: number | null;
    };
    return `${state} ${appliedVersion ?? "-"}`;
  }

  /** Until the new life that was asked for has begun. */
  async turn(): Promise<void> {
    const { reloads } = this;
    await this.clock.until(() => this.reloads > reloads, "10s");
    await this.reload();
  }

  #live(version: number | undefined): FleetConfigRollout {
    this.inForce = version;
    this.effectOf(version);
    this.#stop = new AbortController();
    const ambient = { clock: this.clock, random: new SeededRandom(), log: new RecordingLog() };
    const keeper = new FleetConfigRollout(ambient, {
      read: () => readRemote(this.folder),
      write: (record) => {
        if (++this.writes >= this.cutAtWrite) throw new PowerCut();
        if (this.isFull) throw new Error("ENOSPC: no space left on device, write");
        writeRemote(this.folder, record);
      },
      judge: ({ config }) => judgeRemote(config, this.locked),
      versionInForce: () => this.inForce,
      leftOut: () => this.leftOut,
      reload: () => {
        this.reloads++;
        if (this.outcome === "taken" || this.outcome === "unchanged")
          this.inForce = inForce(readRemote(this.folder))?.version;
        return this.outcome;
      },
      vitals: () => this.vitals,
      canary: 120_000,
      events: { note: (event) => this.noted.push(event) },
    });
    this.#running = keeper.run(this.#stop.signal).catch((error: unknown) => {
      if (!(error instanceof PowerCut)) throw error;
    });
    return keeper;
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.clock.settle();
    await this.#running;
  }
}

test("fleet settings are on trial for two minutes, and are kept if everything healthy remains healthy", async () => {
  const board = new Board();
  expect(board.keeper.reported()).toBeUndefined();
  await board.send(1);
  expect(board.state).toBe("applying -");
  await board.turn();
  expect(board.inForce).toBe(1);
  await board.clock.advance("119s");
  expect(board.state).toBe("applying 1");
  await board.clock.advance("2s");
  expect(board.state).toBe("in-sync 1");
  expect(board.keeper.reported()).toMatchObject({
    desiredVersion: 1,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    errors: [],
  });
  await board.restart();
  expect(board.state).toBe("in-sync 1");
});

test("settings that cost the board its broker connection are rolled back, and never applied again", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  board.effectOf = (version) => {
    board.vitals = { lease: true, api: true, mqtt: version !== 2 };
  };
  await board.send(2);
  await board.turn();
  expect(board.inForce).toBe(2);
  await board.clock.advance("120s");
  await board.turn();
  expect([board.state, board.inForce]).toEqual(["rolled-back 1", 1]);
  expect(board.keeper.reported()).toMatchObject({
    desiredVersion: 2,
    errors: [{ path: "", code: "unhealthy", message: expect.stringContaining("mqtt") }],
  });
  expect(board.noted.map(({ type }) => type)).toEqual(["config.applied", "config.rolled-back"]);
  // The broker sends what is retained with every connection.
  await board.send(2);
  await board.clock.advance("10m");
  expect([board.state, board.inForce]).toEqual(["rolled-back 1", 1]);
  await board.send(3);
  await board.turn();
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 3");
});

describe("settings that take effect without a new life of the agent", () => {
  test("are in force immediately, without a trial, and the next version follows", async () => {
    const board = new Board();
    board.outcome = "taken";
    await board.send(1, { log: { level: "warn" } });
    expect(board.state).toBe("applying -");
    // A broker that is slow just now is nothing that they did.
    board.vitals = { lease: true, api: true, mqtt: false };
    await board.clock.advance("3s");
    expect([board.state, board.inForce]).toEqual(["in-sync 1", 1]);
    expect(board.noted).toMatchObject([{ type: "config.applied", detail: { version: 1 } }]);
    expect(await board.keeper.apply(1, undefined, false)).toMatchObject({ result: { version: 1, changed: false } });

    // The same under another number, and what came in the two seconds until it is taken.
    board.outcome = "unchanged";
    await board.send(2, { log: { level: "warn" } });
    await board.send(3, { log: {} });
    await board.clock.advance("5s");
    expect([board.state, board.inForce]).toEqual(["in-sync 3", 3]);
    board.outcome = "begins";
    await board.send(4);
    await board.turn();
    await board.clock.advance("121s");
    expect([board.state, board.inForce]).toEqual(["in-sync 4", 4]);
    expect(await board.keeper.rollback(3, false)).toMatchObject({ outcome: "done", result: { version: 3 } });
  });

  test("are rolled back immediately if they fail", async () => {
    const board = new Board();
    board.outcome = "taken";
    for (const version of [1, 2]) {
      await board.send(version);
      await board.clock.advance("3s");
    }
    await board.keeper.rollback(undefined, false);
    await board.clock.advance("3s");
    expect([board.state, board.inForce]).toEqual(["rolled-back 1", 1]);
    await board.send(3);
    await board.clock.advance("3s");
    expect([board.state, board.inForce]).toEqual(["in-sync 3", 3]);
  });

  test("that the board can no longer load because of its own files are not waited for", async () => {
    const board = new Board();
    board.outcome = "refused";
    await board.send(1);
    await board.clock.advance("3s");
    expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);
    board.outcome = "taken";
    await board.send(2);
    await board.clock.advance("3s");
    expect([board.state, board.inForce]).toEqual(["in-sync 2", 2]);
  });

  test("take effect although the power fails at any write, or right after the last", async () => {
    const tellAll = async (board: Board): Promise<void> => {
      board.outcome = "taken";
      for (const [at, level] of ["warn", "warn", "info"].entries()) {
        await board.send(at + 1, { log: { level } });
        await board.clock.advance("3s");
      }
    };
    const whole = new Board();
    await tellAll(whole);
    expect([whole.state, whole.writes]).toEqual(["in-sync 3", 5]);
    for (const [writes, found] of [undefined, 1, 1, 2, 3, 3].entries()) {
      const board = new Board();
      board.cutAtWrite = writes + 1;
      await tellAll(board).catch(() => {});
      board.cutAtWrite = Number.POSITIVE_INFINITY;
      await board.restart();
      expect([writes, board.inForce]).toEqual([writes, found]);
      // What was on trial is followed to its end by the process that finds it.
      for (let turns = 0; turns < 2; turns++) {
        await board.send(3, { log: { level: "info" } });
        await board.clock.advance("125s");
      }
      expect([writes, board.state]).toEqual([writes, "in-sync 3"]);
    }
  });
});

test("a fault from before the trial does not make the trial fail", async () => {
  const board = new Board();
  board.vitals = { lease: false, api: false, mqtt: true };
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 1");
});

test("settings with which the agent cannot start are rolled back immediately", async () => {
  const board = new Board();
  board.unusable.add(1);
  await board.send(1);
  await board.turn();
  await board.clock.settle();
  expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);
  await board.restart();
  expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);
});

test("a process that ends during a trial starts with the settings once more, and the next process starts without them", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("60s");
  // A power cut is forgiven once: the trial begins anew.
  await board.restart();
  expect([board.state, board.inForce]).toEqual(["applying 1", 1]);
  await board.clock.advance("60s");
  await board.restart();
  expect(board.inForce).toBe(1);
  await board.restart();
  expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);
});

describe("no trial begins", () => {
  test.each([
    ["text that is not JSON", "{", "schema"],
    ["not an object", "[1]", "schema"],
    ["no version", '{"v":1,"config":{}}', "schema"],
    ["a version that is not a number", '{"v":1,"version":"7","config":{}}', "schema"],
    ["the highest possible version", `{"v":1,"version":${Number.MAX_SAFE_INTEGER},"config":{}}`, "schema"],
    ["another format", '{"v":2,"version":7,"config":{}}', "schema"],
    ["an unknown member", '{"v":1,"version":7,"config":{},"more":1}', "schema"],
    ["no settings", '{"v":1,"version":7}', "schema"],
    ["nested too deeply", `{"v":1,"version":7,"config":${'{"a":'.repeat(12)}1${"}".repeat(12)}}`, "schema"],
    ["too large", JSON.stringify({ v: 1, version: 7, config: { a: "x".repeat(40_000) } }), "schema"],
    ["a million brackets", "[".repeat(30_000), "schema"],
    ["an unknown setting", '{"v":1,"version":7,"config":{"leader":{"durations":"1s"}}}', "unknown-key"],
    ["the name of a built-in member", '{"v":1,"version":7,"config":{"__proto__":{"x":1}}}', "unknown-key"],
    ["a wrong value", '{"v":1,"version":7,"config":{"leader":{"duration":12}}}', "schema"],
    ["a section that is a list", '{"v":1,"version":7,"config":{"leader":[]}}', "schema"],
    ["the board's own name", '{"v":1,"version":7,"config":{"board":{"name":"x"}}}', "unsupported"],
    ["the board's own locks", '{"v":1,"version":7,"config":{"remote":{"locked":"log.*"}}}', "unsupported"],
    ["the state folder", '{"v":1,"version":7,"config":{"state":{"folder":"/tmp"}}}', "unsupported"],
    [
      "a setting that the board has locked",
      '{"v":1,"version":7,"config":{"nodeLifecycle":{"gracePeriod":"60s"},"log":{"level":"debug"}}}',
      "locked",
    ],
  ])("%s", async (_, text, code) => {
    const board = new Board();
    board.locked = "nodeLifecycle.*, leader.retry";
    await board.raw(text);
    expect(board.state).toBe("rejected -");
    expect(board.keeper.reported()).toMatchObject({ errors: [{ code }] });
    await board.clock.advance("1h");
    expect(board.reloads).toBe(0);
    expect(inForce(readRemote(board.folder))).toBeUndefined();
  });

  test("each fault is reported at its place", () => {
    const config = { leader: { duration: 12, retry: "2s" }, log: { level: "loud" }, nothing: 1, "a/b~c": {} };
    expect(judgeRemote(config, "leader.retry").map(({ path: at, code }) => `${at} ${code}`)).toEqual([
      "/leader/duration schema",
      "/leader/retry locked",
      "/log/level schema",
      "/nothing unknown-key",
      "/a~1b~0c unknown-key",
    ]);
  });

  test.each([
    ["gracePeriod", "19999ms", false],
    ["gracePeriod", "20s", true],
    ["startupGracePeriod", "19s", false],
    ["startupGracePeriod", "20s", true],
    ["monitorPeriod", "1s", true],
  ])(
    "for %s of %s if that is below 20 s, because a living board must not seem lost between two renewals of its Lease",
    (name, value, isTaken) => {
      const faults = judgeRemote({ nodeLifecycle: { [name]: value } }, undefined);
      const message = "must be at least 20s in fleet settings, because a kubelet renews its Lease every 10s";
      expect(faults).toEqual(isTaken ? [] : [{ path: `/nodeLifecycle/${name}`, code: "schema", message }]);
    },
  );

  test("for an older version, or for a topic that was cleared", async () => {
    const board = new Board();
    await board.send(5);
    await board.turn();
    await board.clock.advance("121s");
    for (const version of [5, 4, 1]) await board.send(version, { log: { level: "debug" } });
    await board.raw("");
    await board.clock.advance("1h");
    expect(board.state).toBe("in-sync 5");
    expect(board.reloads).toBe(1);
  });
});

test("an invalid document during a trial does not disturb it, and a new version follows afterwards", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.raw("{");
  await board.send(2);
  expect(board.state).toBe("applying 1");
  await board.clock.advance("120s");
  await board.turn();
  expect(board.inForce).toBe(2);
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 2");
});

test("three good versions can be restored, and a version that was rolled back is not applied again", async () => {
  const board = new Board();
  for (const version of [1, 2, 3, 4, 5]) {
    await board.send(version);
    await board.turn();
    await board.clock.advance("121s");
  }
  expect(await board.keeper.rollback(1, false)).toMatchObject({
    outcome: "refused",
    code: 404,
    result: { good: [4, 3, 2] },
  });
  expect(await board.keeper.rollback(undefined, true)).toMatchObject({ outcome: "done", result: { version: 4 } });
  expect(await board.keeper.rollback(3, false)).toMatchObject({ outcome: "done", result: { version: 3 } });
  await board.turn();
  await board.send(5);
  await board.clock.advance("10m");
  expect([board.state, board.inForce]).toEqual(["rolled-back 3", 3]);
  expect(await board.keeper.apply(5, undefined, false)).toMatchObject({ outcome: "done" });
  await board.turn();
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 5");
});

test("apply starts the latest version early, but no other version", async () => {
  const board = new Board();
  board.locked = "log.*";
  await board.send(1, { log: { level: "debug" } });
  expect(board.state).toBe("rejected -");
  expect(await board.keeper.apply(2, undefined, false)).toMatchObject({ outcome: "refused", code: 409 });
  expect(await board.keeper.apply(1, undefined, false)).toMatchObject({ outcome: "refused", code: 422 });
  board.locked = undefined;
  expect(await board.keeper.apply(1, 5000, false)).toMatchObject({ outcome: "done" });
  expect(await board.keeper.apply(1, 5000, false)).toMatchObject({ outcome: "refused", error: "busy" });
  await board.turn();
  await board.clock.advance("6s");
  expect(board.state).toBe("in-sync 1");
  expect(await board.keeper.apply(1, undefined, false)).toMatchObject({ outcome: "done", result: { changed: false } });
});

test("if the power fails at any write, the next start has the previous settings or the new ones, and ends in sync or rolled back", async () => {
  const tellAll = async (board: Board): Promise<void> => {
    await board.send(1);
    await board.turn();
    await board.clock.advance("121s");
    await board.send(2);
    await board.turn();
    await board.clock.advance("121s");
  };
  const whole = new Board();
  await tellAll(whole);
  expect(whole.state).toBe("in-sync 2");
  expect(whole.writes).toBe(4);
  for (let cut = 1; cut <= whole.writes; cut++) {
    const board = new Board();
    board.cutAtWrite = cut;
    await tellAll(board).catch(() => {});
    board.cutAtWrite = Number.POSITIVE_INFINITY;
    await board.restart();
    // The broker sends the retained document again with the next connection.
    for (let turns = 0; turns < 4 && board.state !== "in-sync 2"; turns++) {
      await board.send(2);
      await board.clock.advance("125s");
      await board.reload();
      await board.clock.advance("125s");
    }
    expect([cut, board.state]).toEqual([cut, "in-sync 2"]);
  }
});

test("a record that is damaged twice counts as lost: the fleet's documents are accepted, and one that passes its trial replaces it", async () => {
  const current = { version: 1, hash: "a", config: {} };
  const endless = JSON.stringify({ v: 1, current, more: "x".repeat(2 ** 22) });
  const slips = ["", "{", "[]", '{"v":2}', '{"v":1,"current":7}', '{"v":1,"good":{}}', '{"v":1,"trial":{}}'];
  for (const text of [...slips, endless]) {
    const board = new Board();
    for (const name of ["remote.json", "remote.copy.json"]) writeFileSync(path.join(board.folder, name), text);
    const isLost = (): boolean => readRemote(board.folder).lost !== undefined;
    await board.restart();
    // Also in later processes, and after a document that is refused.
    await board.restart();
    await board.send(1, { odd: 1 });
    expect([text.slice(0, 80), board.inForce, isLost()]).toEqual([text.slice(0, 80), undefined, true]);
    await board.send(2);
    expect(board.state).toBe("applying -");
    await board.turn();
    expect(isLost()).toBe(true);
    await board.clock.advance("121s");
    expect([board.state, isLost()]).toEqual(["in-sync 2", false]);
  }
});

test("a lost record remains lost after a trial that failed, until an operator returns to the board's own files", async () => {
  const board = new Board();
  for (const name of ["remote.json", "remote.copy.json"]) writeFileSync(path.join(board.folder, name), "");
  await board.restart();
  await board.send(1);
  await board.turn();
  expect(await board.keeper.rollback(undefined, false)).toMatchObject({ outcome: "done" });
  await board.turn();
  expect(readRemote(board.folder)).toMatchObject({ current: undefined, lost: expect.stringContaining("is damaged") });
  expect(await board.keeper.rollback(0, false)).toMatchObject({ outcome: "done", result: { version: 0 } });
  expect(readRemote(board.folder).lost).toBeUndefined();
});

test("a damaged file is replaced by its copy, and kept for inspection", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  const file = path.join(board.folder, "remote.json");
  for (const damage of [() => writeFileSync(file, Buffer.alloc(500)), () => rmSync(file)]) {
    damage();
    await board.restart();
    expect([board.inForce, board.state]).toEqual([1, "in-sync 1"]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ current: { version: 1 } });
  }
  rmSync(file);
  expect([startRemote(board.folder).isRestored, startRemote(board.folder).isRestored]).toEqual([true, false]);
  writeFileSync(file, "{");
  expect(startRemote(board.folder).setAside).toBe(`${file}.damaged`);
  expect([readFileSync(`${file}.damaged`, "utf8"), startRemote(board.folder).setAside]).toEqual(["{", undefined]);
});

test("an operator who rolls back during a trial restores the settings in force before it", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  expect(board.state).toBe("applying 1");
  expect(await board.keeper.rollback(undefined, false)).toMatchObject({
    outcome: "done",
    result: { version: 0, desiredVersion: 1 },
  });
  await board.turn();
  expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);

  for (const version of [2, 3, 4]) {
    await board.send(version);
    await board.turn();
    if (version < 4) await board.clock.advance("121s");
  }
  expect(board.state).toBe("applying 4");
  expect(await board.keeper.rollback(undefined, false)).toMatchObject({ outcome: "done", result: { version: 3 } });
  await board.turn();
  await board.clock.advance("10m");
  expect([board.state, board.inForce]).toEqual(["rolled-back 3", 3]);
  expect(await board.keeper.rollback(undefined, true)).toMatchObject({ outcome: "done", result: { version: 2 } });
});

test("an operator may remove all fleet settings from the board, and the next version is applied again", async () => {
  const board = new Board();
  expect(await board.keeper.rollback(0, false)).toMatchObject({ outcome: "refused", code: 404 });
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  expect(await board.keeper.rollback(undefined, false)).toMatchObject({
    outcome: "refused",
    code: 404,
    message: expect.stringContaining("0 (this board's own files"),
  });
  expect(await board.keeper.rollback(0, false)).toMatchObject({ outcome: "done", result: { version: 0 } });
  await board.turn();
  await board.restart();
  await board.send(1);
  await board.clock.advance("10m");
  expect([board.state, board.inForce]).toEqual(["rolled-back -", undefined]);
  await board.send(2);
  await board.turn();
  expect(board.state).toBe("applying 2");
});

test("settings that arrive while the disk is full are reported as not stored, and applied when there is room", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  board.isFull = true;
  await board.send(2);
  await board.send(3);
  await board.clock.advance("1h");
  expect(board.keeper.reported()).toMatchObject({
    desiredVersion: 3,
    appliedVersion: 1,
    state: "pending",
    errors: [{ path: "", code: "not-stored", message: expect.stringContaining("ENOSPC") }],
  });
  expect(board.keeper.problems()).toMatchObject([{ type: "FleetConfigNotStored" }]);
  expect(readRemote(board.folder).desired?.version).toBe(1);
  // Twelve tries in an hour, not seven hundred.
  expect(board.writes).toBeLessThan(25);
  board.isFull = false;
  await board.clock.advance("5m");
  await board.reload();
  expect(board.keeper.problems()).toEqual([]);
  expect([board.state, board.inForce]).toEqual(["applying 3", 3]);
});

test("the outcome of a trial is written as soon as there is room", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  board.isFull = true;
  await board.clock.advance("10m");
  expect(board.state).toBe("applying 1");
  board.isFull = false;
  await board.clock.advance("5m");
  expect(board.state).toBe("in-sync 1");

  await board.send(2);
  await board.turn();
  board.isFull = true;
  board.vitals = { lease: true, api: true, mqtt: false };
  await board.clock.advance("121s");
  // The verdict stands, whatever came back since.
  board.vitals = { lease: true, api: true, mqtt: true };
  board.isFull = false;
  await board.turn();
  expect([board.state, board.inForce]).toEqual(["rolled-back 1", 1]);
});

test("the hash is that of the settings as written, regardless of what else the document contains", async () => {
  const config = '{ "log" : {"level":"debug"},\t"nodeLifecycle":{"gracePeriod":"4\\u0031s"} }';
  const expected = createHash("sha256").update(config).digest("hex");
  const documents = [
    `{"v":1,"version":1,"config":${config}}`,
    `{"canarySeconds":60, "config" :\n${config} ,"version":2,"v":1}`,
    `{"v":1,"config":{"log":{}},"version":3,"\\u0063onfig":${config}}`,
  ];
  const board = new Board();
  for (const document of documents) {
    await board.raw(document);
    expect(board.keeper.reported()).toMatchObject({ hash: expected });
    await board.turn();
    await board.clock.advance("121s");
  }
  await board.raw("not even JSON");
  expect(board.keeper.reported()).toMatchObject({
    state: "rejected",
    hash: createHash("sha256").update("not even JSON").digest("hex"),
  });
});

test("the report changes with its content, and not because a process started", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  const before = board.keeper.reported();
  await board.clock.advance("1h");
  await board.restart();
  expect(board.keeper.reported()).toEqual(before);
});

test("a version that leaves no room for a newer one is refused, and the next document is accepted", async () => {
  const board = new Board();
  await board.send(Number.MAX_SAFE_INTEGER);
  expect(board.state).toBe("rejected -");
  await board.send(Date.parse("2026-11-20T12:00:00Z"), { log: {} });
  await board.turn();
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 1795176000000");
});

test("a fault of the fleet has ended when it publishes the version in force again", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  await board.raw('{"v":1,"version":2,"konfig":{}}');
  expect(board.state).toBe("rejected 1");
  await board.send(1);
  expect(board.state).toBe("in-sync 1");
});

test("a document that lacks a required signature changes nothing and does not hide a trial; once signed, its counter is used", async () => {
  const board = new Board();
  const missing = { path: "", code: "signature-missing", message: "this document must be signed" } as const;
  const text = JSON.stringify({ v: 1, version: 2, config: {} });
  await board.raw(text, missing);
  expect([board.state, board.keeper.reported()]).toMatchObject([
    "rejected -",
    { desiredVersion: 2, errors: [missing] },
  ]);
  const { writes } = board;
  await board.raw(text, missing);
  expect(board.writes).toBe(writes);
  await board.send(1);
  await board.raw(text, missing);
  expect(board.state).toBe("applying -");
  await board.turn();
  await board.clock.until(() => board.state === "in-sync 1", "10m");
  await board.raw(text);
  expect(board.state).toBe("applying 1");
});

test("thousands of refused documents are reported with only a few writes", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("121s");
  const { writes } = board;
  for (let version = 2; version < 1000; version++) {
    await board.raw(JSON.stringify({ v: 1, version, konfig: {} }));
    expect(board.keeper.reported()).toMatchObject({ desiredVersion: version, state: "rejected", appliedVersion: 1 });
    if (version % 2 === 0) await board.send(1);
  }
  expect(board.writes - writes).toBeLessThanOrEqual(1);
  await board.send(1);
  await board.restart();
  expect(board.inForce).toBe(1);
  await board.send(2);
  await board.turn();
  await board.clock.advance("121s");
  expect(board.state).toBe("in-sync 2");
});

test("stored settings that no longer fit are reported as rejected, with their faults", async () => {
  const board = new Board();
  await board.send(1);
  await board.turn();
  await board.clock.advance("2m");
  expect(board.state).toBe("in-sync 1");
  const fault = { path: "/memory/soft", code: "schema", message: "120MiB must not be more" } as const;
  [board.leftOut, board.inForce] = [[fault], undefined];
  expect(board.keeper.reported()).toMatchObject({
    desiredVersion: 1,
    appliedVersion: null,
    state: "rejected",
    errors: [fault],
  });
  // Where even the record is lost, the fleet learns that its settings are not in force.
  const fresh = new Board();
  fresh.leftOut = [{ path: "", code: "not-stored" }];
  expect(fresh.keeper.reported()).toMatchObject({ desiredVersion: null, state: "rejected", errors: fresh.leftOut });
});

test("a command does not return to settings that no longer fit", async () => {
  const board = new Board();
  for (const version of [1, 2]) {
    await board.send(version);
    await board.turn();
    await board.clock.advance("2m");
  }
  board.locked = "nodeLifecycle.*";
  expect(await board.keeper.rollback(undefined, false)).toMatchObject({ outcome: "refused", code: 422 });
  expect(board.state).toBe("in-sync 2");
  expect(await board.keeper.rollback(0, false)).toMatchObject({ outcome: "done" });
});
