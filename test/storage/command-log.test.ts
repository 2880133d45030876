import { expect, test } from "vitest";
import { CommandLog, type CommandRow } from "../../storage/command-log.ts";
import { Database } from "../../storage/database/database.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { pragmas } from "./object-store.ts";

const open = (): CommandLog =>
  new CommandLog(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas }));

const row = (id: string, changes: Partial<CommandRow> = {}): CommandRow => ({
  ...{ id, name: "eviction.freeze", scope: "site", origin: "mqtt", author: "ops:alice", hash: `hash of ${id}` },
  ...{ payload: "{}", state: "accepted", answer: "{}", lapses: "later", keep: "much later" },
  ...changes,
});

const ids = (rows: readonly CommandRow[]): string[] => rows.map(({ id }) => id);

test("commands are found by their id, and in the order of their arrival", () => {
  const log = open();
  for (const id of ["C", "A", "B"]) log.admit(row(id));
  expect(log.find("A")).toEqual(row("A"));
  expect(log.find("D")).toBeUndefined();
  expect(ids(log.unsettled())).toEqual(["C", "A", "B"]);
  expect(ids(log.latest(2))).toEqual(["B", "A"]);
  expect(log.size()).toBe(3);
});

test("an id is accepted once; a second command with the same id leaves no trace", () => {
  const log = open();
  log.admit(row("A"), { key: "ops", counter: 7 });
  expect(() => log.admit(row("A"), { key: "ops", counter: 8 })).toThrow();
  expect(log.counter("ops")).toBe(7);
});

test("a key's counter can only rise", () => {
  const log = open();
  log.admit(row("A"), { key: "ops", counter: 7 });
  log.admit(row("B"), { key: "ops", counter: 5 });
  expect([log.counter("ops"), log.counter("other")]).toEqual([7, undefined]);
  log.admit(row("C"), { key: "ops", counter: 2 ** 53 - 1 });
  expect(log.counter("ops")).toBe(2 ** 53 - 1);
});

test("a command has one outcome: the first that is written", () => {
  const log = open();
  log.admit(row("A"));
  log.begin("A");
  log.settle("A", "succeeded", '{"code":200}', false);
  log.settle("A", "failed", '{"code":500}', false);
  log.begin("A");
  expect(log.find("A")).toMatchObject({ state: "succeeded", answer: '{"code":200}', payload: "" });
  expect(log.unsettled()).toEqual([]);
});

test("an answer is undelivered until it is marked, and an answer without a recipient never is", () => {
  const log = open();
  for (const id of ["A", "B", "C"]) log.admit(row(id));
  log.settle("A", "succeeded", "{}", false);
  log.settle("B", "succeeded", "{}", true);
  expect(ids(log.undelivered())).toEqual(["A"]);
  log.markDelivered("A");
  log.markDelivered("C");
  expect(log.undelivered()).toEqual([]);
});

test("commands that may be forgotten are deleted, over many pages, and open commands are kept", () => {
  const log = open();
  for (let n = 0; n < 300; n++) {
    log.admit(row(`A${n}`, { keep: String(n) }));
    if (n % 3 > 0) log.settle(`A${n}`, "succeeded", "{}", true);
  }
  expect(log.forget((keep) => Number(keep) < 150)).toBe(100);
  expect(log.size()).toBe(200);
  expect(log.find("A1")).toBeUndefined();
  expect(log.find("A0")).toBeDefined();
  expect(log.find("A151")).toBeDefined();
  expect(log.forget(() => false)).toBe(0);
});
