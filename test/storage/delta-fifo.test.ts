import { describe, expect, test } from "vitest";
import { Database } from "../../storage/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo.ts";
import { Indexer } from "../../storage/indexer.ts";
import { cacheMigrations } from "../../storage/schema.ts";
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
  store,
  storeOf,
  type Thing,
  thing,
  told,
} from "./things.ts";

/**
 * The cases of client-go's DeltaFIFO that apply here (docs/kubernetes-rules.md#deltafifo). Ours tells changes where
 * that one hands out deltas, and is given Replaced where its unit tests emit Sync; what the deltas mean is the same.
 */
describe("as a DeltaFIFO", () => {
  test("DF-01: a deleted object that the next list has again, with the same uid, is one update", () => {
    const { fifo } = storeOf(["foo@1"]);
    fifo.append([delta("Deleted", "foo@1")], "2");
    list(fifo, ["foo@2"], "3");
    expect(popAll(fifo)).toEqual(["foo@1 > foo@2"]);
  });

  test("DF-01, with another uid: the former is gone and the new one appears", () => {
    const { fifo } = storeOf(["foo@1"]);
    fifo.append([delta("Deleted", "foo@1")], "2");
    list(fifo, ["foo@2/second"], "3");
    expect(popAll(fifo)).toEqual(["foo@1 > -", "- > foo@2/second"]);
  });

  test("DF-03: what came and went before anybody looked is not told, and a list without it adds no second deletion", () => {
    const { fifo, database, indexer } = store();
    fifo.append([delta("Added", "foo@2"), delta("Deleted", "foo@2")], "2");
    list(fifo, [], "3");
    expect(rowsOf(database, "journal")).toBe(2);
    expect(popAll(fifo)).toEqual([]);
    expect(indexer.size).toBe(0);
  });

  test("DF-05: an object that only waits in the queue is deleted by a list without it", () => {
    const { fifo, database, indexer } = store();
    fifo.append([delta("Added", "foo@2"), delta("Deleted", "foo@2"), delta("Added", "foo@3")], "3");
    list(fifo, [], "4");
    expect(rowsOf(database, "journal")).toBe(4);
    expect(popAll(fifo)).toEqual([]);
    expect(indexer.get("foo")).toBeUndefined();
  });

  test("DF-07: queued keys that the list lacks are buried first, with their newest state; then stored ones", () => {
    const { fifo } = storeOf(["foo@5", "bar@6", "baz@7"]);
    fifo.append([delta("Added", "baz@10")], "10");
    list(fifo, ["foo@5"], "11");
    expect(popAll(fifo)).toEqual(["baz@10 > -", "bar@6 > -"]);
  });

  test("DF-09: the deletion of an unknown object is ignored, and the position moves on", () => {
    const { fifo } = storeOf([]);
    fifo.append([delta("Deleted", "foo@9")], "9");
    expect(fifo.depth).toBe(0);
    expect(fifo.resourceVersion).toBe("9");
  });

  describe("DF-11: hasSynced", () => {
    test("is false before anything came", () => {
      expect(store().fifo.hasSynced).toBe(false);
    });

    test("is true after a delta without a list, a known trap", () => {
      const { fifo } = store();
      fifo.append([delta("Added", "a@1")], "1");
      expect(fifo.hasSynced).toBe(true);
    });

    test("is true after a delta that was ignored", () => {
      const { fifo } = store();
      fifo.append([delta("Deleted", "a@1")], "1");
      expect(fifo.hasSynced).toBe(true);
    });

    test("is not changed by a bookmark or by nothing", () => {
      const { fifo } = store();
      fifo.bookmark("4");
      fifo.append([], "5");
      expect(fifo.hasSynced).toBe(false);
    });

    test("is true after an empty list", () => {
      const { fifo } = store();
      list(fifo, [], "1");
      expect(fifo.hasSynced).toBe(true);
    });

    test("becomes true with the last object of the first list", () => {
      const { fifo } = store();
      list(fifo, ["a@1", "b@2"], "2");
      expect(fifo.hasSynced).toBe(false);
      fifo.pop(1);
      expect(fifo.hasSynced).toBe(false);
      fifo.pop(1);
      expect(fifo.hasSynced).toBe(true);
    });

    test("counts a key that the first list has twice as one", () => {
      const { fifo } = store();
      list(fifo, ["a@1", "a@1"], "2");
      expect(fifo.depth).toBe(1);
      fifo.pop(1);
      expect(fifo.hasSynced).toBe(true);
    });

    test("stays true through a later list", () => {
      const { fifo } = storeOf(["a@1"]);
      list(fifo, ["a@2", "b@3"], "3");
      expect(fifo.hasSynced).toBe(true);
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

  test("DF-13: a resync leaves out keys that wait anyway", () => {
    const { fifo } = storeOf(["foo@5", "bar@5"]);
    fifo.append([delta("Updated", "foo@6")], "6");
    expect(fifo.resync("", 10)).toBeUndefined();
    expect(fifo.depth).toBe(2);
    expect(popAll(fifo)).toEqual(["foo@5 > foo@6", "bar@5 > bar@5"]);
  });

  test("DF-12: a resync goes step by step, and what changes meanwhile is told once more", () => {
    const { fifo } = storeOf(["a@1", "b@1", "c@1", "d@1"]);
    const behind = fifo.resync("", 2);
    expect(behind).toBe("b");
    fifo.append([delta("Updated", "a@2"), delta("Updated", "d@2"), delta("Deleted", "c@2")], "2");
    expect(fifo.resync(behind ?? "", 2)).toBeUndefined();
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "b@1 > b@1", "d@1 > d@2", "c@2 > -"]);
    expect([fifo.resync("", 3), fifo.resync("d", 3)]).toEqual(["d", undefined]);
    expect(fifo.depth).toBe(3);
  });

  test("DF-15: a deletion that was seen and then detected again by a list keeps the object that was seen", () => {
    const { fifo, database } = storeOf(["foo@5"]);
    fifo.append([delta("Deleted", "foo@7")], "7");
    list(fifo, [], "8");
    expect(rowsOf(database, "journal")).toBe(1);
    expect(popAll(fifo)).toEqual(["foo@7 > -"]);
  });

  test("a deletion that is seen after a list detected it takes the place of the tombstone", () => {
    const { fifo, database } = storeOf(["foo@5"]);
    list(fifo, [], "8");
    fifo.append([delta("Deleted", "foo@7")], "9");
    expect(rowsOf(database, "journal")).toBe(1);
    expect(popAll(fifo)).toEqual(["foo@7 > -"]);
  });

  test("keys come in the order in which they were first queued, each with all that waits for it", () => {
    const { fifo } = store();
    fifo.append([delta("Added", "b@1"), delta("Added", "a@2"), delta("Updated", "b@3")], "3");
    expect(told(fifo.pop(1))).toEqual(["- > b@3"]);
    expect(told(fifo.pop(1))).toEqual(["- > a@2"]);
    expect(fifo.pop(1)).toEqual([]);
  });
});

describe("append and pop", () => {
  test("an answer is empty only when nothing waits any more", () => {
    const { fifo } = store();
    fifo.append([delta("Added", "a@1"), delta("Deleted", "a@2"), delta("Added", "b@3")], "3");
    expect(told(fifo.pop(1))).toEqual(["- > b@3"]);
    expect(fifo.depth).toBe(0);
  });

  test("more deltas of one object than allowed are merged, and nothing of their meaning is lost", () => {
    const { fifo, database } = store(memory(), { deltasPerObject: 4 });
    for (let version = 1; version <= 5; version++) fifo.append([delta("Updated", `foo@${version}`)], String(version));
    expect(rowsOf(database, "journal")).toBe(2);
    expect(fifo.merged).toBe(3);
    expect(fifo.depth).toBe(1);
    expect(popAll(fifo)).toEqual(["- > foo@5"]);
  });

  test("as many deltas of one object as allowed are kept as they are", () => {
    const { fifo, database } = store(memory(), { deltasPerObject: 4 });
    for (let version = 1; version <= 4; version++) fifo.append([delta("Updated", `foo@${version}`)], String(version));
    expect(rowsOf(database, "journal")).toBe(4);
    expect(fifo.merged).toBe(0);
  });

  test("merging keeps the end of every former uid", () => {
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

  test("a burst larger than one page comes out once per object", () => {
    const { fifo, indexer } = store();
    for (let at = 0; at < 700; at++) fifo.append([delta("Added", `t${at % 350}@${at + 1}`)], String(at + 1));
    const changes = popAll(fifo);
    expect(changes).toHaveLength(350);
    expect(changes[0]).toBe("- > t0@351");
    expect(indexer.size).toBe(350);
  });

  test("two resources in one file know nothing of each other", () => {
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
  test("is told only when all of its pages have come", () => {
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

  test("of what is stored already costs no journal row and tells nothing", () => {
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

  test("of the same version under another uid is news", () => {
    const { fifo } = storeOf(["a@1"]);
    list(fifo, ["a@1/second"], "9");
    expect(popAll(fifo)).toEqual(["a@1 > -", "- > a@1/second"]);
  });

  test("lets the pump go on with what waited before it", () => {
    const { fifo, indexer } = storeOf(["a@1"]);
    fifo.append([delta("Updated", "a@2"), delta("Added", "b@3")], "3");
    const replacement = fifo.replace();
    replacement.page([thing("a@2"), thing("c@4")]);
    expect(popAll(fifo)).toEqual(["a@1 > a@2", "- > b@3"]);
    replacement.commit("4");
    popAll(fifo);
    expect(shown(indexer.list())).toEqual(["a@2", "c@4"]);
  });

  test("that is given up leaves everything as it was", () => {
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

  test("cannot go on after it has ended, or after the next has begun", () => {
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

  test("ends when the watch goes on without it", () => {
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

  test("can look for what it lacks step by step, while the pump goes on with what waited before it", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, indexer, database } = storeOf(names.map((name) => `${name}@1`));
    fifo.append(
      names.slice(0, 400).map((name) => delta("Updated", `${name}@2`)),
      "2",
    );
    const replacement = fifo.replace();
    replacement.page([thing("t000@2"), thing("t500@1")]);
    let steps = 1;
    for (; replacement.bury(); steps++) popAll(fifo);
    expect(steps).toBeGreaterThan(2);
    expect(fifo.resourceVersion).toBe("2");
    expect(indexer.size).toBe(600);
    replacement.commit("3");
    popAll(fifo);
    expect(shown(indexer.list())).toEqual(["t000@2", "t500@1"]);
    expect(rowsOf(database, "seen")).toBe(0);
  });

  test("that is cut off while it looks for what it lacks leaves everything as it was", () => {
    const names = Array.from({ length: 600 }, (_, at) => `t${String(at).padStart(3, "0")}`);
    const { fifo, database } = storeOf(names.map((name) => `${name}@1`));
    const replacement = fifo.replace();
    expect(replacement.bury()).toBe(true);
    const again = store(database);
    expect([again.fifo.resourceVersion, again.fifo.depth, again.indexer.size]).toEqual(["1", 0, 600]);
    expect(rowsOf(database, "journal")).toBe(0);
  });

  test("of hundreds that lacks hundreds buries each of them once", () => {
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

describe("quiet", () => {
  const seeded = (): ReturnType<typeof store> => {
    const made = store(memory(), { quiet: onlyBeat });
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

  test("a heartbeat shows in every read, tells nobody and writes nothing", () => {
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

  test("heartbeats and bookmarks ride along with the next write, in the transaction that moves the position", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.bookmark("4");
    expect(storedPosition(made)).toBe("2");
    made.fifo.append([delta("Added", "c@5")], "5");
    expect(storedVersion(made, "a")).toBe("3");
    expect(storedPosition(made)).toBe("5");
  });

  test("a batch of both kinds writes both", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 }), delta("Added", "c@4")], "4");
    expect(storedVersion(made, "a")).toBe("3");
    expect(made.indexer.get("a")?.beat).toBe(2);
    expect(popAll(made.fifo)).toEqual(["- > c@4"]);
  });

  test("a clean stop writes what waits, once", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.flush();
    expect(storedVersion(made, "a")).toBe("3");
    expect(storedPosition(made)).toBe("3");
    const before = writes(made);
    made.fifo.flush();
    expect(writes(made)).toBe(before);
  });

  test("a heartbeat of an object for which something waits is queued behind it", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-2", beat: 1 })], "3");
    made.fifo.append([delta("Updated", "a@4", { board: "pi-2", beat: 2 })], "4");
    expect(made.indexer.get("a")?.board).toBe("pi-1");
    expect(popAll(made.fifo)).toEqual(["a@1 > a@4"]);
  });

  test("a list that lacks an object with heartbeats tells the newest state", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    const replacement = made.fifo.replace();
    replacement.page([thing("b@2", { board: "pi-1" })]);
    replacement.commit("9");
    expect(popAll(made.fifo)).toEqual(["a@3 > -"]);
  });

  test("another uid is never quiet", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3/second", { board: "pi-1", beat: 2 })], "3");
    expect(popAll(made.fifo)).toEqual(["a@1 > -", "- > a@3/second"]);
  });

  test("what changes an index is never quiet, whatever the rule says", () => {
    const made = store(memory(), { quiet: () => true });
    made.fifo.append([delta("Added", "a@1", { board: "pi-1" })], "1");
    popAll(made.fifo);
    made.fifo.append([delta("Updated", "a@2", { board: "pi-2" })], "2");
    expect(popAll(made.fifo)).toEqual(["a@1 > a@2"]);
    expect(shown(made.indexer.byIndex("board", "pi-2"))).toEqual(["a@2"]);
  });

  test("a list that differs only in heartbeats tells nothing, and shows them from its end on", () => {
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

  test("after a power cut the position is that of the objects, and the watch tells the heartbeats again", () => {
    const made = seeded();
    made.fifo.append([delta("Updated", "a@3", { board: "pi-1", beat: 2 })], "3");
    made.fifo.bookmark("4");
    const { fifo, indexer } = store(made.database, { quiet: onlyBeat });
    expect(fifo.resourceVersion).toBe("2");
    expect(indexer.get("a")?.beat).toBe(1);
  });
});

describe("after a restart", () => {
  test("position, journal and hasSynced are as they were", () => {
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

  test("in the middle of a later list the former position and state stand", () => {
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

  test("in the middle of the first population the rest of it is still awaited", () => {
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

  test("leaves position, queue and objects as they were, and works again later", () => {
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

  test("in a page of a list leaves the former state; the list can be begun again", () => {
    const { database, fifo } = storeOf(["a@1"]);
    const replacement = fifo.replace();
    fill(database);
    expect(() => replacement.page([thing("a@2", big)])).toThrow(expect.objectContaining({ kind: "full" }));
    database.prepare("PRAGMA max_page_count = 100000").get();
    list(fifo, ["a@2"], "2");
    expect(popAll(fifo)).toEqual(["a@1 > a@2"]);
  });

  test("half-way through a pop leaves no trace in what readers see", () => {
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
