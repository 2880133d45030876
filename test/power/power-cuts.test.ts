import path from "node:path";
import { expect, test } from "vitest";
import { inMemory, scratch } from "../storage/object-store.ts";
import { cutPower } from "./power-cuts.ts";

/** The bounded share of `npm run test:power`. */
const [cuts, seed] = [6, 3];

test("the cache of a repeatedly killed agent equals the server's objects, and no act is repeated", {
  retry: 0,
}, async () => {
  using folder = scratch(inMemory);
  const report = await cutPower(path.dirname(folder.file("x")), { cuts, seed });
  expect(report.problems).toEqual([]);
  expect(report.compared).toBeGreaterThan(cuts / 4);
  expect(report.counts.watches).toBeGreaterThan(cuts);
});
