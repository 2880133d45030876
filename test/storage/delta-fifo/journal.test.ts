import { expect, test } from "vitest";
import { Journal } from "../../../storage/delta-fifo/journal.ts";
import { memory, rowsOf } from "../object-store.ts";

const everything = Number.MAX_SAFE_INTEGER;
const of = (version: string, uid = "u") => ({ uid, version });
const keys = (journal: Journal): readonly string[] => journal.queued(journal.ceiling, 10).map(({ key }) => key);
const versions = (journal: Journal, key: string): readonly string[] =>
  journal.rows(key, everything).map(({ version }) => version);

test("rows of a key are returned oldest first, and the newest can be read", () => {
  const journal = new Journal(memory(), "things");
  const first = journal.put("a", "Added", of("1"), "{}");
  journal.put("b", "Added", of("2"), "{}");
  journal.put("a", "Deleted", of("3"), null);
  expect(journal.rows("a", everything)).toMatchObject([
    { seq: first, type: "Added", version: "1", hasObject: true, bytes: 2 },
    { type: "Deleted", version: "3", hasObject: false, bytes: 0 },
  ]);
  expect(journal.newest("a")).toMatchObject({ type: "Deleted", version: "3" });
  expect(journal.newest("c")).toBeUndefined();
  expect([journal.count("a"), journal.depth]).toEqual([2, 2]);
  expect(journal.text(first)).toBe("{}");
});

test("the queue continues in order after the file was opened again", () => {
  const database = memory();
  const first = new Journal(database, "things");
  first.put("b", "Added", of("1"), "{}");
  const second = new Journal(database, "things");
  second.put("a", "Added", of("2"), "{}");
  expect(keys(second)).toEqual(["b", "a"]);
});

test("each resource has its own queue in the same table", () => {
  const database = memory();
  const [pods, nodes] = [new Journal(database, "pods"), new Journal(database, "nodes")];
  nodes.put("n", "Added", of("1"), "{}");
  pods.put("p", "Added", of("2"), "{}");
  pods.put("n", "Added", of("3"), "{}");
  expect(keys(pods)).toEqual(["p", "n"]);
  expect(keys(nodes)).toEqual(["n"]);
  pods.erase("n", everything);
  expect(versions(nodes, "n")).toEqual(["1"]);
});

test("the head of the queue can be read and erased as a whole, and shows which of its keys occur again", () => {
  const journal = new Journal(memory(), "things");
  for (const [version, key] of ["a", "b", "c", "a", "d", "b"].entries()) {
    journal.put(key, "Updated", of(String(version)), "{}");
  }
  const head = journal.queued(everything, 3);
  const last = head.at(-1)?.seq ?? 0;
  expect(head.map(({ key }) => key)).toEqual(["a", "b", "c"]);
  expect([...journal.behind(last, everything)].sort()).toEqual(["a", "b"]);
  expect(journal.behind(last, last + 1)).toEqual(["a"]);
  journal.eraseHead(last);
  expect(keys(journal)).toEqual(["a", "d", "b"]);
});

test("staged rows wait behind the ceiling until they are released", () => {
  const journal = new Journal(memory(), "things");
  journal.put("a", "Added", of("1"), "{}");
  journal.stage();
  journal.put("a", "Replaced", of("2"), "{}");
  journal.put("b", "Replaced", of("3"), "{}");
  expect(keys(journal)).toEqual(["a"]);
  expect(journal.rows("a", journal.ceiling)).toHaveLength(1);
  journal.erase("a", journal.ceiling);
  journal.release();
  expect(keys(journal)).toEqual(["a", "b"]);
});

test("discarding drops staged rows and the marks, and nothing else; doing it twice changes nothing more", () => {
  const database = memory();
  const journal = new Journal(database, "things");
  journal.put("a", "Added", of("1"), "{}");
  journal.stage();
  journal.put("b", "Replaced", of("3"), "{}");
  journal.markListed("c");
  journal.discard();
  journal.discard();
  expect(rowsOf(database, "seen")).toBe(0);
  expect(keys(journal)).toEqual(["a"]);
});

test.each<[name: string, rows: [version: string, uid: string, text: "{}" | null][], left: string[]]>([
  ["one row", [["1", "u", "{}"]], ["1"]],
  [
    "two rows",
    [
      ["1", "u", "{}"],
      ["2", "u", "{}"],
    ],
    ["1", "2"],
  ],
  [
    "middle rows of one uid are dropped",
    [
      ["1", "u", "{}"],
      ["2", "u", "{}"],
      ["3", "u", "{}"],
      ["4", "u", "{}"],
    ],
    ["1", "4"],
  ],
  [
    "the last of each uid is kept",
    [
      ["1", "u", "{}"],
      ["2", "u", "{}"],
      ["3", "u", "{}"],
      ["4", "v", "{}"],
      ["5", "v", "{}"],
      ["6", "w", "{}"],
    ],
    ["1", "3", "5", "6"],
  ],
  [
    "a tombstone keeps its object",
    [
      ["1", "u", "{}"],
      ["2", "u", "{}"],
      ["3", "u", "{}"],
      ["3", "u", null],
    ],
    ["1", "3", "3"],
  ],
  [
    "a tombstone followed by an addition needs no object",
    [
      ["1", "u", "{}"],
      ["2", "u", "{}"],
      ["2", "u", null],
      ["5", "u", "{}"],
    ],
    ["1", "5"],
  ],
])("condensing: %s", (_, rows, left) => {
  const journal = new Journal(memory(), "things");
  for (const [version, uid, text] of rows)
    journal.put("a", text === null ? "Deleted" : "Updated", of(version, uid), text);
  expect(journal.condense("a")).toBe(rows.length - left.length);
  expect(versions(journal, "a")).toEqual(left);
});

test("a row without its required JSON is damage", () => {
  const journal = new Journal(memory(), "things");
  const seq = journal.put("a", "Deleted", of("1"), null);
  expect(() => journal.text(seq)).toThrow(expect.objectContaining({ kind: "damaged" }));
});
