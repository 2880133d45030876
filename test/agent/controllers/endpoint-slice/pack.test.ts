import { describe, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../agent/api/core.ts";
import { pack } from "../../../../agent/controllers/endpoint-slice/pack.ts";
import { identityOf, type SliceEndpoint } from "../../../../agent/controllers/slices/slice.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { slice } from "../service/objects.ts";

const numbered = (at: number, ready = true): SliceEndpoint => ({
  addresses: [`10.0.${at >> 8}.${at & 255}`],
  conditions: { ready },
  targetRef: { kind: "Pod", namespace: "default", name: `p${at}`, uid: `uid-p${at}` },
});
const range = (from: number, count: number) => Array.from({ length: count }, (_, at) => numbered(from + at));
const options = { most: 10, isRelabelled: () => false };

/** Sizes afterwards, by name; new slices are called new. */
function sizes(slices: readonly EndpointSlice[], wanted: readonly SliceEndpoint[], more = {}) {
  const packed = pack(slices, wanted, { ...options, ...more });
  const updated = packed.update.map(({ slice: { metadata }, endpoints }) => [metadata.name, endpoints.length]);
  return {
    update: Object.fromEntries(updated),
    create: packed.create.map((list) => list.length),
    remove: packed.remove.map(({ metadata }) => metadata.name),
  };
}

describe("endpoints are placed", () => {
  test.each([
    ["nowhere if there are none", [], 0, {}, [], []],
    ["into one new slice", [], 10, {}, [10], []],
    ["into as many slices as needed", [], 21, {}, [10, 10, 1], []],
    ["into the slice that becomes fullest", [3, 6], 13, { s1: 10 }, [], []],
    ["into a slice in which they just fit", [3, 6], 16, { s0: 10 }, [], []],
    ["into a new slice if they do not fit into any other", [5, 6], 17, {}, [6], []],
    ["into the first of two equal slices", [5, 5], 12, { s0: 7 }, [], []],
    ["into new slices as long as they fill them", [3], 13, {}, [10], []],
  ])("%s", (_name, full, count, update, create, remove) => {
    let from = 0;
    const slices = full.map((size, at) => {
      from += size;
      return slice(`s${at}`, range(from - size, size));
    });
    expect(sizes(slices, range(0, count))).toEqual({ update, create, remove });
  });

  test("first in the fullest of the slices that have to change anyway", () => {
    const slices = [slice("one", range(0, 5)), slice("two", range(5, 8)), slice("three", range(13, 2))];
    const wanted = [...range(1, 11), ...range(13, 2), ...range(100, 4)];
    // "one" lost p0 and has 4, "two" lost p12 and has 7; three of four new ones fill "two".
    expect(sizes(slices, wanted)).toEqual({ update: { one: 5, two: 10 }, create: [], remove: [] });
  });

  test("a slice with more endpoints than allowed is not split, and no more are added to it", () => {
    const big = slice("big", range(0, 15));
    expect(sizes([big], range(0, 16))).toEqual({ update: {}, create: [1], remove: [] });
    expect(sizes([big], range(1, 16))).toEqual({ update: { big: 14 }, create: [2], remove: [] });
  });

  test("slices are not merged merely to reduce their number by one", () => {
    const slices = [slice("one", range(0, 9)), slice("two", range(9, 9))];
    expect(sizes(slices, [numbered(0), numbered(9)])).toEqual({ update: { one: 1, two: 1 }, create: [], remove: [] });
  });

  test("a slice that becomes empty is deleted, but one that was empty before is kept", () => {
    expect(sizes([slice("one", range(0, 2)), slice("none", [])], [])).toEqual({
      update: {},
      create: [],
      remove: ["one"],
    });
  });

  test("an endpoint that is in two slices is kept in the first", () => {
    const slices = [slice("one", range(0, 2)), slice("two", range(1, 2))];
    expect(sizes(slices, range(0, 3))).toEqual({ update: { two: 1 }, create: [], remove: [] });
  });

  test("only the slice of a changed endpoint is updated; a new version of the pod alone does not update it", () => {
    const slices = [slice("one", range(0, 2)), slice("two", range(2, 2))];
    expect(sizes(slices, [numbered(0, false), ...range(1, 3)]).update).toEqual({ one: 2 });
    const older = { ...numbered(0), targetRef: { ...numbered(0).targetRef, resourceVersion: "1" } };
    expect(sizes([slice("one", [older])], [numbered(0)]).update).toEqual({});
  });

  test("changed labels cause an update, which may also add endpoints", () => {
    const slices = [slice("one", range(0, 3)), slice("two", range(3, 8))];
    const relabelled = { isRelabelled: ({ metadata }: EndpointSlice) => metadata.name === "one" };
    expect(sizes(slices, range(0, 12), relabelled)).toEqual({ update: { one: 4 }, create: [], remove: [] });
  });
});

test("regardless of what the slices held before, each wanted endpoint ends up in exactly one slice, and no other endpoint remains", () => {
  const random = new SeededRandom(7);
  const chance = (below: number): number => Math.floor(random.next() * below);
  for (let round = 0; round < 400; round++) {
    const most = 1 + chance(8);
    const slices = Array.from({ length: chance(6) }, (_, at) =>
      slice(
        `s${at}`,
        Array.from({ length: chance(most + 2) }, () => numbered(chance(40))),
      ),
    );
    const wanted = new Map(
      Array.from({ length: chance(40) }, () => numbered(chance(40), chance(2) === 0)).map((one) => [
        identityOf(one),
        one,
      ]),
    );
    const packed = pack(slices, [...wanted.values()], { most, isRelabelled: () => chance(5) === 0 });
    const gone = new Set(packed.remove);
    const changed = new Map(packed.update.map(({ slice: one, endpoints }) => [one, endpoints]));
    const after = [
      ...packed.create,
      ...slices.filter((one) => !gone.has(one)).map((one) => changed.get(one) ?? one.endpoints ?? []),
    ];
    const found = after.flat().map(identityOf).sort();
    expect(found).toEqual([...wanted.keys()].sort());
    for (const endpoint of after.flat()) {
      expect(endpoint.conditions?.ready).toBe(wanted.get(identityOf(endpoint))?.conditions?.ready);
    }
    for (const list of packed.create) expect(list.length).toBeLessThanOrEqual(most);
    // Fewer new slices than would hold the rest is impossible; more is waste.
    const fresh = packed.create.flat().length;
    expect(packed.create.length).toBe(Math.ceil(fresh / most));
  }
});
