import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { NamespaceActs } from "../../../agent/holds/namespace-acts.ts";

const at = (minutes: number): Instant => ({ mono: minutes * 60_000, wall: 0 });

test("the acts on the pods of each namespace count for an hour by the slowest clock, and those with most come first", () => {
  const acts = new NamespaceActs();
  acts.add("web", at(0));
  for (const minute of [10, 20, 30]) acts.add("shop", at(minute));
  for (const minute of [10, 20]) acts.add("db", at(minute));
  expect(acts.most(2, at(40))).toEqual([
    { namespace: "shop", acts: 3 },
    { namespace: "db", acts: 2 },
  ]);
  expect([acts.of("web", at(61)), acts.of("web", at(62)), acts.of("none", at(0))]).toEqual([1, 0, 0]);
});

test("a namespace is forgotten once none of its acts counts, so a tenant's many namespaces do not add up", () => {
  const acts = new NamespaceActs();
  for (let index = 0; index < 1000; index++) acts.add(`tenant-${index}`, at(index / 1000));
  acts.add("shop", at(30));
  expect(acts.most(5000, at(63))).toEqual([{ namespace: "shop", acts: 1 }]);
  acts.add("shop", at(63));
  acts.remove("shop", at(30));
  acts.remove("shop", at(63));
  expect(acts.most(5000, at(63))).toEqual([]);
});
