import { expect, test } from "vitest";
import { keysIn } from "../../agent/cli/commands/up/keyboard.ts";
import { wishOf } from "../../simulator/keys.ts";
import type { BoardPicture, SitePicture } from "../../simulator/view/site-picture.ts";

const board = (name: string, zone: string, more: Partial<BoardPicture> = {}): BoardPicture => ({
  name,
  zone,
  power: "on",
  link: "up",
  ready: "True",
  taints: [],
  cordoned: false,
  agent: "running",
  memory: undefined,
  report: undefined,
  ...more,
});

const site = (...boards: readonly BoardPicture[]): SitePicture => ({
  apiUp: true,
  leader: { board: "pi-2", term: 1 },
  zones: [],
  boards,
  pods: [],
  daemons: [],
  services: [],
});

const three = site(board("pi-1", "a"), board("pi-2", "b"), board("pi-3", "a"));

const actionFor = (key: string, picture: SitePicture, selected?: string): string | undefined => {
  const wish = wishOf(key, picture, selected);
  return wish?.do === "perform"
    ? `${wish.said} (${wish.boards.join(" ")})`
    : wish?.do === "select"
      ? wish.board
      : wish?.do;
};

test.each([
  ["c", undefined, "do cut pi-1 (pi-1)"],
  ["c", "pi-3", "do cut pi-3 (pi-3)"],
  ["p", "pi-3", "do power-off pi-3 (pi-3)"],
  ["z", "pi-3", "do cut a (pi-1 pi-3)"],
  ["l", "pi-3", "do power-off pi-2 (pi-2)"],
  ["a", "pi-3", "do restart api ()"],
  ["\u001b[B", undefined, "pi-2"],
  ["j", "pi-3", "pi-3"],
  ["\u001b[A", "pi-2", "pi-1"],
  ["k", undefined, "pi-1"],
  ["q", undefined, "end"],
  ["\u0003", undefined, "end"],
  ["x", undefined, undefined],
])("key %j, with %s chosen: %s", (key, selected, wish) => {
  expect(actionFor(key, three, selected)).toBe(wish);
});

test("the same key undoes its effect", () => {
  const dark = site(board("pi-1", "a", { link: "cut", power: "off" }), board("pi-2", "b"));
  expect(actionFor("c", dark)).toBe("do restore pi-1 (pi-1)");
  expect(actionFor("p", dark)).toBe("do power-on pi-1 (pi-1)");
  expect(actionFor("z", dark)).toBe("do restore a (pi-1)");
});

test("without boards or a leader a key has no effect", () => {
  const empty = { ...site(), leader: undefined };
  for (const key of ["c", "p", "z", "l", "k", "j"]) expect(actionFor(key, empty)).toBeUndefined();
});

test("keys that are pressed together are separated", () => {
  expect(keysIn("\u001b[A\u001b[Bcp\u0003é")).toEqual(["\u001b[A", "\u001b[B", "c", "p", "\u0003", "é"]);
});
