import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import { StatePlace } from "../../../agent/process/state-place.ts";
import { StorageError } from "../../../storage/errors.ts";
import { Memo } from "../../../storage/memo.ts";
import type { StateFolder } from "../../../storage/state-folder.ts";
import { createNewerFile, scratch } from "../../storage/object-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { canMount, mount, unmount } from "../../support/mounts.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

/** A board's folders, and the process that looks for a place in them. */
class Board implements Disposable {
  readonly clock = new FakeClock();
  readonly config: Config;
  readonly place: StatePlace;
  readonly #scratch = scratch();
  #regained: unknown;

  /** `folder`: the state folder; by default one that is not full. */
  constructor(folder?: string) {
    const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });
    const [state, run] = [{ folder: folder ?? this.#scratch.file("state") }, { folder: this.#scratch.file("run") }];
    this.config = { ...config, state: { ...config.state, ...state }, run: { ...config.run, ...run } };
    const ambient = { clock: this.clock, random: new SeededRandom(1), log: new RecordingLog() };
    this.place = new StatePlace(ambient, { isSupervised: true });
  }

  get folder(): string {
    return this.config.state.folder;
  }

  get makeshift(): string {
    return path.join(this.config.run.folder, "makeshift");
  }

  fails(kind: "full" | "io" | "busy" = "full"): boolean {
    return this.place.avoid(this.config, new StorageError(kind, { file: `${this.folder}/cache.db` }), 2000);
  }

  look(signal: AbortSignal): void {
    void this.place.regained(this.config, signal).then((found) => {
      this.#regained = found ?? "given up";
    });
  }

  get regained(): unknown {
    return this.#regained;
  }

  [Symbol.dispose](): void {
    this.place.close();
    this.#scratch[Symbol.dispose]();
  }
}

test("a life on a full disk is followed by one on a makeshift, and by one on the disk when that is writable", async () => {
  using board = new Board();
  const { place, config } = board;
  const first = place.open(config);
  expect(first.standsIn).toBeUndefined();
  new Memo(first.state.database).set("outbox", "session", "7");
  first.closeWithoutCheckpoint();
  expect(board.fails()).toBe(true);
  const second = place.open(config);
  expect(second.standsIn).toMatch(/cache\.db: the disk is full$/);
  const memo = new Memo(second.state.database);
  expect(memo.get("outbox", "session")).toBe("7");
  memo.set("outbox", "session", "8");
  const ends = new AbortController();
  board.look(ends.signal);
  await board.clock.advance(1900);
  expect(board.regained).toBeUndefined();
  await board.clock.advance(200);
  expect(board.regained).toBe("usable");
  second.close();
  const third = place.open(config);
  expect(third.standsIn).toBeUndefined();
  expect(new Memo(third.state.database).get("outbox", "session")).toBe("8");
  expect(existsSync(board.makeshift)).toBe(false);
  third.close();
});

test("checks of the folder become less frequent, down to one a minute, and never stop", async () => {
  using board = new Board();
  // Something in its place: nothing can be stored there.
  writeFileSync(board.folder, "");
  board.fails("io");
  board.place.open(board.config).close();
  board.look(new AbortController().signal);
  await board.clock.advance("10m");
  expect(board.regained).toBeUndefined();
  rmSync(board.folder);
  await board.clock.advance(59_000);
  await board.clock.advance(1000);
  expect(board.regained).toBe("usable");
});

test("neither an error unrelated to the disk nor a failing makeshift needs a makeshift", () => {
  using board = new Board();
  expect(board.fails("busy")).toBe(false);
  expect(board.place.avoids(board.config)).toBeUndefined();
  expect(board.fails()).toBe(true);
  // The life on the makeshift ended with an error of its own: the next one tries the folder.
  expect(board.fails("io")).toBe(false);
  const folder = board.place.open(board.config);
  expect(folder.standsIn).toBeUndefined();
  folder.close();
});

test("another folder in the configuration is tried, regardless of what happened to the first one", () => {
  using board = new Board();
  board.fails();
  const other = { ...board.config, state: { ...board.config.state, folder: `${board.folder}-2` } };
  expect(board.place.avoids(other)).toBeUndefined();
  const folder = board.place.open(other);
  expect(folder.standsIn).toBeUndefined();
  folder.close();
  // A life on the makeshift that ended for another reason is followed by one on the same makeshift.
  const makeshift = board.place.open(board.config);
  new Memo(makeshift.state.database).set("outbox", "session", "3");
  makeshift.close();
  const again = board.place.open(board.config);
  expect(new Memo(again.state.database).get("outbox", "session")).toBe("3");
  again.close();
});

test("an unusable file on a disk that is writable again is reported by the next life", async () => {
  using board = new Board();
  mkdirSync(board.folder);
  const file = path.join(board.folder, "state.db");
  createNewerFile(file);
  board.fails();
  board.look(new AbortController().signal);
  await board.clock.advance(2100);
  expect(board.regained).toBe("usable");
  expect(() => board.place.open(board.config)).toThrow(/written by a newer version/);
});

describe.skipIf(!canMount())("a disk that the cache fills", () => {
  let disk: string;
  let board: Board;
  beforeEach(() => {
    disk = mount(tmpdir(), "size=8m");
    board = new Board(path.join(disk, "state"));
  });
  afterEach(() => {
    board[Symbol.dispose]();
    unmount(disk);
    rmSync(disk, { recursive: true });
  });

  /** Fills the disk with the cache of a folder that is open; it is closed as after a failed write. */
  function fill(folder: StateFolder): void {
    const { database } = folder.cache;
    const put = database.prepare("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, '1', '1', ?)");
    try {
      for (let i = 0; ; i++) put.run(`tenant/${i}`, "x".repeat(100_000));
    } catch (error) {
      expect(error).toMatchObject({ kind: "full" });
    }
    folder.closeWithoutCheckpoint();
  }

  /** A life that fills the disk and fails, and the next one on the makeshift. Returns what the check after it finds. */
  async function relapse(): Promise<unknown> {
    fill(board.place.open(board.config));
    board.fails();
    board.place.open(board.config).close();
    const ends = new AbortController();
    board.look(ends.signal);
    await board.clock.advance("3m");
    ends.abort(new Error("enough"));
    await board.clock.advance(0);
    const found = board.regained;
    if (found === "given up") board.fails();
    return found;
  }

  test("is used again after the pause, without that cache, up to three times an hour", async () => {
    expect(await relapse()).toBe("usable");
    const folder = board.place.open(board.config);
    expect(folder.standsIn).toBeUndefined();
    expect(folder.cache.rebuilt?.kind).toBe("full");
    folder.close();
    expect([await relapse(), await relapse(), await relapse()]).toEqual(["usable", "usable", "given up"]);
    // An hour after the first deletion.
    await board.clock.advance("55m");
    board.fails();
    board.look(new AbortController().signal);
    await board.clock.advance("1m");
    expect(board.regained).toBe("usable");
  });

  test("is noticed within ten seconds by a life that does not fail, because it stores nothing", async () => {
    const { place, config, clock } = board;
    const folder = place.open(config);
    let isNoticed = false;
    const ends = new AbortController();
    void place.crowded(config, ends.signal).then(() => {
      isNoticed = true;
    });
    await clock.advance("1m");
    expect(isNoticed).toBe(false);
    fill(folder);
    await clock.advance("10s");
    expect(isNoticed).toBe(true);
    const next = place.open(config);
    expect([next.cache.rebuilt?.kind, next.obstacle()]).toEqual(["full", undefined]);
    next.close();
  });
});

test("a process that is asked to end stops checking immediately", async () => {
  using board = new Board();
  const ends = new AbortController();
  board.fails();
  board.look(ends.signal);
  ends.abort(new Error("stop"));
  await board.clock.advance(0);
  expect(board.regained).toBe("given up");
});
