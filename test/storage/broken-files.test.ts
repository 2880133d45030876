import { cpSync, existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dispositionOf } from "../../agent/base/errors.ts";
import { removeCache } from "../../storage/database/open.ts";
import { Memo } from "../../storage/memo.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { damages, damagesBeside } from "./damages.ts";
import { inMemory, popAll, pragmas, type Store, scratch } from "./object-store.ts";
import { cacheOf, follow } from "./power-cut-model.ts";
import { expectSound } from "./soundness.ts";

const seed = 5;
const place = scratch(inMemory);
/** Stopped in good order; and killed, with everything that was new still in the logs. */
const [stopped, killed] = [place.file("stopped"), place.file("killed")];
const facts = 60;
let position = 0;
afterAll(() => place[Symbol.dispose]());

const open = (folder: string, stamp = "1"): StateFolder => StateFolder.open({ folder, pragmas, stamp });
const factsOf = ({ state }: StateFolder): number => [...new Memo(state.database).entries("leader")].length;

beforeAll(() => {
  const folder = open(stopped);
  const cache = cacheOf(folder.cache.database);
  follow(cache, seed, 40);
  position = Number(cache.fifo.resourceVersion);
  const memo = new Memo(folder.state.database);
  for (let fact = 0; fact < facts; fact++) memo.set("leader", `key-${fact}`, "v".repeat((fact * 13) % 700));
  cpSync(stopped, killed, { recursive: true });
  folder.close();
  expect(readdirSync(stopped).sort()).toEqual(["cache.db", "state.db"]);
  expect(existsSync(path.join(killed, "state.db-wal"))).toBe(true);
});

type Damage = (typeof damages)[string];

/** A copy of the folder in which that happened to one of the files. */
function broken(folder: string, from: string, file: string, damage: Damage): void {
  const other = file === "cache.db" ? "state.db" : "cache.db";
  cpSync(from, folder, { recursive: true });
  damage(path.join(folder, file), path.join(folder, other));
}

/** What is damaged shows when the folder is opened, or at the latest when all of it is read. */
function cacheFound(folder: StateFolder): "whole" | "an earlier moment" | "made anew" | "damage in use" {
  let cache: Store;
  try {
    cache = cacheOf(folder.cache.database);
    popAll(cache.fifo);
    for (const _ of cache.indexer.list());
  } catch (error) {
    expect(error).toMatchObject({ kind: "damaged" });
    expect(dispositionOf(error)).toBe("rebuild");
    return "damage in use";
  }
  const at = expectSound(cache, seed);
  follow(cache, seed, 2);
  expectSound(cache, seed);
  return at === position ? "whole" : folder.cache.rebuilt ? "made anew" : "an earlier moment";
}

describe.each([
  ["a stop", () => stopped],
  ["a kill", () => killed],
])("after %s", (when, variant) => {
  for (const [what, damage] of Object.entries({ ...damages, ...damagesBeside })) {
    test(`cache.db with ${what} is used as it is, at an earlier moment, or recreated and reported`, () => {
      using here = scratch(inMemory);
      const at = here.file("state");
      broken(at, variant(), "cache.db", damage);
      const folder = open(at);
      const found = cacheFound(folder);
      expect(folder.state.setAside).toBeUndefined();
      expect(factsOf(folder)).toBe(facts);
      // Only what the log alone knew can be lost without a word: the watch tells it again.
      if (found === "an earlier moment") expect([when, what in damagesBeside]).toEqual(["a kill", true]);
      if (found !== "damage in use") return folder.close();
      folder.closeWithoutCheckpoint();
      removeCache(path.join(at, "cache.db"));
      const again = open(at);
      expect(cacheFound(again)).toBe("an earlier moment");
      expect(again.cache.rebuilt).toBeUndefined();
      again.close();
    });

    test(`state.db with ${what} is used as it is, or set aside and reported, and works`, () => {
      using here = scratch(inMemory);
      const at = here.file("state");
      broken(at, variant(), "state.db", damage);
      const folder = open(at);
      const { setAside } = folder.state;
      const found = cacheFound(folder);
      // A state that lost what it knew of the cache does not vouch for it.
      if (setAside === undefined && !lostWithLog(when, what)) expect(found).toBe("whole");
      else expect(["whole", "made anew"]).toContain(found);
      if (setAside === undefined) expect(factsOf(folder)).toBe(lostWithLog(when, what) ? 0 : facts);
      else {
        expect(setAside.why).toMatchObject({ kind: "damaged", disposition: "exit" });
        expect(readdirSync(at)).toContainEqual(expect.stringMatching(/^state\.db.*\.damaged-1$/));
      }
      new Memo(folder.state.database).set("leader", "term", "7");
      folder.closeWithoutCheckpoint();
      const again = open(at, "2");
      expect(again.state.setAside).toBeUndefined();
      expect(new Memo(again.state.database).get("leader", "term")).toBe("7");
      again.close();
    });
  }
});

/** An emptied log cannot be distinguished from one that was checkpointed. */
const lostWithLog = (when: string, what: string): boolean =>
  when === "a kill" && ["an empty log", "a log of zeros"].includes(what);
