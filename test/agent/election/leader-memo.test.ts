import { expect, test } from "vitest";
import { LeaderMemo } from "../../../agent/election/leader-memo.ts";

class Folder {
  readonly #facts = new Map<string, string>();

  readonly facts = {
    get: (area: string, key: string) => this.#facts.get(`${area}/${key}`),
    set: (area: string, key: string, value: string) => void this.#facts.set(`${area}/${key}`, value),
  };

  openedIn(place: string, lease = "kube-system/siteward-plant7"): LeaderMemo {
    return new LeaderMemo({ facts: this.facts, place, lease });
  }
}

test("a new board does not remember any term", () => {
  const memo = new Folder().openedIn("here");
  expect([memo.formerIdentity(), memo.formerTerm()]).toEqual([undefined, undefined]);
});

test("the very first term is remembered like any other, although its number is 0", () => {
  const folder = new Folder();
  folder.openedIn("here").beginTerm("pi-1_a", 0);
  expect(folder.openedIn("here").formerTerm()).toBe(0);
});

test("a board that never led remembers the terms of others", () => {
  const folder = new Folder();
  folder.openedIn("here").rememberTerm(7);
  expect(folder.openedIn("here").formerTerm()).toBe(7);
  expect(folder.openedIn("here").formerIdentity()).toBeUndefined();
});

test.each([
  ["the same term continues", 4, 4, true],
  ["it follows the board's own last term", 4, 5, true],
  ["another board led in between", 4, 6, false],
  ["the count restarted", 4, 0, false],
])("when a term begins, this board knows whether another has led since: %s", (_, before, term, alone) => {
  const folder = new Folder();
  folder.openedIn("here").beginTerm("pi-1_a", before);
  expect(folder.openedIn("here").beginTerm("pi-1_b", term)).toBe(alone);
});

test.each(["99999999999999999999", "2147483647", "-1", "1.5", "seven"])("%s is not a term, and is ignored", (text) => {
  const folder = new Folder();
  for (const what of ["seen", "term"]) folder.facts.set("leader", `${what} kube-system/siteward-plant7`, text);
  folder.facts.set("leader", "last led", "kube-system/siteward-plant7");
  expect(folder.openedIn("here").formerTerm()).toBeUndefined();
  expect(folder.openedIn("here").beginTerm("pi-1_a", 3)).toBe(false);
});

test("the highest possible term is repeated, and then no board knows whether another one led", () => {
  const folder = new Folder();
  const last = 2 ** 31 - 2;
  folder.openedIn("here").beginTerm("pi-1_a", last - 1);
  expect(folder.openedIn("here").beginTerm("pi-1_b", last)).toBe(false);
  expect(folder.openedIn("here").beginTerm("pi-1_c", last)).toBe(false);
});

test("a board's first term does not follow any term of its own", () => {
  expect(new Folder().openedIn("here").beginTerm("pi-1_a", 0)).toBe(false);
});

test("a copy of the folder on another machine does not name a previous process", () => {
  const folder = new Folder();
  folder.openedIn("here").beginTerm("pi-1_a", 3);
  expect(folder.openedIn("here").formerIdentity()).toBe("pi-1_a");
  expect(folder.openedIn("there").formerIdentity()).toBeUndefined();
  expect(folder.openedIn("there").formerTerm()).toBe(3);
});

test("a board that changes its site is new there, and does not wait for a term of the other site", () => {
  const folder = new Folder();
  const [here, there] = ["kube-system/siteward-plant7", "kube-system/siteward-plant8"];
  folder.openedIn("here", here).rememberTerm(41);
  folder.openedIn("here", here).beginTerm("pi-1_a", 41);
  const other = folder.openedIn("here", there);
  expect([other.formerIdentity(), other.formerTerm(), other.formerRest("b", { mono: 0, wall: 0 })]).toEqual(
    Array(3).fill(undefined),
  );
  expect(other.beginTerm("pi-1_b", 0)).toBe(false);
  // Back at the first one it remembers what it knew there, and that it looked after another one in between.
  const back = folder.openedIn("here", here);
  expect([back.formerIdentity(), back.formerTerm()]).toEqual(["pi-1_a", 41]);
  expect(back.beginTerm("pi-1_c", 42)).toBe(false);
  expect(folder.openedIn("here", here).beginTerm("pi-1_d", 43)).toBe(true);
});

test("after a restore of the server no Lease is that of the previous process, and the highest term is still known", () => {
  const folder = new Folder();
  const memo = folder.openedIn("here");
  memo.beginTerm("pi-1_a", 4);
  memo.rememberTerm(4);
  expect(memo.undoneUntil).toBeUndefined();
  memo.restored();
  expect([folder.openedIn("here").formerIdentity(), folder.openedIn("here").formerTerm()]).toEqual([undefined, 4]);
  expect(folder.openedIn("here").undoneUntil).toBe(4);
});

test("if the Lease was replaced, the highest term is still known, and what is from it may be outdated", () => {
  const folder = new Folder();
  const memo = folder.openedIn("here");
  memo.beginTerm("pi-1_a", 2);
  memo.rememberTerm(2);
  memo.replaced();
  expect([memo.undoneUntil, memo.formerTerm(), memo.formerIdentity()]).toEqual([2, 2, "pi-1_a"]);
});

test("terms that end abruptly are counted until one lasts", () => {
  const folder = new Folder();
  for (let process = 0; process < 3; process++) {
    const memo = folder.openedIn("here");
    expect(memo.brokenTerms).toBe(process);
    memo.beginTerm(`pi-1_${process}`, process);
    // The present term has not ended.
    expect(memo.brokenTerms).toBe(process);
  }
  const last = folder.openedIn("here");
  last.beginTerm("pi-1_d", 3);
  last.resetBrokenTerms();
  expect([last.brokenTerms, folder.openedIn("here").brokenTerms]).toEqual([0, 0]);
});

test("a process that leaves the Lease to others counts as before, and the next one restarts the count", () => {
  const folder = new Folder();
  for (let process = 0; process < 3; process++) folder.openedIn("here").beginTerm(`pi-1_${process}`, process);
  const memo = folder.openedIn("here");
  expect(memo.brokenTerms).toBe(3);
  memo.deferred();
  expect([memo.brokenTerms, folder.openedIn("here").brokenTerms]).toEqual([3, 0]);
});

test("a process that begins several terms and crashes in the last counts once", () => {
  const folder = new Folder();
  const memo = folder.openedIn("here");
  for (const term of [1, 2, 3]) memo.beginTerm("pi-1_a", term);
  expect(folder.openedIn("here").brokenTerms).toBe(1);
});

test("an invalid count of such terms counts as zero", () => {
  const folder = new Folder();
  folder.facts.set("leader", "broken kube-system/siteward-plant7", "many");
  expect(folder.openedIn("here").brokenTerms).toBe(0);
});
