import { describe, expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import { DeltaFIFO } from "../../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../../storage/indexer/indexer.ts";
import { cacheMigrations } from "../../../storage/schema.ts";
import {
  delta,
  list,
  memory,
  onlyBeat,
  popAll,
  pragmas,
  rowsOf,
  scratch,
  show,
  shown,
  shownChanges,
  store,
  storeOf,
  type Thing,
  thing,
} from "../object-store.ts";
import { cacheOf, follow } from "../power-cut-model.ts";

/**
 * The cases of client-go's DeltaFIFO that apply here (docs/kubernetes-rules.md#deltafifo). Ours tells changes where
 * that one hands out deltas, and is given Replaced where its unit tests emit Sync; what the deltas mean is the same.
 * Rules about the deltas themselves stand as cases in test/cases/DF and are not repeated here.
 */
describe("as a DeltaFIFO", () => {
  test("a deleted object that the next list contains again, with the same uid, is one update", () => {
    const { fifo } = storeOf(["foo@1"]);
    fifo.append([delta("Deleted", "foo@1")], "2");
    list(fifo, ["foo@2"], "3");
    expect(popAll(fifo)).toEqual(["foo@1 > foo@2"]);
  });

  test("a deleted object that the next list contains again, with another uid, is a deletion and an addition", () => {
    const { fifo } = storeOf(["foo@1"]);
    fifo.append([delta("Deleted", "foo@1")], "2");
    list(fifo, ["foo@2/second"], "3");
    expect(popAll(fifo)).toEqual(["foo@1 > -", "- > foo@2/second"]);
  });

  test("an object that appeared and was deleted before a pop is not reported, and a list without it does not add a second deletion", () => {
    const { fifo, database, indexer } = store();
    fifo.append([delta("Added", "foo@2"), delta("Deleted", "foo@2")], "2");
    list(fifo, [], "3");
    expect(rowsOf(database, "journal")).toBe(2);
    expect(popAll(fifo)).toEqual([]);
    expect(indexer.size).toBe(0);
  });

  test("an object that only waits in the queue is deleted by a list without it", () => {
    const { fifo, database, indexer } = store();
    fifo.append([delta("Added", "foo@2"), delta("Deleted", "foo@2"), delta("Added", "foo@3")], "3");
    list(fifo, [], "4");
    expect(rowsOf(database, "journal")).toBe(4);
    expect(popAll(fifo)).toEqual([]);
    expect(indexer.get("foo")).toBeUndefined();
  });

  test("queued keys that the list lacks are deleted first, with their newest state, and then stored ones", () => {
    const { fifo } = storeOf(["foo@5", "bar@6", "baz@7"]);
    fifo.append([delta("Added", "baz@10")], "10");
    list(fifo, ["foo@5"], "11");
    expect(popAll(fifo)).toEqual(["baz@10 > -", "bar@6 > -"]);
  });

  test("the deletion of an unknown object is ignored, and the position moves on", () => {
    const { fifo } = storeOf([]);
    fifo.append([delta("Deleted", "foo@9")], "9");
    expect(fifo.depth).toBe(0);
    expect(fifo.resourceVersion).toBe("9");
  });

  describe("hasSynced", () => {
    test("is not changed by a bookmark or by an empty group", () => {
      const { fifo } = store();
      fifo.bookmark("4");
      fifo.append([], "5");
      expect(fifo.hasSynced).toBe(false);
    });

    test("does not wait for deltas behind the first list", () => {
      const { fifo } = store();
      list(fifo, ["a@1"], "1");
      fifo.append([delta("Added", "b@2")], "2");
      fifo.pop(1);
      expect(fifo.hasSynced).toBe(true);
      expect(fifo.depth).toBe(1);
    });
  });

  test("a resync proceeds step by step, and changes made in the meantime are reported once more", () => {
    const { fifo } = storeOf(["a@1", "b@1", "c@1", "d@1"]);
    const behind = fifo.resync("", 2);
    expect(behind).toBe("b");
    fifo.append([delta("Updated", "a@2"), delta("Updated", "d@2"), delta("Deleted", "c@2")], "2");
    expect(fifo.resync(behind ?? "", 2)).toBeUndefined();
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "b@1 > b@1", "d@1 > d@2", "c@2 > -"]);
    expect([fifo.resync("", 3), fifo.resync("d", 3)]).toEqual(["d", undefined]);
    expect(fifo.depth).toBe(3);
  });

  test("while a resync is pending, the newest state of an object is the stored one", () => {
    const { fifo } = storeOf(["a@1"]);
    fifo.resync("", 10);
    expect(fifo.newest("a")?.metadata.resourceVersion).toBe("1");
  });
});

describe("append and pop", () => {
  test("the result is empty only if nothing is waiting", () => {
    const { fifo } = store();
    fifo.append([delta("Added", "a@1"), delta("Deleted", "a@2"), delta("Added", "b@3")], "3");
    expect(shownChanges(fifo.pop(1))).toEqual(["- > b@3"]);
    expect(fifo.depth).toBe(0);
  });

  test("more deltas of one object than allowed are merged without losing their meaning", () => {
    const { fifo, database } = store(memory(), { deltasPerObject: 4 });
    for (let version = 1; version <= 5; version++) fifo.append([delta("Updated", `foo@${version}`)], String(version));
    expect(rowsOf(database, "journal")).toBe(2);
    expect(fifo.merged).toBe(3);
    expect(fifo.depth).toBe(1);
    expect(popAll(fifo)).toEqual(["- > foo@5"]);
  });

  test("as many deltas of one object as allowed are kept", () => {
    const { fifo, database } = store(memory(), { deltasPerObject: 4 });
    for (let version = 1; version <= 4; version++) fifo.append([delta("Updated", `foo@${version}`)], String(version));
    expect(rowsOf(database, "journal")).toBe(4);
    expect(fifo.merged).toBe(0);
  });

  test("merging keeps the end of every previous uid", () => {
    const { fifo, database } = storeOf(["foo@1"], { deltasPerObject: 3 });
    const versions = ["2", "3", "4/second", "5/second", "6/second", "7/third"];
    for (const version of versions) fifo.append([delta("Updated", `foo@${version}`)], version);
    expect(rowsOf(database, "journal")).toBeLessThanOrEqual(4);
    expect(popAll(fifo)).toEqual([
      "foo@1 > foo@3",
      "foo@3 > -",
      "- > foo@6/second",
      "foo@6/second > -",
      "- > foo@7/third",
    ]);
  });

  test("merging never reorders the queue", () => {
    const { fifo } = store(memory(), { deltasPerObject: 2 });
    fifo.append([delta("Added", "a@1"), delta("Added", "b@2")], "2");
    for (let version = 3; version < 9; version++) fifo.append([delta("Updated", `a@${version}`)], String(version));
    expect(popAll(fifo)).toEqual(["- > a@8", "- > b@2"]);
  });

  test("a burst larger than one page is returned once per object", () => {
    const { fifo, indexer } = store();
    for (let at = 0; at < 700; at++) fifo.append([delta("Added", `t${at % 350}@${at + 1}`)], String(at + 1));
    const changes = popAll(fifo);
    expect(changes).toHaveLength(350);
    expect(changes[0]).toBe("- > t0@351");
    expect(indexer.size).toBe(350);
  });

  test("two resources in one file do not affect each other", () => {
    const database = memory();
    const [pods, nodes] = [store(database, { resource: "pods" }), store(database, { resource: "nodes" })];
    pods.fifo.append([delta("Added", "foo@1"), delta("Updated", "foo@2")], "2");
    nodes.fifo.append([delta("Added", "foo@7")], "7");
    list(nodes.fifo, [], "8");
    expect(popAll(nodes.fifo)).toEqual([]);
    expect(popAll(pods.fifo)).toEqual(["- > foo@2"]);
    expect([pods.fifo.resourceVersion, nodes.fifo.resourceVersion]).toEqual(["2", "8"]);
    expect([pods.indexer.size, nodes.indexer.size]).toEqual([1, 0]);
  });
});

describe("a list", () => {
  test("is reported only when all of its pages have arrived", () => {
    const { fifo, indexer } = storeOf(["a@1", "b@1"]);
    const replacement = fifo.replace();
    replacement.page([thing("a@5")]);
    expect(fifo.pop(64)).toEqual([]);
    replacement.page([thing("c@6")]);
    expect(fifo.depth).toBe(0);
    expect(fifo.resourceVersion).toBe("1");
    replacement.commit("6");
    expect(fifo.resourceVersion).toBe("6");
    expect(popAll(fifo)).toEqual(["a@1 > a@5", "- > c@6", "b@1 > -"]);
    expect(shown(indexer.list())).toEqual(["a@5", "c@6"]);
  });

  test("of stored objects neither costs a journal row nor reports anything", () => {
    const { fifo, database } = storeOf(["a@1", "b@1"]);
    const replacement = fifo.replace();
    replacement.page([thing("a@1"), thing("b@1")]);
    expect(rowsOf(database, "journal")).toBe(0);
    expect(rowsOf(database, "seen")).toBe(2);
    replacement.commit("9");
    expect(rowsOf(database, "seen")).toBe(0);
    expect(fifo.depth).toBe(0);
    expect(fifo.resourceVersion).toBe("9");
  });

  test("of the same version under another uid is a change", () => {
    const { fifo } = storeOf(["a@1"]);
    list(fifo, ["a@1/second"], "9");
    expect(popAll(fifo)).toEqual(["a@1 > -", "- > a@1/second"]);
  });

  test("lets the pump continue with earlier deltas", () => {
    const { fifo, indexer } = storeOf(["a@1"]);
    fifo.append([delta("Updated", "a@2"), delta("Added", "b@3")], "3");
    const replacement = fifo.replace();
    replacement.page([thing("a@2"), thing("c@4")]);
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "- > b@3"]);
    replacement.commit("4");
    popAll(fifo);
    expect(shown(indexer.list())).toEqual(["a@2", "c@4"]);
  });

  test("that is aborted leaves everything unchanged", () => {
    const { fifo, database, indexer } = storeOf(["a@1"]);
    fifo.append([delta("Updated", "a@2")], "2");
    const replacement = fifo.replace();
    replacement.page([thing("b@7")]);
    replacement.abort();
    replacement.abort();
    expect(fifo.resourceVersion).toBe("2");
    expect(popAll(fifo)).toEqual(["a@1 > a@2"]);
    expect(shown(indexer.list())).toEqual(["a@2"]);
    for (const table of ["journal", "seen"]) expect(rowsOf(database, table)).toBe(0);
  });

  test("cannot continue after it has ended, or after the next has begun", () => {
    const { fifo } = storeOf(["a@1"]);
    const first = fifo.replace();
    first.page([thing("b@2")]);
    const second = fifo.replace();
    expect(() => first.page([thing("c@3")])).toThrow("has ended");
    first.abort();
    second.page([thing("a@1")]);
    second.commit("5");
    expect(() => second.commit("6")).toThrow("has ended");
    expect(popAll(fifo)).toEqual([]);
    expect(fifo.resourceVersion).toBe("5");
  });

  test("ends if the watch continues without it", () => {
    const { fifo, indexer } = storeOf(["a@1"]);
    const replacement = fifo.replace();
    replacement.page([thing("b@2")]);
    fifo.append([delta("Added", "c@3")], "3");
    expect(() => replacement.commit("4")).toThrow("has ended");
    expect(popAll(fifo)).toEqual(["- > c@3"]);
    expect(shown(indexer.list())).toEqual(["a@1", "c@3"]);
  });

  test("makes a resync superfluous while it is under way", () => {
    const { fifo } = storeOf(["a@1"]);
    const replacement = fifo.replace();
    expect(fifo.resync("", 10)).toBeUndefined();
    replacement.page([thing("a@1")]);
    replacement.commit("2");
    expect(fifo.depth).toBe(0);
  });

  test("can search for missing objects step by step, while the pump continues with earlier deltas", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, indexer, database } = storeOf(names.map((name) => `${name}@1`));
    fifo.append(
      names.slice(0, 400).map((name) => delta("Updated", `${name}@2`)),
      "2",
    );
    const replacement = fifo.replace();
    replacement.page([thing("t000@2"), thing("t500@1")]);
    let steps = 1;
    for (; replacement.stageDeletions(); steps++) popAll(fifo);
    expect(steps).toBeGreaterThan(2);
    expect(fifo.resourceVersion).toBe("2");
    expect(indexer.size).toBe(600);
    replacement.commit("3");
    popAll(fifo);
    expect(shown(indexer.list())).toEqual(["t000@2", "t500@1"]);
    expect(rowsOf(database, "seen")).toBe(0);
  });

  test("that is interrupted while it searches for missing objects leaves everything unchanged", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, database } = storeOf(names.map((name) => `${name}@1`));
    const replacement = fifo.replace();
    expect(replacement.stageDeletions()).toBe(true);
    const again = store(database);
    expect([again.fifo.resourceVersion, again.fifo.depth, again.indexer.size]).toEqual(["1", 0, 600]);
    expect(rowsOf(database, "journal")).toBe(0);
  });

  test("whose commit fails halfway through the search can be committed again, and then finds all missing objects", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, indexer, database } = storeOf(names.map((name) => `${name}@1`));
    const replacement = fifo.replace();
    const pages = database.prepare<{ page_count: number }>("PRAGMA page_count").get()?.page_count ?? 0;
    // The pages that the first list left free have room for one step of the search, not for all.
    database.prepare(`PRAGMA max_page_count = ${pages}`).get();
    expect(() => replacement.commit("2")).toThrow(expect.objectContaining({ kind: "full" }));
    expect(indexer.size).toBe(600);
    database.prepare("PRAGMA max_page_count = 100000").get();
    replacement.commit("2");
    expect(popAll(fifo)).toHaveLength(600);
  });

  test("of hundreds of objects that lacks hundreds deletes each of them once", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, indexer } = storeOf(names.map((name) => `${name}@1`));
    list(
      fifo,
      names.slice(0, 10).map((name) => `${name}@1`),
      "2",
    );
    const changes = popAll(fifo);
    expect(changes).toHaveLength(590);
    expect(changes[0]).toBe("t010@1 > -");
    expect(indexer.size).toBe(10);
  });
});

describe("a quiet update", () => {
  const seeded = (): ReturnType<typeof store> => {
    const made = store(memory(), { isQuiet: onlyBeat });
    made.fifo.append(
      [delta("Added", "a@1", { board: "pi-1", beat: 1 }), delta("Added", "b@2", { board: "pi-1" })],
      "2",
    );
    popAll(made.fifo);
    return made;
  };
  const storedVersion = ({ database }: ReturnType<typeof store>, key: string): string | undefined =>
    database.prepare<{ version: string }>("SELECT version FROM objects WHERE key = ?").get(key)?.version;
  const storedPosition = ({ database }: ReturnType<typeof store>): string | null | undefined =>
    database.prepare<{ position: string | null }>("SELECT position FROM resources").get()?.position;
  const writes = ({ database }: ReturnType<typeof store>): number =>
    database.prepare<{ count: number }>("SELECT total_changes() AS count").get()?.count ?? -1;

  test("as a heartbeat appears in every read, and neither notifies listeners nor writes", () => {
    const made = seeded();
    const before = writes(made);
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    expect(made.indexer.get("a")?.beat).toBe(2);
    expect(shown(made.indexer.list())).toEqual(["a@3", "b@2"]);
    expect(shown(made.indexer.byIndex("board", "pi-1"))).toEqual(["a@3", "b@2"]);
    expect(made.fifo.pop(64)).toEqual([]);
    expect(made.fifo.resourceVersion).toBe("3");
    expect(writes(made)).toBe(before);
    expect(storedPosition(made)).toBe("2");
  });

  test("is written with the next write, like a bookmark, in the transaction that moves the position", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.bookmark("4");
    expect(storedPosition(made)).toBe("2");
    made.fifo.append([delta("Added", "c@5")], "5");
    expect(storedVersion(made, "a")).toBe("3");
    expect(storedPosition(made)).toBe("5");
  });

  test("in a batch with other updates is written with them", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 }), delta("Added", "c@4")], "4");
    expect(storedVersion(made, "a")).toBe("3");
    expect(made.indexer.get("a")?.beat).toBe(2);
    expect(popAll(made.fifo)).toEqual(["- > c@4"]);
  });

  test("waits until a clean stop, which writes it once", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.flush();
    expect(storedVersion(made, "a")).toBe("3");
    expect(storedPosition(made)).toBe("3");
    const before = writes(made);
    made.fifo.flush();
    expect(writes(made)).toBe(before);
  });

  test("of an object with queued deltas is queued behind them", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-2", beat: 1 })], "3");
    made.fifo.append([delta("Updated", "a@4", { board: "pi-2", beat: 2 })], "4");
    expect(made.indexer.get("a")?.board).toBe("pi-1");
    expect(popAll(made.fifo)).toEqual(["a@1 > a@4"]);
  });

  test("is included in the newest state that a list without the object reports", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    const replacement = made.fifo.replace();
    replacement.page([thing("b@2", { board: "pi-1" })]);
    replacement.commit("9");
    expect(popAll(made.fifo)).toEqual(["a@3 > -"]);
  });

  test("is not treated as quiet under another uid", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3/second", { board: "pi-1", beat: 2 })], "3");
    expect(popAll(made.fifo)).toEqual(["a@1 > -", "- > a@3/second"]);
  });

  test("is not treated as quiet if it changes an index, regardless of the rule", () => {
    const made = store(memory(), { isQuiet: () => true });
    made.fifo.append([delta("Added", "a@1", { board: "pi-1" })], "1");
    popAll(made.fifo);
    made.fifo.append([delta("Updated", "a@2", { board: "pi-2" })], "2");
    expect(popAll(made.fifo)).toEqual(["a@1 > a@2"]);
    expect(shown(made.indexer.byIndex("board", "pi-2"))).toEqual(["a@2"]);
  });

  test("in a list reports nothing, and is visible once the list has ended", () => {
    const made = seeded();
    const replacement = made.fifo.replace();
    replacement.page([thing("a@7", { board: "pi-1", beat: 9 }), thing("b@2", { board: "pi-1" })]);
    expect(made.indexer.get("a")?.beat).toBe(1);
    replacement.commit("8");
    expect(made.indexer.get("a")?.beat).toBe(9);
    expect(made.fifo.depth).toBe(0);
    expect(storedVersion(made, "a")).toBe("7");
    expect(storedPosition(made)).toBe("8");
  });

  test("lost in a power cut leaves the position at the objects, and the watch sends it again", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.bookmark("4");
    const { fifo, indexer } = store(made.database, { isQuiet: onlyBeat });
    expect(fifo.resourceVersion).toBe("2");
    expect(indexer.get("a")?.beat).toBe(1);
  });
});

describe("after a restart", () => {
  test("position, journal and hasSynced are unchanged", () => {
    using folder = scratch();
    const open = (): Database => Database.open({ file: folder.file("cache.db"), migrations: cacheMigrations, pragmas });
    const first = store(open());
    list(first.fifo, ["a@1", "b@1"], "1");
    popAll(first.fifo);
    first.fifo.append([delta("Updated", "a@2"), delta("Deleted", "b@3")], "3");
    first.database.close();
    const second = store(open());
    expect(second.fifo.resourceVersion).toBe("3");
    expect(second.fifo.depth).toBe(2);
    expect(second.fifo.hasSynced).toBe(false);
    expect(popAll(second.fifo)).toEqual(["a@1 > a@2", "b@3 > -"]);
    expect(second.fifo.hasSynced).toBe(true);
    second.database.close();
    const third = store(open());
    expect(third.fifo.hasSynced).toBe(true);
    expect(shown(third.indexer.list())).toEqual(["a@2"]);
    third.database.close();
  });

  test("in the middle of the first list nothing is known and nothing is left over", () => {
    const { database, fifo } = store();
    const replacement = fifo.replace();
    replacement.page([thing("a@1"), thing("b@1")]);
    const again = store(database);
    expect(again.fifo.resourceVersion).toBeUndefined();
    expect(again.fifo.hasSynced).toBe(false);
    expect(again.fifo.depth).toBe(0);
    expect(rowsOf(database, "journal")).toBe(0);
    list(again.fifo, ["b@1"], "4");
    expect(popAll(again.fifo)).toEqual(["- > b@1"]);
  });

  test("in the middle of a later list the previous position and state are in force", () => {
    const { database, fifo } = storeOf(["a@1", "b@1"]);
    fifo.append([delta("Updated", "a@2")], "2");
    const replacement = fifo.replace();
    replacement.page([thing("a@8"), thing("b@1")]);
    const again = store(database);
    expect(again.fifo.resourceVersion).toBe("2");
    expect(popAll(again.fifo)).toEqual(["a@1 > a@2"]);
    expect(rowsOf(database, "seen")).toBe(0);
    list(again.fifo, ["a@8"], "9");
    expect(popAll(again.fifo)).toEqual(["a@2 > a@8", "b@1 > -"]);
  });

  test("in the middle of the first population the rest of it is still expected", () => {
    const { database, fifo } = store();
    list(fifo, ["a@1", "b@1"], "1");
    fifo.pop(1);
    const again = store(database);
    expect(again.fifo.hasSynced).toBe(false);
    again.fifo.pop(1);
    expect(again.fifo.hasSynced).toBe(true);
  });
});

describe("a write that fails", () => {
  /** The disk is full from now on: the file may not grow, and there are no free pages. */
  const fill = (database: Database): void => {
    const pages = database.prepare<{ page_count: number }>("PRAGMA page_count").get()?.page_count ?? 0;
    database.prepare(`PRAGMA max_page_count = ${pages}`).get();
  };
  const big = { tags: [crypto.randomUUID().repeat(200)] };

  test("leaves position, queue and objects unchanged, and works again later", () => {
    const { database, fifo, indexer } = storeOf(["a@1"]);
    fill(database);
    expect(() => fifo.append([delta("Updated", "a@2", big), delta("Added", "b@3")], "3")).toThrow(
      expect.objectContaining({ kind: "full", disposition: "exit" }),
    );
    expect([fifo.resourceVersion, fifo.depth, show(indexer.get("a"))]).toEqual(["1", 0, "a@1"]);
    database.prepare("PRAGMA max_page_count = 100000").get();
    fifo.append([delta("Updated", "a@2", big), delta("Added", "b@3")], "3");
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "- > b@3"]);
  });

  test("in a page of a list leaves the previous state; the list can be begun again", () => {
    const { database, fifo } = storeOf(["a@1"]);
    const replacement = fifo.replace();
    fill(database);
    expect(() => replacement.page([thing("a@2", big)])).toThrow(expect.objectContaining({ kind: "full" }));
    database.prepare("PRAGMA max_page_count = 100000").get();
    list(fifo, ["a@2"], "2");
    expect(popAll(fifo)).toEqual(["a@1 > a@2"]);
  });

  test("half-way through a pop leaves no trace in reads", () => {
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
    list(fifo, ["a@1"], "1");
    popAll(fifo);
    fifo.append([delta("Updated", "a@2"), delta("Added", "b@3"), delta("Added", "c@4", { board: "bad" })], "4");
    expect(() => fifo.pop(64)).toThrow("a bug");
    expect([show(indexer.get("a")), indexer.get("b"), indexer.size, fifo.depth]).toEqual(["a@1", undefined, 1, 3]);
    broken = false;
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "- > b@3", "- > c@4"]);
  });
});

test("large objects are popped a few at a time, each with all its deltas", () => {
  const { fifo } = store();
  const tags = ["x".repeat(300_000)];
  const names = ["a", "b", "c"];
  fifo.append(
    names.map((name, i) => delta("Added", `${name}@${i + 1}`, { tags })),
    "3",
  );
  fifo.append([delta("Updated", "a@4"), delta("Updated", "c@5", { tags })], "5");
  const taken: (readonly string[])[] = [];
  while (fifo.depth > 0) taken.push(shownChanges(fifo.pop(64)));
  expect(taken).toEqual([["- > a@4"], ["- > b@2"], ["- > c@5"]]);
});

describe("only a few large stored objects are on the heap at a time", () => {
  const large = { tags: ["x".repeat(200_000)] };
  const names = ["a", "b", "c", "d", "e", "f"];

  function filled() {
    const parts = store();
    for (const [i, name] of names.entries())
      parts.fifo.appendAndPop([delta("Added", `${name}@1`, large)], String(i + 1));
    return parts;
  }

  test("when they are reported again", () => {
    const { fifo } = filled();
    fifo.resync("", 64);
    expect(fifo.pop(64)).toHaveLength(2);
    expect(popAll(fifo)).toHaveLength(4);
  });

  test("when a list lacks them", () => {
    const { fifo } = filled();
    const lacking = fifo.replace();
    while (lacking.stageDeletions());
    lacking.commit("99");
    expect(fifo.pop(64)).toHaveLength(2);
    expect(popAll(fifo)).toHaveLength(4);
  });

  test("when their new states are small", () => {
    const { fifo, indexer } = filled();
    const small = names.map((name) => delta("Updated", `${name}@2`));
    expect(fifo.appendAndPop(small, "20")).toBeUndefined();
    fifo.append(small, "20");
    expect(fifo.pop(64)).toHaveLength(2);
    expect(popAll(fifo)).toHaveLength(4);
    expect(indexer.get("f")).toEqual(thing("f@2"));
  });

  test("when only the states behind the head of the queue are large", () => {
    const { fifo } = store();
    fifo.append(
      names.map((name) => delta("Added", `${name}@1`)),
      "1",
    );
    fifo.append(
      names.map((name) => delta("Updated", `${name}@2`, large)),
      "2",
    );
    expect(fifo.pop(64)).toHaveLength(2);
    expect(popAll(fifo)).toHaveLength(4);
  });
});

test.each([1, 2, 3])("the fields in memory say what the file says, whatever happens (seed %i)", (seed) => {
  const cache = cacheOf(memory());
  const { database, fifo } = cache;
  for (let round = 0; round < 60; round++) {
    follow(cache, seed, 1);
    const [{ queued } = { queued: -1 }] = database
      .prepare<{ queued: number }>("SELECT count(DISTINCT key) AS queued FROM journal")
      .all();
    expect(fifo.depth).toBe(queued);
    fifo.flush();
    const { depth, resourceVersion, hasSynced } = cacheOf(database).fifo;
    expect({ depth, resourceVersion, hasSynced }).toEqual({
      depth: fifo.depth,
      resourceVersion: fifo.resourceVersion,
      // Keys that were pending at the start have to be popped first.
      hasSynced: fifo.depth === 0,
    });
  }
});

test("a key that changes before the first list is reported counts twice, and syncing waits for neither again", () => {
  const { fifo } = store();
  const first = fifo.fill() ?? expect.fail("the cache was filled before");
  first.page([thing("a@1"), thing("b@1")]);
  first.commit("1");
  expect(fifo.depth).toBe(2);
  fifo.append([delta("Updated", "b@2"), delta("Added", "c@3")], "3");
  expect([fifo.depth, fifo.hasSynced]).toEqual([4, false]);
  expect(shownChanges(fifo.pop(1))).toEqual(["- > a@1"]);
  expect([fifo.depth, fifo.hasSynced]).toEqual([3, false]);
  expect(shownChanges(fifo.pop(1))).toEqual(["- > b@1"]);
  expect([fifo.depth, fifo.hasSynced]).toEqual([2, true]);
  expect(popAll(fifo)).toEqual(["b@1 > b@2", "- > c@3"]);
  expect(fifo.depth).toBe(0);
});
