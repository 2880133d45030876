import { expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { type DecisionEntry, DecisionLog } from "../../storage/decision-log.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { pragmas, scratch } from "./object-store.ts";

const open = (file = ":memory:"): Database => Database.open({ file, migrations: stateMigrations, pragmas });

const entry = (subject: string, text: string, more: Partial<DecisionEntry> = {}): DecisionEntry => ({
  id: undefined,
  subject,
  board: "pi-3",
  text,
  ...more,
});

test("decisions are found by their object, and those about pods by their board too, even after a restart", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const database = open(file);
  new DecisionLog(database, { rows: 10, bytes: 1000 }).write([
    entry("node/pi-3", "a"),
    entry("pod/default/web", "b"),
    entry("node/pi-4", "c", { board: "pi-4" }),
    entry("pod/default/web", "d", { board: "pi-4" }),
  ]);
  database.close();
  const log = new DecisionLog(open(file), { rows: 10, bytes: 1000 });
  expect(log.newest("node/pi-3", 10)).toEqual(["a", "b"]);
  expect(log.newest("pod/default/web", 10)).toEqual(["b", "d"]);
  expect(log.newest("pod/default/web", 1)).toEqual(["d"]);
  expect(log.newest("pod/default/other", 10)).toEqual([]);
  expect(log.newest(undefined, 3)).toEqual(["b", "c", "d"]);
});

test("a story that continues moves to the end", () => {
  const log = new DecisionLog(open(), { rows: 10, bytes: 1000 });
  const [failed] = log.write([entry("node/pi-3", "failed")]);
  log.write([entry("node/pi-4", "other")]);
  const [done] = log.write([entry("node/pi-3", "done", { id: failed })]);
  expect(log.newest(undefined, 10)).toEqual(["other", "done"]);
  log.write([entry("node/pi-3", "done again", { id: done })]);
  expect(log.newest(undefined, 10)).toEqual(["other", "done again"]);
});

test("the oldest decisions are deleted if there are too many of them, or if they are too large together", () => {
  const log = new DecisionLog(open(), { rows: 3, bytes: 100 });
  const [first] = log.write(["1", "2", "3", "4"].map((text) => entry("node/pi-3", text)));
  expect(log.newest(undefined, 10)).toEqual(["2", "3", "4"]);
  log.write([entry("node/pi-3", "x".repeat(99))]);
  expect(log.newest(undefined, 10)).toEqual(["4", "x".repeat(99)]);
  log.write([entry("node/pi-3", "y".repeat(200))]);
  expect(log.newest(undefined, 10)).toEqual(["y".repeat(200)]);
  // A story whose row was deleted is stored as the newest when it goes on.
  log.write([entry("node/pi-3", "late", { id: first })]);
  expect(log.newest(undefined, 10)).toEqual(["late"]);
});

test("a namespace displaces only its own decisions, except those by which another one, or the boards, exceed it", () => {
  const log = new DecisionLog(open(), { rows: 8, bytes: 1000 });
  const [, , shop] = log.write([
    entry("node/pi-3", "tainted"),
    entry("node/pi-4", "tainted too"),
    entry("pod/shop/till", "evicted"),
  ]);
  for (let n = 0; n < 100; n++) log.write([entry(`pod/tenant/web-${n}`, `${n}`.padStart(2, "0"))], [shop ?? 0]);
  expect(log.newest(undefined, 10)).toEqual(["tainted", "tainted too", "evicted", "95", "96", "97", "98", "99"]);
  // Three namespaces of two pods each have as much as the boards.
  for (const name of ["a", "b", "c"]) log.write([1, 2, 3].map((n) => entry(`pod/${name}/web`, `${name}${n}`)));
  expect(log.newest(undefined, 10)).toEqual(["tainted", "tainted too", "99", "a3", "b2", "b3", "c2", "c3"]);
});

test("of a namespace's stories, those that have not ended are deleted last", () => {
  const log = new DecisionLog(open(), { rows: 3, bytes: 1000 });
  const [held = 0] = log.write([entry("pod/shop/till", "held", { isOpen: true })]);
  log.write(
    ["1", "2", "3"].map((text) => entry("pod/shop/web", text)),
    [held],
  );
  const [also = 0] = log.write([entry("pod/shop/scales", "held too", { isOpen: true })], [held]);
  expect(log.newest(undefined, 10)).toEqual(["held", "3", "held too"]);
  const [third = 0] = log.write([entry("pod/shop/door", "held as well", { isOpen: true })], [held, also]);
  expect(log.newest(undefined, 10)).toEqual(["held", "held too", "held as well"]);
  log.write([entry("pod/shop/lamp", "held last", { isOpen: true })], [held, also, third]);
  expect(log.newest(undefined, 10)).toEqual(["held too", "held as well", "held last"]);
});

test("stories of a namespace that have not ended displace no ended ones of boards or of another namespace", () => {
  const log = new DecisionLog(open(), { rows: 500, bytes: 1000 });
  log.write([entry("node/pi-3", "t".repeat(240)), entry("pod/shop/till", "e".repeat(200))]);
  const ended = entry("pod/tenant/ended", "x".repeat(100));
  const held = Array.from({ length: 20 }, (_, n) => entry(`pod/tenant/web-${n}`, "h".repeat(100), { isOpen: true }));
  log.write([ended, ...held]);
  const kept = log.newest(undefined, 100).map(([first]) => first);
  expect(kept).toEqual(["t", "e", "h", "h", "h", "h", "h"]);
  // Boards have more than their quarter only as long as there is room, open or not.
  log.write([1, 2, 3].map((n) => entry(`node/pi-${n}`, "o".repeat(240), { isOpen: true })));
  expect(log.newest(undefined, 100).map(([first]) => first)).toEqual(["e", "h", "h", "h", "o", "o"]);
});

test("a story whose row was deleted does not replace a newer row", () => {
  const log = new DecisionLog(open(), { rows: 10, bytes: 100 });
  const [, lost] = log.write([entry("pod/a/web", "a".repeat(60)), entry("pod/b/web", "b".repeat(70))]);
  log.write([entry("pod/c/web", "c")]);
  log.write([entry("pod/b/web", "b", { id: lost })]);
  expect(log.newest(undefined, 10).map(([first]) => first)).toEqual(["a", "c", "b"]);
});

test("half of the decisions about a board are its own, however many of its pods were evicted after it was tainted", () => {
  const log = new DecisionLog(open(), { rows: 100, bytes: 10_000 });
  log.write([entry("node/pi-3", "marked"), entry("node/pi-3", "tainted")]);
  log.write(Array.from({ length: 50 }, (_, n) => entry(`pod/default/web-${n}`, `${n}`)));
  expect(log.newest("node/pi-3", 5)).toEqual(["marked", "tainted", "47", "48", "49"]);
  expect(log.newest("node/pi-3", 3)).toEqual(["tainted", "48", "49"]);
  expect(log.newest("pod/default/web-7", 5)).toEqual(["7"]);
});

test("the records of controllers in shadow mode displace no others, and open stories of both books stay", () => {
  const log = new DecisionLog(open(), { rows: 6, bytes: 10_000 });
  const acts = [entry("pod/a/1", "act 1"), entry("pod/a/2", "act 2", { isOpen: true })];
  const shadowed = (n: number) => entry(`pod/a/${n}`, JSON.stringify({ shadow: true, n, text: "x".repeat(20) }));
  log.write(acts);
  log.write([{ ...shadowed(0), isOpen: true }], [], "shadow");
  log.write([1, 2, 3, 4, 5, 6].map(shadowed), [3], "shadow");
  const kept = log.newest(undefined, 20).map((text) => (text.startsWith("{") ? JSON.parse(text).n : text));
  expect(kept).toEqual(["act 1", "act 2", 0, 4, 5, 6]);
  // A text cannot pretend to be such a record.
  log.write([entry("pod/b/1", JSON.stringify({ error: '"shadow":true' }))]);
  expect(log.newest(undefined, 20)).toContain(JSON.stringify({ error: '"shadow":true' }));
});

test("an open story of one book is not displaced when the other book writes", () => {
  const log = new DecisionLog(open(), { rows: 3, bytes: 10_000 });
  const acts = ["open, first", "ended, second", "ended, third"];
  log.write(acts.map((text, index) => entry(`pod/a/${index}`, text, { isOpen: index === 0 })));
  log.write([entry("pod/a/4", '{"shadow":true}')], [], "shadow");
  expect(log.newest(undefined, 10)).toEqual(["open, first", "ended, third", '{"shadow":true}']);
});

test("the records of controllers in shadow mode give way before open stories of the same namespace do", () => {
  const log = new DecisionLog(open(), { rows: 3, bytes: 10_000 });
  log.write(
    [1, 2].map((n) => entry(`pod/a/${n}`, '{"shadow":true}')),
    [],
    "shadow",
  );
  log.write([1, 2].map((n) => entry(`pod/a/${n}`, `held ${n}`.padEnd(100), { isOpen: true })));
  log.write([entry("pod/b/1", "done")], [3, 4]);
  expect(log.newest(undefined, 10).map((text) => text.trim())).toEqual(["held 1", "held 2", "done"]);
});

test("all decisions can be read page by page", () => {
  const log = new DecisionLog(open(), { rows: 10, bytes: 1000 });
  log.write(["1", "2", "3", "4", "5"].map((text) => entry("node/pi-3", text)));
  expect([
    log.newest(undefined, 2),
    log.newest(undefined, 2, { skip: 2 }),
    log.newest(undefined, 2, { skip: 4 }),
  ]).toEqual([["4", "5"], ["2", "3"], ["1"]]);
  expect(log.newest(undefined, 2, { skip: 6 })).toEqual([]);
});

test("decisions that a policy made only for comparison are left out unless they are asked for", () => {
  const log = new DecisionLog(open(), { rows: 10, bytes: 1000 });
  const text = '{"shadow":true,"compared":"kubernetes"}';
  log.write([entry("node/pi-3", "1"), entry("node/pi-3", text), entry("node/pi-3", "2"), entry("node/pi-3", text)]);
  expect(log.newest(undefined, 2)).toEqual(["1", "2"]);
  expect(log.newest("node/pi-3", 4)).toEqual(["1", "2"]);
  expect(log.newest(undefined, 2, { compared: true })).toEqual(["2", text]);
  expect(log.newest("node/pi-3", 4, { compared: true })).toEqual(["1", text, "2", text]);
});
