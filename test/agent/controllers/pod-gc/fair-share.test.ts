import { expect, test } from "vitest";
import { FairShare } from "../../../../agent/controllers/pod-gc/fair-share.ts";

/** What stays of these items, each in the namespace of its first letter, and what has no room. */
function shared(most: number, items: readonly string[]) {
  const share = new FairShare<string>(most, (item) => item.slice(0, 1));
  const out = items.flatMap((item) => share.add(item) ?? []);
  return { kept: share.inTurns(), out, count: share.count };
}

test("as many as there is room for are all kept, and namespaces take turns", () => {
  const { kept, out } = shared(5, ["a1", "a2", "a3", "b1", "c1"]);
  expect([kept, out]).toEqual([["a1", "b1", "c1", "a2", "a3"], []]);
});

test("without room, the namespace with the most items gives way, whichever comes first", () => {
  expect(shared(3, ["a1", "a2", "a3", "a4", "b1", "c1"])).toEqual({
    ...{ kept: ["a1", "b1", "c1"], out: ["a4", "a3", "a2"], count: 3 },
  });
  expect(shared(3, ["b1", "c1", "a1", "a2", "a3"])).toEqual({
    ...{ kept: ["b1", "c1", "a1"], out: ["a2", "a3"], count: 3 },
  });
});

test("with more namespaces than there is room for, those that came first keep their items", () => {
  expect(shared(2, ["a1", "b1", "c1"])).toEqual({ kept: ["a1", "b1"], out: ["c1"], count: 2 });
});

test("all shares are equal at the end, in any order", () => {
  const items = Array.from({ length: 300 }, (_, index) => `${"abc"[index % 7 < 4 ? 0 : index % 3]}${index}`);
  const { kept } = shared(30, items);
  expect(["a", "b", "c"].map((one) => kept.filter((item) => item.startsWith(one)).length)).toEqual([10, 10, 10]);
});
