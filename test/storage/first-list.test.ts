import { describe, expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import type { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import type { Replacement } from "../../storage/delta-fifo/list-replacement.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import {
  delta,
  memory,
  popAll,
  pragmas,
  rowsOf,
  scratch,
  shown,
  shownChanges,
  store,
  storeOf,
  type Thing,
  thing,
} from "./object-store.ts";

/** The first list of a cache, staged in the journal as every later one, or written to its place. */
const ways: readonly (readonly [name: string, begin: (fifo: DeltaFIFO<Thing>) => Replacement<Thing>])[] = [
  ["staged", (fifo) => fifo.replace()],
  ["written at once", (fifo) => fifo.fill() ?? expect.fail("it was filled before")],
];

const tables = ["objects", "index_rows", "journal", "seen"];
const on = (board: string): { readonly board: string } => ({ board });

describe.each(ways)("a first list that is %s", (_, begin) => {
  test("shows nothing before its end, and then all of it, including by index", () => {
    const { fifo, indexer } = store();
    const list = begin(fifo);
    list.page([thing("a@1", on("pi-1")), thing("b@2", on("pi-2"))]);
    list.page([thing("c@3", on("pi-1"))]);
    expect([indexer.size, shown(indexer.list()), indexer.get("a")]).toEqual([0, [], undefined]);
    expect([shown(indexer.byIndex("board", "pi-1")), [...indexer.indexValues("board")]]).toEqual([[], []]);
    expect([fifo.resourceVersion, fifo.depth, fifo.hasSynced, fifo.pop(9)]).toEqual([undefined, 0, false, []]);
    expect(list.stageDeletions()).toBe(false);
    list.commit("3");
    expect([fifo.resourceVersion, fifo.depth, fifo.hasSynced]).toEqual(["3", 3, false]);
    expect(popAll(fifo)).toEqual(["- > a@1", "- > b@2", "- > c@3"]);
    expect(shown(indexer.list())).toEqual(["a@1", "b@2", "c@3"]);
    expect(shown(indexer.byIndex("board", "pi-1"))).toEqual(["a@1", "c@3"]);
    expect([indexer.size, fifo.hasSynced]).toEqual([3, true]);
  });

  test("of hundreds of objects is reported in steps, each object once, and synced with the last of them", () => {
    const { fifo } = store();
    const specs = Array.from({ length: 300 }, (_, i) => `thing-${String(i).padStart(3, "0")}@${i + 1}`);
    const list = begin(fifo);
    for (let at = 0; at < specs.length; at += 50) list.page(specs.slice(at, at + 50).map((spec) => thing(spec)));
    list.commit("300");
    const changes: string[] = [];
    while (!fifo.hasSynced) changes.push(...shownChanges(fifo.pop(64)));
    expect(changes).toEqual(specs.map((spec) => `- > ${spec}`));
    expect(fifo.depth).toBe(0);
  });

  test("of large objects is reported in smaller steps, each object once", () => {
    const { fifo } = store();
    const specs = Array.from({ length: 9 }, (_, i) => `thing-${i}@${i + 1}`);
    const list = begin(fifo);
    for (const spec of specs) list.page([thing(spec, { tags: ["x".repeat(200_000)] })]);
    list.commit("9");
    const steps: (readonly string[])[] = [];
    while (!fifo.hasSynced) steps.push(shownChanges(fifo.pop(64)));
    expect(steps.flat()).toEqual(specs.map((spec) => `- > ${spec}`));
    expect(Math.max(...steps.map(({ length }) => length))).toBe(2);
  });

  test("that names an object twice keeps the last state", () => {
    const { fifo, indexer } = store();
    const list = begin(fifo);
    list.page([thing("a@1", on("pi-1")), thing("a@2", on("pi-2"))]);
    list.page([thing("a@3", on("pi-3"))]);
    list.commit("3");
    expect(popAll(fifo)).toEqual(["- > a@3"]);
    expect([shown(indexer.list()), [...indexer.indexValues("board")]]).toEqual([["a@3"], ["pi-3"]]);
  });

  test("that is empty is nevertheless a list", () => {
    const { fifo } = store();
    begin(fifo).commit("7");
    expect([fifo.resourceVersion, fifo.hasSynced, fifo.depth]).toEqual(["7", true, 0]);
  });

  test.each<[how: string, end: (fifo: DeltaFIFO<Thing>, list: Replacement<Thing>) => void]>([
    ["is aborted", (_fifo, list) => list.abort()],
    ["begins again", (fifo) => void begin(fifo)],
    ["is followed by one that is staged", (fifo) => void fifo.replace()],
  ])("and %s leaves nothing", (_how, end) => {
    const { fifo, indexer, database } = store();
    const list = begin(fifo);
    list.page([thing("a@1", on("pi-1"))]);
    end(fifo, list);
    expect(tables.map((table) => rowsOf(database, table))).toEqual([0, 0, 0, 0]);
    expect([indexer.size, fifo.resourceVersion, fifo.hasSynced]).toEqual([0, undefined, false]);
    expect(() => list.page([thing("b@2")])).toThrow("has ended");
    expect(() => list.stageDeletions()).toThrow("has ended");
    expect(() => list.commit("2")).toThrow("has ended");
    list.abort();
    const again = begin(fifo);
    again.page([thing("c@3")]);
    again.commit("3");
    expect(popAll(fifo)).toEqual(["- > c@3"]);
    expect(shown(indexer.list())).toEqual(["c@3"]);
  });

  test("ends if the watch continues without it", () => {
    const { fifo, indexer } = store();
    const list = begin(fifo);
    list.page([thing("a@1")]);
    fifo.append([delta("Added", "b@2")], "2");
    expect(popAll(fifo)).toEqual(["- > b@2"]);
    expect(shown(indexer.list())).toEqual(["b@2"]);
    expect(() => list.commit("3")).toThrow("has ended");
  });

  test("is reported before later changes, which find it in place", () => {
    const { fifo, indexer } = store();
    const list = begin(fifo);
    list.page([thing("a@1", on("pi-1")), thing("b@2"), thing("c@3")]);
    list.commit("3");
    expect(shownChanges(fifo.pop(1))).toEqual(["- > a@1"]);
    const group = [delta("Updated", "a@4", on("pi-2")), delta("Deleted", "c@5"), delta("Added", "d@6")];
    expect(fifo.appendAndPop(group, "6")).toBeUndefined();
    fifo.append(group, "6");
    const changes = popAll(fifo);
    expect(changes.filter((change) => change.startsWith("- > b"))).toEqual(["- > b@2"]);
    expect(changes.slice(-1)).toEqual(["- > d@6"]);
    expect(changes).toContain("a@1 > a@4");
    expect(shown(indexer.list())).toEqual(["a@4", "b@2", "d@6"]);
    expect([fifo.depth, fifo.hasSynced]).toEqual([0, true]);
  });

  test("is followed by a second list before all of it was reported, and the state of the second list is kept", () => {
    const { fifo, indexer } = store();
    const first = begin(fifo);
    first.page([thing("a@1"), thing("b@2"), thing("c@3")]);
    first.commit("3");
    fifo.pop(1);
    const second = fifo.replace();
    second.page([thing("b@2"), thing("c@5"), thing("d@6")]);
    second.commit("6");
    expect(fifo.hasSynced).toBe(false);
    const changes = popAll(fifo);
    expect(changes).toContain("a@1 > -");
    expect(changes.at(-1)).not.toBe("- > b@2");
    expect(shown(indexer.list())).toEqual(["b@2", "c@5", "d@6"]);
    expect([fifo.depth, fifo.hasSynced, fifo.resourceVersion]).toEqual([0, true, "6"]);
  });

  test("that was interrupted leaves nothing, but one that ended is kept, whether or not it was reported", () => {
    using folder = scratch();
    const open = (): Database => Database.open({ file: folder.file("cache.db"), migrations: cacheMigrations, pragmas });
    let database = open();
    let { fifo, indexer } = store(database);
    begin(fifo).page([thing("a@1", on("pi-1"))]);
    database.closeWithoutCheckpoint();
    database = open();
    ({ fifo, indexer } = store(database));
    expect([indexer.size, fifo.resourceVersion, fifo.hasSynced]).toEqual([0, undefined, false]);
    expect(tables.map((table) => rowsOf(database, table))).toEqual([0, 0, 0, 0]);
    const list = begin(fifo);
    list.page([thing("b@2"), thing("c@3")]);
    list.commit("3");
    fifo.pop(1);
    database.closeWithoutCheckpoint();
    database = open();
    ({ fifo, indexer } = store(database));
    popAll(fifo);
    expect([shown(indexer.list()), fifo.resourceVersion, fifo.hasSynced]).toEqual([["b@2", "c@3"], "3", true]);
    database.close();
  });

  test("a page that cannot be written leaves the list unchanged, and can be repeated", () => {
    const { database, fifo } = store();
    const list = begin(fifo);
    list.page([thing("a@1")]);
    const pages = database.prepare<{ page_count: number }>("PRAGMA page_count").get()?.page_count ?? 0;
    database.prepare(`PRAGMA max_page_count = ${pages}`).get();
    const large = thing("b@2", { tags: ["x".repeat(50_000)] });
    expect(() => list.page([thing("c@3"), large])).toThrow(expect.objectContaining({ kind: "full" }));
    database.prepare("PRAGMA max_page_count = 100000").get();
    list.page([thing("c@3"), large]);
    list.commit("3");
    expect(popAll(fifo).toSorted()).toEqual(["- > a@1", "- > b@2", "- > c@3"]);
  });
});

test("only a cache that has never been filled has a first list", () => {
  expect(storeOf(["a@1"]).fifo.fill()).toBeUndefined();
  expect(storeOf([]).fifo.fill()).toBeUndefined();
  const { fifo } = store();
  fifo.append([delta("Added", "a@1")], "1");
  expect(fifo.fill()).toBeUndefined();
});

test("a first list writes nothing into the journal", () => {
  const { fifo, database } = store(memory());
  const list = fifo.fill() ?? expect.fail("it was filled before");
  list.page([thing("a@1"), thing("b@2")]);
  expect([rowsOf(database, "journal"), rowsOf(database, "objects")]).toEqual([0, 2]);
  list.commit("2");
  expect([rowsOf(database, "journal"), fifo.depth]).toEqual([0, 2]);
});

test("without listeners a first list is not reported, but later changes are", () => {
  const { fifo, indexer } = store();
  const list = fifo.fill() ?? expect.fail("it was filled before");
  list.page([thing("a@1"), thing("b@2"), thing("c@3")]);
  list.commit("3");
  expect(shownChanges(fifo.pop(1))).toEqual(["- > a@1"]);
  fifo.append([delta("Updated", "b@4")], "4");
  expect([fifo.depth, fifo.hasSynced]).toEqual([3, false]);
  fifo.skipReport();
  expect([fifo.depth, fifo.hasSynced]).toEqual([1, true]);
  expect(popAll(fifo)).toEqual(["b@2 > b@4"]);
  expect(shown(indexer.list())).toEqual(["a@1", "b@4", "c@3"]);
  fifo.skipReport();
  expect([fifo.depth, fifo.hasSynced]).toEqual([0, true]);
});
