import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { actLimits } from "../../../agent/holds/act-limit.ts";

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });

/** The limits of a site where so many pods run in each namespace. */
const limitsOf = (pods: Record<string, number>, setting?: number) =>
  actLimits(setting, () => new Map(Object.entries(pods)));

test.each([
  [undefined, 0, 10],
  [undefined, 54, 10],
  [undefined, 55, 11],
  [undefined, 500, 100],
  [0, 500, 0],
  [3, 500, 3],
  [700, 5, 700],
])("with the setting %j, a site of %d pods has the limit %d", (setting, pods, limit) => {
  expect(limitsOf({ shop: pods }, setting).acts(at(0))).toBe(limit);
});

test.each([
  [{ shop: 30 }, 1],
  [{ shop: 40, web: 10 }, 0.8],
  [{ shop: 20, web: 20, db: 1 }, 0.5],
  [{ web: 30 }, 0.5],
  [{}, 0.5],
] as const)("of a site with %j, the pods of shop may use the share %d", (pods, share) => {
  expect(limitsOf(pods).shareOf("shop", at(0))).toBe(share);
});

test("the pods of others keep their part of the limit, however many pods a tenant runs", () => {
  for (const tenant of [10, 40, 200, 2000]) {
    const limits = limitsOf({ tenant, others: 40 });
    const left = limits.acts(at(0)) * (1 - limits.shareOf("tenant", at(0)));
    expect(left).toBeGreaterThanOrEqual(Math.min(5, 0.2 * 40) - 1);
  }
});

test("pods are counted every ten seconds, not with every act", () => {
  const pods = { shop: 100 };
  const limits = limitsOf(pods);
  expect([limits.acts(at(0)), limits.shareOf("web", at(1))]).toEqual([20, 0.5]);
  Object.assign(pods, { web: 300 });
  expect([limits.acts(at(9.9)), limits.shareOf("web", at(9.9))]).toEqual([20, 0.5]);
  expect([limits.acts(at(10)), limits.shareOf("web", at(10))]).toEqual([80, 0.75]);
});
