import { expect, test } from "vitest";
import type { Instant } from "../../../../agent/base/clock.ts";
import { fullBucket } from "../../../../agent/base/token-bucket.ts";
import type { ZoneRecord } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { spentAt, takeTurns, withPaidTurn, withTurnEnded } from "../../../../agent/controllers/node-lifecycle/turns.ts";
import { addAll, newQueue } from "../../../../agent/controllers/node-lifecycle/zones/eviction-queue.ts";

const at = (seconds: number): Instant => ({ mono: 1000 * seconds, wall: 1000 * seconds });
const anyone = { may: () => true, version: () => "2" };

/** One board per ten seconds; both have been waiting. */
const zone: ZoneRecord = {
  state: "normal",
  heldMs: undefined,
  queue: addAll(newQueue(0.1, fullBucket(at(0), 1)), ["pi-1", "pi-2"], at(0)),
  rate: 0.1,
  paid: new Map(),
  evictions: [],
  foreign: {},
};

/** The first board had its turn, and its write was over so many seconds later. */
const afterFirst = (seconds: number): ZoneRecord => {
  const { zone: taken, names } = takeTurns(zone, anyone, at(0));
  expect(names).toEqual(["pi-1"]);
  return withTurnEnded(spentAt(taken, at(seconds)), "pi-1");
};

const nextTurn = (before: ZoneRecord): number =>
  Array.from({ length: 40 }, (_, second) => second).find(
    (second) => takeTurns(before, anyone, at(second)).names.length > 0,
  ) ?? Number.POSITIVE_INFINITY;

test.each([0, 1, 8, 25])(
  "the next board has its turn ten seconds after the previous board's write ended: %is",
  (seconds) => {
    expect(nextTurn(afterFirst(seconds))).toBe(seconds + 10);
  },
);

test("a paid turn that was repeated counts from its repetition", () => {
  const { zone: taken } = takeTurns(zone, anyone, at(0));
  const met = withPaidTurn(spentAt(taken, at(1)), "pi-1", { version: "1", until: at(5) });
  const repeated = takeTurns(met, anyone, at(4));
  expect(repeated.names).toEqual(["pi-1"]);
  expect(nextTurn(withTurnEnded(spentAt(repeated.zone, at(5)), "pi-1"))).toBe(15);
});

test("a write that ended before the allowance was checked again does not change anything", () => {
  const { zone: taken } = takeTurns(zone, anyone, at(3));
  expect(spentAt(taken, at(2))).toBe(taken);
});

test("a paid turn ends when its board is no longer due, and the next one costs a token", () => {
  const { zone: taken } = takeTurns(zone, anyone, at(0));
  const met = withPaidTurn(spentAt(taken, at(0)), "pi-1", { version: "1", until: at(15) });
  const held = takeTurns(met, { ...anyone, may: () => false }, at(1));
  expect([held.names, held.zone.paid.size]).toEqual([[], 0]);
  expect(takeTurns(held.zone, anyone, at(2)).names).toEqual([]);
  expect(takeTurns(met, anyone, at(2)).names).toEqual(["pi-1"]);
});
