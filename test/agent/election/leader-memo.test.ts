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

test("a new board remembers nothing", () => {
  const memo = new Folder().openedIn("here");
  expect([memo.formerIdentity(), memo.formerTerm()]).toEqual([undefined, undefined]);
});

test("the very first term is a term: number 0 is remembered like any other", () => {
  const folder = new Folder();
  folder.openedIn("here").leads("pi-1_a", 0);
  expect(folder.openedIn("here").formerTerm()).toBe(0);
});

test("a board that never led remembers the terms of others", () => {
  const folder = new Folder();
  folder.openedIn("here").saw(7);
  expect(folder.openedIn("here").formerTerm()).toBe(7);
  expect(folder.openedIn("here").formerIdentity()).toBeUndefined();
});

test.each([
  ["the same one goes on", 4, 4, true],
  ["it follows its own last one", 4, 5, true],
  ["somebody led in between", 4, 6, false],
  ["the count began anew", 4, 0, false],
])("when a term begins it is known whether anybody else led since: %s", (_, before, term, alone) => {
  const folder = new Folder();
  folder.openedIn("here").leads("pi-1_a", before);
  expect(folder.openedIn("here").leads("pi-1_b", term)).toBe(alone);
});

test.each(["99999999999999999999", "2147483647", "-1", "1.5", "seven"])(
  "%s is no term, and nothing to go by",
  (text) => {
    const folder = new Folder();
    for (const what of ["seen", "term"]) folder.facts.set("leader", `${what} kube-system/siteward-plant7`, text);
    folder.facts.set("leader", "last led", "kube-system/siteward-plant7");
    expect(folder.openedIn("here").formerTerm()).toBeUndefined();
    expect(folder.openedIn("here").leads("pi-1_a", 3)).toBe(false);
  },
);

test("the last term there can be is led by one after the other: none of them can say that nobody else led", () => {
  const folder = new Folder();
  const last = 2 ** 31 - 2;
  folder.openedIn("here").leads("pi-1_a", last - 1);
  expect(folder.openedIn("here").leads("pi-1_b", last)).toBe(false);
  expect(folder.openedIn("here").leads("pi-1_c", last)).toBe(false);
});

test("the first term of a board follows nobody's", () => {
  expect(new Folder().openedIn("here").leads("pi-1_a", 0)).toBe(false);
});

test("a copy of the folder in another machine names no former process", () => {
  const folder = new Folder();
  folder.openedIn("here").leads("pi-1_a", 3);
  expect(folder.openedIn("here").formerIdentity()).toBe("pi-1_a");
  expect(folder.openedIn("there").formerIdentity()).toBeUndefined();
  expect(folder.openedIn("there").formerTerm()).toBe(3);
});

test("a board that changes its site is a newcomer there: no term of the other site is waited for", () => {
  const folder = new Folder();
  const [here, there] = ["kube-system/siteward-plant7", "kube-system/siteward-plant8"];
  folder.openedIn("here", here).saw(41);
  folder.openedIn("here", here).leads("pi-1_a", 41);
  const other = folder.openedIn("here", there);
  expect([other.formerIdentity(), other.formerTerm(), other.formerRest("b", { mono: 0, wall: 0 })]).toEqual(
    Array(3).fill(undefined),
  );
  expect(other.leads("pi-1_b", 0)).toBe(false);
  // Back at the first one it remembers what it knew there, and that it looked after another one in between.
  const back = folder.openedIn("here", here);
  expect([back.formerIdentity(), back.formerTerm()]).toEqual(["pi-1_a", 41]);
  expect(back.leads("pi-1_c", 42)).toBe(false);
  expect(folder.openedIn("here", here).leads("pi-1_d", 43)).toBe(true);
});

test("behind a restored server no Lease is that of the former process, and the highest term is still known", () => {
  const folder = new Folder();
  const memo = folder.openedIn("here");
  memo.leads("pi-1_a", 4);
  memo.saw(4);
  memo.restored();
  expect([folder.openedIn("here").formerIdentity(), folder.openedIn("here").formerTerm()]).toEqual([undefined, 4]);
});
