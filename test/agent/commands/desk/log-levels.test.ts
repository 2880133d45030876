import { expect, test } from "vitest";
import { LogLevels } from "../../../../agent/commands/desk/log-levels.ts";
import { Database } from "../../../../storage/database/database.ts";
import { Memo } from "../../../../storage/memo.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { pragmas } from "../../../storage/object-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const minute = 60_000;

/** A board over several boots: its disk stays, its clocks do not. */
class Board {
  readonly memo = new Memo(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas }));
  readonly levels: (string | undefined)[] = [];
  boots = 0;
  clock = new FakeClock();

  boot(wall: string, isSynced: boolean): LogLevels {
    this.boots++;
    // The monotonic clock begins anew; this one begins a thousand seconds after the boot.
    this.clock = new FakeClock(wall);
    const { clock, boots } = this;
    const ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
    const moment = () => ({ now: clock.now(), bootId: `boot-${boots}`, isSynced });
    const setLogLevel = (level: string | undefined, component?: string): void =>
      void this.levels.push(component === undefined ? level : `${level} of ${component}`);
    const board = { setLogLevel };
    const levels = new LogLevels(ambient, { memo: this.memo, board, moment });
    levels.begin();
    return levels;
  }
}

test("a log level ends by itself, and its end is stored", async () => {
  const board = new Board();
  board.boot("2026-11-20T12:00:00Z", true).set({ level: "debug", component: undefined, ttl: 10 * minute });
  await board.clock.advance("10m");
  expect(board.levels).toEqual(["debug", undefined]);
  expect([...board.memo.entries("log-level")]).toEqual([]);
});

test("after a reboot with the right time a level lasts until its original end", async () => {
  const board = new Board();
  board.boot("2026-11-20T12:00:00Z", true).set({ level: "debug", component: undefined, ttl: 60 * minute });
  board.boot("2026-11-20T12:50:00Z", true);
  await board.clock.advance("9m59s");
  expect(board.levels).toEqual(["debug", "debug"]);
  await board.clock.advance("1s");
  expect(board.levels).toEqual(["debug", "debug", undefined]);
});

test("if the time is unknown after a power cut, the rest of a level counts from the boot", async () => {
  const board = new Board();
  board.boot("2026-11-20T12:00:00Z", true).set({ level: "debug", component: undefined, ttl: 60 * minute });
  board.boot("1970-01-01T00:00:00Z", false);
  // A thousand seconds of this boot are over when the agent starts.
  await board.clock.advance(60 * minute - 1_000_000 - 1000);
  expect(board.levels).toEqual(["debug", "debug"]);
  await board.clock.advance("1s");
  expect(board.levels).toEqual(["debug", "debug", undefined]);
});

test("the latest order holds, and one that has expired by the next start does not take effect", () => {
  const board = new Board();
  const levels = board.boot("2026-11-20T12:00:00Z", true);
  levels.set({ level: "debug", component: undefined, ttl: 60 * minute });
  levels.set({ level: "error", component: undefined, ttl: minute });
  board.boot("2026-11-20T13:00:00Z", true);
  expect(board.levels).toEqual(["debug", "error", undefined]);
});

test("the level of one component applies to it alone, even after a restart, until the next order", async () => {
  const board = new Board();
  board.boot("2026-11-20T12:00:00Z", true).set({ level: "debug", component: "pod-gc", ttl: 10 * minute });
  const next = board.boot("2026-11-20T12:05:00Z", true);
  expect(board.levels).toEqual(["debug of pod-gc", "debug of pod-gc"]);
  next.set({ level: "warn", component: undefined, ttl: minute });
  await board.clock.advance("1m");
  expect(board.levels.slice(2)).toEqual(["warn", undefined]);
});
