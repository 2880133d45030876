import { describe, expect, test } from "vitest";
import { Indexer } from "../../../storage/indexer/indexer.ts";
import type { IndexFunctions } from "../../../storage/object.ts";
import {
  byBoard,
  delta,
  list,
  memory,
  popAll,
  rowsOf,
  shown,
  shownChanges,
  store,
  storeOf,
  type Thing,
  thing,
} from "../object-store.ts";

const byTag: IndexFunctions<Thing> = { tag: ({ tags }) => tags ?? [] };

function indexed(things: readonly Thing[], indices: IndexFunctions<Thing> = byBoard): Indexer<Thing> {
  const { database, fifo } = store();
  fifo.append(
    things.map((object) => ({ type: "Added", object })),
    "1",
  );
  popAll(fifo);
  return new Indexer({ database, resource: "things", indices, decodedBytes: 1 << 20 });
}

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `t${String(at).padStart(4, "0")}@1`);

test("an empty indexer answers every query", () => {
  const { indexer } = store();
  expect(indexer.get("a")).toBeUndefined();
  expect(shown(indexer.list())).toEqual([]);
  expect(shown(indexer.byIndex("board", "pi-1"))).toEqual([]);
  expect([...indexer.indexValues("board")]).toEqual([]);
  expect(indexer.size).toBe(0);
});

test("a walk follows the keys, over any number of pages", () => {
  const specs = many(200);
  expect(shown(storeOf(specs.toReversed()).indexer.list())).toEqual(specs);
});

test("during a walk objects may be written: deleted objects ahead are left out, and new objects ahead are included", () => {
  const { fifo, indexer } = storeOf(many(200));
  const met: string[] = [];
  for (const { metadata } of indexer.list()) {
    if (metadata.name === "t0003") {
      fifo.append([delta("Deleted", "t0004@2"), delta("Added", "t0150b@3"), delta("Updated", "t0005@4")], "4");
      popAll(fifo);
    }
    met.push(`${metadata.name}@${metadata.resourceVersion}`);
  }
  expect(met).toHaveLength(200);
  expect(met).not.toContain("t0004@1");
  expect(met).toContain("t0150b@3");
  expect(met).toContain("t0005@4");
});

test("a walk over an index leaves out objects that have moved away in the meantime", () => {
  const { fifo, indexer } = store();
  fifo.append(
    many(5).map((spec) => delta("Added", spec, { board: "pi-1" })),
    "1",
  );
  popAll(fifo);
  const met: string[] = [];
  for (const { metadata } of indexer.byIndex("board", "pi-1")) {
    if (met.length === 0) {
      fifo.append([delta("Updated", "t0002@2", { board: "pi-2" })], "2");
      popAll(fifo);
    }
    met.push(metadata.name);
  }
  expect(met).toEqual(["t0000", "t0001", "t0003", "t0004"]);
});

test("references have the identity of the objects with a value, and do not cost a decoding", () => {
  const { database, fifo, indexer } = store();
  const specs = many(200);
  fifo.append(
    [...specs.map((spec) => delta("Added", spec, { board: "pi-1" })), delta("Added", "other@1", { board: "pi-2" })],
    "1",
  );
  popAll(fifo);
  expect(shown(indexer.referencesByIndex("board", "pi-1"))).toEqual(specs);
  database.prepare("UPDATE objects SET text = 'unreadable'").run();
  expect([...indexer.referencesByIndex("board", "pi-2")]).toEqual([
    { metadata: { name: "other", uid: "uid-other", resourceVersion: "1" } },
  ]);
  expect([...indexer.referencesByIndex("board", "pi-3")]).toEqual([]);
});

test("a reference has the version in which its object had the value", () => {
  const { fifo, indexer } = store();
  fifo.append([delta("Added", "a@1", { board: "pi-1" }), delta("Added", "b@1", { board: "pi-1" })], "1");
  popAll(fifo);
  const met: string[] = [];
  for (const { metadata } of indexer.referencesByIndex("board", "pi-1")) {
    if (met.length === 0) {
      fifo.append([delta("Updated", "b@2", { board: "pi-2" })], "2");
      popAll(fifo);
    }
    met.push(`${metadata.name}@${metadata.resourceVersion}`);
  }
  expect(met).toEqual(["a@1", "b@1"]);
});

test("an index returns every object with a value, and every value that some object has", () => {
  const indexer = indexed(
    [
      thing("a@1", { tags: ["red", "blue", "red"] }),
      thing("b@1", { tags: ["blue"] }),
      thing("c@1", { tags: [] }),
      thing("d@1", { tags: [""] }),
    ],
    byTag,
  );
  expect(shown(indexer.byIndex("tag", "blue"))).toEqual(["a@1", "b@1"]);
  expect(shown(indexer.byIndex("tag", "red"))).toEqual(["a@1"]);
  expect(shown(indexer.byIndex("tag", ""))).toEqual(["d@1"]);
  expect(shown(indexer.byIndex("tag", "green"))).toEqual([]);
  expect([...indexer.indexValues("tag")]).toEqual(["", "blue", "red"]);
});

test("a value that no object has any longer is no longer returned", () => {
  const { database, fifo, indexer } = store();
  fifo.append([delta("Added", "a@1", { board: "pi-1" }), delta("Added", "b@1", { board: "pi-2" })], "1");
  popAll(fifo);
  fifo.append([delta("Updated", "a@2"), delta("Deleted", "b@2")], "2");
  popAll(fifo);
  expect([...indexer.indexValues("board")]).toEqual([]);
  expect(rowsOf(database, "index_rows")).toBe(0);
});

test("an unknown index is a programming error", () => {
  const { indexer } = store();
  expect(() => [...indexer.byIndex("colour", "red")]).toThrow("no index named colour");
  expect(() => [...indexer.indexValues("colour")]).toThrow("no index named colour");
});

test("indices that are new at a start are filled, and unused ones are dropped", () => {
  const { database, fifo } = store();
  fifo.append([delta("Added", "a@1", { board: "pi-1", tags: ["red"] })], "1");
  popAll(fifo);
  const open = (indices: IndexFunctions<Thing>) =>
    new Indexer<Thing>({ database, resource: "things", indices, decodedBytes: 0 });
  const both = open({ ...byBoard, ...byTag });
  expect(shown(both.byIndex("tag", "red"))).toEqual(["a@1"]);
  expect(shown(both.byIndex("board", "pi-1"))).toEqual(["a@1"]);
  const one = open(byTag);
  expect(shown(one.byIndex("tag", "red"))).toEqual(["a@1"]);
  expect(() => [...one.byIndex("board", "pi-1")]).toThrow("no index");
  expect(rowsOf(database, "index_rows")).toBe(1);
  expect(shown(open(byBoard).byIndex("board", "pi-1"))).toEqual(["a@1"]);
});

test("the indices of another resource are kept", () => {
  const database = memory();
  const pods = store(database, { resource: "pods" });
  pods.fifo.append([delta("Added", "a@1", { board: "pi-1" })], "1");
  popAll(pods.fifo);
  store(database, { resource: "nodes" });
  new Indexer<Thing>({ database, resource: "nodes", indices: {}, decodedBytes: 0 });
  expect(shown(pods.indexer.byIndex("board", "pi-1"))).toEqual(["a@1"]);
});

test("the size follows additions and deletions", () => {
  const { fifo, indexer } = storeOf(["a@1", "b@1"]);
  expect(indexer.size).toBe(2);
  fifo.append([delta("Updated", "a@2"), delta("Added", "c@3")], "3");
  popAll(fifo);
  expect(indexer.size).toBe(3);
  list(fifo, ["c@3"], "4");
  popAll(fifo);
  expect(indexer.size).toBe(1);
});

test.each([0, 1000, 1 << 20])("the results are the same with %i bytes for decoded objects", (decodedBytes) => {
  const { fifo, indexer } = store(memory(), { decodedBytes });
  fifo.append(
    many(50).map((spec) => delta("Added", spec, { board: "pi-1" })),
    "1",
  );
  expect(shownChanges(fifo.pop(64))).toHaveLength(50);
  expect(indexer.get("t0007")?.board).toBe("pi-1");
  fifo.append([delta("Updated", "t0007@2", { board: "pi-2" }), delta("Deleted", "t0008@3", { board: "pi-1" })], "3");
  expect(indexer.get("t0007")?.metadata.resourceVersion).toBe("1");
  expect(popAll(fifo)).toEqual(["t0007@1 > t0007@2", "t0008@3 > -"]);
  expect(indexer.get("t0007")?.board).toBe("pi-2");
  expect(indexer.get("t0008")).toBeUndefined();
  expect(shown(indexer.byIndex("board", "pi-1"))).toHaveLength(48);
  expect(shown(indexer.list())).toHaveLength(49);
});

test("objects are shared between reads as long as there is room", () => {
  const { indexer } = storeOf(["a@1"]);
  expect(indexer.get("a")).toBe(indexer.get("a"));
});

describe.each([
  "{not json",
  "null",
  "7",
  "{}",
  "[1,2]",
  '{"metadata":null}',
  '{"metadata":{"name":7,"uid":"uid-b","resourceVersion":"1"}}',
  '{"metadata":{"name":"b","uid":7,"resourceVersion":"1"}}',
  '{"metadata":{"name":"b","uid":"uid-b"}}',
  '{"metadata":{"name":"a","uid":"uid-b","resourceVersion":"1"}}',
  '{"metadata":{"name":"b","namespace":"n","uid":"uid-b","resourceVersion":"1"}}',
  '{"metadata":{"name":"b","uid":"uid-other","resourceVersion":"1"}}',
  '{"metadata":{"name":"b","uid":"uid-b","resourceVersion":"2"}}',
])("if the text of b has become %s", (text) => {
  const damaged = expect.objectContaining({ kind: "damaged", disposition: "rebuild" });

  test("reading it reports the file as damaged, and the other objects are read", () => {
    const { database } = storeOf(["a@1", "b@1", "c@1"]);
    database.prepare("UPDATE objects SET text = ? WHERE key = 'b'").run(text);
    const { indexer } = store(database);
    expect(() => indexer.get("b")).toThrow(damaged);
    expect(() => shown(indexer.list())).toThrow(damaged);
    expect(shown([indexer.get("a"), indexer.get("c")].filter((one) => one !== undefined))).toEqual(["a@1", "c@1"]);
  });

  test("in the queue, the whole pop is rolled back", () => {
    const { database, fifo } = store();
    fifo.append([delta("Added", "b@1")], "1");
    database.prepare("UPDATE journal SET text = ? WHERE key = 'b'").run(text);
    const again = store(database);
    expect(() => again.fifo.pop(64)).toThrow(damaged);
    expect([again.indexer.size, again.fifo.depth]).toEqual([0, 1]);
  });
});
