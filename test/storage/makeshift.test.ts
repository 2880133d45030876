import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { CommandLog } from "../../storage/command-log.ts";
import { carryBack, makeMakeshift, openMakeshift } from "../../storage/makeshift.ts";
import { Memo } from "../../storage/memo.ts";
import { Outbox } from "../../storage/outbox.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { pragmas, scratch } from "./object-store.ts";

const options = { pragmas, stamp: "1" };
const why = "the card cannot be written";
const bounds = { event: { rows: 10, bytes: 10_000 }, response: { rows: 10, bytes: 10_000 } };
const message = { topic: "t", payload: "p", retain: false, properties: "{}", rank: 1, ttl: 60_000 };

/** A folder in which a board has lived; its process is gone without a word. */
function lived(folder: string): void {
  const { state, abandon } = bound(StateFolder.open({ ...options, folder }));
  const memo = new Memo(state.database);
  memo.set("outbox", "session", "7");
  memo.set("cache", "cluster", "uid:a");
  new Outbox(state.database, bounds).event(() => message, { boot: "b", mono: 0 });
  new CommandLog(state.database).admit({
    ...{ id: "C1", name: "log.level", scope: "board", origin: "mqtt", author: "ops", hash: "h" },
    ...{ payload: "{}", state: "accepted", answer: "{}", lapses: "", keep: "" },
  });
  abandon();
}

const bound = (folder: StateFolder) => ({ state: folder.state, abandon: () => folder.closeWithoutCheckpoint() });

const files = (folder: string): readonly string[] =>
  readdirSync(folder).map((name) => `${name} ${statSync(path.join(folder, name)).size}`);

test("without a writable disk the agent continues with its stored state, and sends none of the messages waiting on it", () => {
  using place = scratch();
  const [at, of] = [place.file("run/makeshift"), place.file("state")];
  lived(of);
  const before = files(of);
  const makeshift = makeMakeshift(at, of);
  const folder = openMakeshift(at, { ...options, standsIn: why });
  const { database } = folder.state;
  expect(makeshift.isCopy).toBe(true);
  expect(folder.obstacle()).toBe(why);
  expect(new Memo(database).get("outbox", "session")).toBe("7");
  expect(new CommandLog(database).find("C1")?.state).toBe("accepted");
  expect(new Outbox(database, bounds).next("event", 10)).toEqual([]);
  folder.close();
  expect(files(of)).toEqual(before);
  // No other user of the board may read the agent's state.
  expect(statSync(at).mode & 0o77).toBe(0);
});

test("state written in the meantime is carried back, the messages that waited on the card are still there, and the makeshift is gone", () => {
  using place = scratch();
  const [at, of] = [place.file("run/makeshift"), place.file("state")];
  lived(of);
  const makeshift = makeMakeshift(at, of);
  const folder = openMakeshift(at, { ...options, standsIn: why });
  const learnt = new Memo(folder.state.database);
  learnt.set("outbox", "session", "9");
  learnt.set("leader", "seen", "41");
  learnt.set("cache", "cluster", "uid:b");
  folder.close();

  const back = StateFolder.open({ ...options, folder: of });
  carryBack(makeshift, back, options);
  const memo = new Memo(back.state.database);
  expect([memo.get("outbox", "session"), memo.get("leader", "seen")]).toEqual(["9", "41"]);
  // The cache on the card was filled from where it was filled.
  expect(memo.get("cache", "cluster")).toBe("uid:a");
  expect(new Outbox(back.state.database, bounds).next("event", 10)).toHaveLength(1);
  expect(existsSync(at)).toBe(false);
  back.closeWithoutCheckpoint();
});

test("unreadable state is not copied, and is not overwritten on return", () => {
  using place = scratch();
  const [at, of] = [place.file("run/makeshift"), place.file("state")];
  mkdirSync(path.join(of, "state.db"), { recursive: true });
  const makeshift = makeMakeshift(at, of);
  expect(makeshift.isCopy).toBe(false);
  const folder = openMakeshift(at, { ...options, standsIn: why });
  new Memo(folder.state.database).set("outbox", "session", "1");
  folder.close();
  const back = StateFolder.open({ ...options, folder: place.file("mended") });
  new Memo(back.state.database).set("outbox", "session", "7");
  carryBack(makeshift, back, options);
  expect(new Memo(back.state.database).get("outbox", "session")).toBe("7");
  back.closeWithoutCheckpoint();
});

test("a missing folder has a makeshift too, and leftovers of an earlier process are removed", () => {
  using place = scratch();
  const at = place.file("run/makeshift");
  mkdirSync(at, { recursive: true });
  writeFileSync(path.join(at, "state.db"), "of another time");
  expect(makeMakeshift(at, place.file("no-folder")).isCopy).toBe(true);
  const folder = openMakeshift(at, { ...options, standsIn: why });
  expect(new Memo(folder.state.database).areas()).toEqual(["cache"]);
  folder.close();
});
