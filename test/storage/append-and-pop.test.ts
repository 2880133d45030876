import { describe, expect, test } from "vitest";
import type { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import type { Delta } from "../../storage/object.ts";
import {
  delta,
  list,
  memory,
  onlyBeat,
  popAll,
  rowsOf,
  show,
  shown,
  shownChanges,
  store,
  storeOf,
  type Thing,
  thing,
} from "./object-store.ts";
import { Site } from "./power-cut-model.ts";

type Deltas = readonly Delta<Thing>[];
type Way = (fifo: DeltaFIFO<Thing>, deltas: Deltas, resourceVersion: string) => readonly string[];

/** Both answer with what is told of a group that comes while nothing waits. */
const ways: readonly (readonly [name: string, receive: Way])[] = [
  [
    "appended, then popped",
    (fifo, deltas, resourceVersion) => {
      fifo.append(deltas, resourceVersion);
      return popAll(fifo);
    },
  ],
  [
    "taken at once",
    (fifo, deltas, resourceVersion) =>
      shownChanges(fifo.appendAndPop(deltas, resourceVersion) ?? expect.fail("something waited")),
  ],
];

const tables = ["resources", "objects", "index_rows", "journal", "seen"] as const;
const contents = (database: Database): object =>
  Object.fromEntries(
    tables.map((table) => {
      const columns = table === "objects" ? "resource, key, uid, version, text" : "*";
      const text = `SELECT ${columns} FROM ${table}${table === "objects" ? " ORDER BY key" : ""}`;
      return [table, database.prepare(text).all()];
    }),
  );

describe.each(ways)("a group of deltas that is %s", (_, receive) => {
  test("reports that an object appears, changes and is deleted", () => {
    const { fifo, indexer, database } = store();
    expect(receive(fifo, [delta("Added", "foo@1", { board: "pi-1" })], "1")).toEqual(["- > foo@1"]);
    expect(shown(indexer.byIndex("board", "pi-1"))).toEqual(["foo@1"]);
    expect(receive(fifo, [delta("Updated", "foo@2", { board: "pi-2" })], "2")).toEqual(["foo@1 > foo@2"]);
    expect(shown(indexer.byIndex("board", "pi-1"))).toEqual([]);
    expect(shown(indexer.byIndex("board", "pi-2"))).toEqual(["foo@2"]);
    expect(receive(fifo, [delta("Deleted", "foo@3", { board: "pi-2" })], "3")).toEqual(["foo@3 > -"]);
    expect([fifo.resourceVersion, fifo.depth, fifo.hasSynced]).toEqual(["3", 0, true]);
    for (const table of ["objects", "journal", "index_rows", "seen"]) expect(rowsOf(database, table)).toBe(0);
  });

  test.each<[name: string, stored: string[], group: Deltas, shownChanges: string[]]>([
    [
      "several states are one change",
      ["foo@1"],
      [delta("Updated", "foo@2"), delta("Updated", "foo@3")],
      ["foo@1 > foo@3"],
    ],
    ["a late deletion reports the newer stored state", ["foo@10"], [delta("Deleted", "foo@9")], ["foo@10 > -"]],
    [
      "two deletions in a row are one, with the older state",
      ["foo@5"],
      [delta("Deleted", "foo@7"), delta("Deleted", "foo@8")],
      ["foo@7 > -"],
    ],
    ["the deletion of an unknown object is ignored", [], [delta("Deleted", "foo@9")], []],
    [
      "an object that appeared and was deleted is not reported",
      [],
      [delta("Added", "foo@2"), delta("Deleted", "foo@3")],
      [],
    ],
    [
      "an object that was deleted and recreated is a change",
      ["foo@1"],
      [delta("Deleted", "foo@2"), delta("Added", "foo@3")],
      ["foo@1 > foo@3"],
    ],
    ["another uid is another object", ["foo@1"], [delta("Updated", "foo@4/second")], ["foo@1 > -", "- > foo@4/second"]],
    [
      "another uid is another object even if the deletion between was seen",
      ["foo@1"],
      [delta("Deleted", "foo@3"), delta("Added", "foo@4/second")],
      ["foo@3 > -", "- > foo@4/second"],
    ],
    ["the same state again is reported and costs no write", ["foo@1"], [delta("Updated", "foo@1")], ["foo@1 > foo@1"]],
    [
      "keys are reported in the order in which they first arrived",
      ["a@1"],
      [delta("Added", "b@2"), delta("Updated", "a@3"), delta("Updated", "b@4")],
      ["- > b@4", "a@1 > a@3"],
    ],
  ])("%s", (_, stored, group, expected) => {
    const { fifo } = storeOf(stored);
    expect(receive(fifo, group, "20")).toEqual(expected);
    expect([fifo.resourceVersion, fifo.depth]).toEqual(["20", 0]);
  });

  test("sets hasSynced after the very first group, even if nothing of it is kept", () => {
    const { fifo } = store();
    expect(receive(fifo, [], "1")).toEqual([]);
    expect(fifo.hasSynced).toBe(false);
    expect(receive(fifo, [delta("Deleted", "a@2")], "2")).toEqual([]);
    expect(fifo.hasSynced).toBe(true);
  });

  test("ends a list that was not committed", () => {
    const { fifo, indexer, database } = storeOf(["a@1"]);
    const replacement = fifo.replace();
    replacement.page([thing("b@2")]);
    expect(receive(fifo, [delta("Added", "c@3")], "3")).toEqual(["- > c@3"]);
    expect(() => replacement.commit("4")).toThrow("has ended");
    expect(shown(indexer.list())).toEqual(["a@1", "c@3"]);
    expect(rowsOf(database, "journal")).toBe(0);
  });

  test("cannot be part of a larger transaction", () => {
    const { database, fifo, indexer } = store();
    expect(() => database.transaction(() => receive(fifo, [delta("Added", "a@1")], "1"))).toThrow(
      "in its own transactions",
    );
    expect([fifo.resourceVersion, indexer.size]).toEqual([undefined, 0]);
  });

  describe("with heartbeats", () => {
    const seeded = (): ReturnType<typeof store> => {
      const made = store(memory(), { isQuiet: onlyBeat });
      receive(
        made.fifo,
        [delta("Added", "a@1", { board: "pi-1", beat: 1 }), delta("Added", "b@2", { board: "pi-1" })],
        "2",
      );
      return made;
    };
    const beat = delta("Updated", "a@3", { board: "pi-1", beat: 2 });
    const writes = (database: Database): number =>
      database.prepare<{ count: number }>("SELECT total_changes() AS count").get()?.count ?? -1;

    test("as its only content neither writes nor notifies listeners, and the next write carries them", () => {
      const { database, fifo, indexer } = seeded();
      const before = writes(database);
      expect(receive(fifo, [beat], "3")).toEqual([]);
      expect(writes(database)).toBe(before);
      expect(indexer.get("a")?.beat).toBe(2);
      expect(receive(fifo, [delta("Added", "c@5")], "5")).toEqual(["- > c@5"]);
      const again = store(database, { isQuiet: onlyBeat });
      expect([again.indexer.get("a")?.beat, again.fifo.resourceVersion]).toEqual([2, "5"]);
    });

    test("is followed by a change that is reported against the last heartbeat, regardless of its group", () => {
      const move = delta("Updated", "a@4", { board: "pi-2", beat: 2 });
      const apart = seeded();
      receive(apart.fifo, [beat], "3");
      expect(receive(apart.fifo, [move], "4")).toEqual(["a@3 > a@4"]);
      const together = seeded();
      expect(receive(together.fifo, [beat, move, delta("Updated", "a@5", { board: "pi-2", beat: 3 })], "5")).toEqual([
        "a@3 > a@5",
      ]);
      expect(shown(together.indexer.byIndex("board", "pi-2"))).toEqual(["a@5"]);
      expect(shown(together.indexer.byIndex("board", "pi-1"))).toEqual(["b@2"]);
    });

    test("is followed by a deletion that reports the newest state, and leaves no index row", () => {
      const { fifo, indexer } = seeded();
      receive(fifo, [beat], "3");
      expect(receive(fifo, [delta("Deleted", "a@3", { board: "pi-1", beat: 2 })], "4")).toEqual(["a@3 > -"]);
      expect(indexer.get("a")).toBeUndefined();
      expect(shown(indexer.byIndex("board", "pi-1"))).toEqual(["b@2"]);
    });
  });

  test("that cannot be written leaves position, objects and reads unchanged, and works again later", () => {
    const { database, fifo, indexer } = storeOf(["a@1"]);
    const big = { tags: [crypto.randomUUID().repeat(200)] };
    const pages = database.prepare<{ page_count: number }>("PRAGMA page_count").get()?.page_count ?? 0;
    database.prepare(`PRAGMA max_page_count = ${pages}`).get();
    const group = [delta("Updated", "a@2", big), delta("Added", "b@3")];
    expect(() => receive(fifo, group, "3")).toThrow(expect.objectContaining({ kind: "full" }));
    expect([fifo.resourceVersion, fifo.depth, show(indexer.get("a")), indexer.size]).toEqual(["1", 0, "a@1", 1]);
    database.prepare("PRAGMA max_page_count = 100000").get();
    expect(receive(fifo, group, "3")).toEqual(["a@1 > a@2", "- > b@3"]);
  });
});

test("both ways report the same and leave the same file, regardless of what happens", () => {
  const made = ways.map(([, receive]) => ({ ...store(memory(), { isQuiet: onlyBeat }), receive }));
  const site = new Site(11);
  for (let round = 0; round < 300; round++) {
    const group = Array.from({ length: 1 + (round % 9) }, () => site.step());
    const [journaled, taken] = made.map(({ fifo, receive }) => receive(fifo, group, site.version));
    expect(taken).toEqual(journaled);
  }
  const [journaled, taken] = made.map(({ database, fifo }) => {
    fifo.flush();
    return contents(database);
  });
  expect(taken).toEqual(journaled);
});

describe("appendAndPop", () => {
  test("declines while something waits, without any effect", () => {
    const { fifo, indexer, database } = storeOf(["a@1"]);
    fifo.append([delta("Updated", "a@2")], "2");
    expect(fifo.appendAndPop([delta("Updated", "a@3")], "3")).toBeUndefined();
    expect([fifo.resourceVersion, fifo.depth, rowsOf(database, "journal")]).toEqual(["2", 1, 1]);
    expect(popAll(fifo)).toEqual(["a@1 > a@2"]);
    expect(shownChanges(fifo.appendAndPop([delta("Updated", "a@3")], "3") ?? [])).toEqual(["a@2 > a@3"]);
    expect(shown(indexer.list())).toEqual(["a@3"]);
  });

  test("declines until the first list has been popped", () => {
    const { fifo } = store();
    list(fifo, ["a@1"], "1");
    expect(fifo.appendAndPop([delta("Added", "b@2")], "2")).toBeUndefined();
    expect(fifo.hasSynced).toBe(false);
  });

  test("shows nothing of a group if a rule fails in the middle of it", () => {
    const database = memory();
    let broken = true;
    const indices = {
      board: ({ board }: Thing): readonly string[] => {
        if (broken && board === "bad") throw new Error("a bug");
        return [];
      },
    };
    const indexer = new Indexer<Thing>({ database, resource: "things", indices, decodedBytes: 1 << 20 });
    const fifo = new DeltaFIFO<Thing>({ database, resource: "things", indexer, deltasPerObject: 16 });
    const group = [delta("Added", "b@3"), delta("Added", "c@4", { board: "bad" })];
    expect(() => fifo.appendAndPop(group, "4")).toThrow("a bug");
    expect([indexer.get("b"), indexer.size, fifo.resourceVersion, fifo.hasSynced]).toEqual([
      undefined,
      0,
      undefined,
      false,
    ]);
    broken = false;
    expect(shownChanges(fifo.appendAndPop(group, "4") ?? [])).toEqual(["- > b@3", "- > c@4"]);
  });
});
