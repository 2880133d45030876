import { describe, expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import { withZoneHints } from "../../../../agent/controllers/endpoint-slice/zone-hints.ts";
import { isOverloaded, zoneSharesOf } from "../../../../agent/controllers/endpoint-slice/zone-shares.ts";
import type { SliceContent, SliceEndpoint } from "../../../../agent/controllers/slices/slice.ts";
import { node } from "../../../support/builders.ts";
import { slice } from "../service/objects.ts";

const board = (name: string, zone: string | undefined, cpu: string | undefined, more = {}): Node => {
  const one = node(name, { ...(zone !== undefined && { zone }), ...more });
  return { ...one, status: { ...one.status, ...(cpu !== undefined && { allocatable: { cpu } }) } };
};

describe("the CPU share of each zone", () => {
  test("is the zone's part of the processors of all ready boards", () => {
    const boards = [board("a", "east", "3"), board("b", "west", "500m"), board("c", "west", "0.5")];
    expect([...(zoneSharesOf(boards) ?? [])]).toEqual([
      ["east", 0.75],
      ["west", 0.25],
    ]);
  });

  test("leaves out boards that are not ready, and those of the control plane", () => {
    const control = { labels: { "node-role.kubernetes.io/control-plane": "" } };
    const boards = [
      board("a", "east", "1"),
      board("b", "west", "1"),
      board("c", "west", "8", { conditions: { Ready: "False" } }),
    ];
    expect(zoneSharesOf([...boards, board("d", undefined, undefined, control)])?.get("west")).toBe(0.5);
  });

  test.each([
    ["one board has no zone", [board("a", "east", "1"), board("b", "west", "1"), board("c", undefined, "1")]],
    ["one board does not report its capacity", [board("a", "east", "1"), board("b", "west", undefined)]],
    ["there is one zone", [board("a", "east", "1"), board("b", "east", "1")]],
    ["there is no board", []],
  ])("is unknown if %s", (_name, boards) => {
    expect(zoneSharesOf(boards)).toBeUndefined();
  });
});

const endpoints = (zones: string): readonly SliceEndpoint[] =>
  [...zones].map((letter, at) => ({
    addresses: [`10.0.0.${at}`],
    conditions: { ready: letter === letter.toLowerCase() },
    ...(letter !== "-" && { zone: letter.toLowerCase() }),
  }));

const content = (zones: string): SliceContent => ({
  addressType: "IPv4",
  ports: [],
  endpoints: endpoints(zones),
  labels: {},
});

/** Zones by their letters: whom each endpoint of new slices serves. A capital: not ready. */
function shared(zones: readonly string[], shares: Readonly<Record<string, number>> | undefined): string {
  const plan = { create: zones.map(content), update: [], remove: [] };
  const { plan: after, trouble } = withZoneHints(plan, [], shares && new Map(Object.entries(shares)));
  const letters = after.create.flatMap((one) => one.endpoints.map(({ hints }) => hints?.forZones?.[0]?.name ?? "."));
  return trouble === undefined ? letters.join("") : `${letters.join("")} ${trouble.replace(/ \(.*/, "")}`;
}

const half = { a: 0.5, b: 0.5 };

test.each([
  ["each zone serves itself", ["aabb"], half, "aabb"],
  ["over several slices", ["aa", "bb"], half, "aabb"],
  ["a zone with too many endpoints shares some", ["aaab"], half, "baab"],
  ["a zone without any gets some", ["aaaa"], half, "bbaa"],
  ["a zone with more CPU gets more endpoints", ["aabb"], { a: 0.75, b: 0.25 }, "aaab"],
  ["half an endpoint is not worth a move", ["aaaabbb"], half, "aaaabbb"],
  ["unready endpoints do not count", ["aabbA"], half, "aabb."],
  [
    "no board is known",
    ["aabb"],
    undefined,
    ".... Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
  ],
  ["fewer endpoints than zones", ["a"], half, ". Insufficient number of endpoints"],
  [
    "three for two zones",
    ["aab"],
    half,
    "... Unable to allocate minimum required endpoints to each zone without exceeding overload threshold",
  ],
  ["an endpoint without a zone", ["aab-"], half, ".... One or more endpoints do not have a zone specified"],
])("zone hints: %s", (_name, zones, shares, expected) => {
  expect(shared(zones, shares)).toBe(expected);
});

test("slices that do not change keep their hints, unless they are wrong", () => {
  const hinted = (zones: string, hints: string): readonly SliceEndpoint[] =>
    endpoints(zones).map((endpoint, at) => ({ ...endpoint, hints: { forZones: [{ name: hints[at] ?? "" }] } }));
  const plan = { create: [], update: [], remove: [] };
  const shares = new Map(Object.entries(half));
  const fine = slice("fine", hinted("aabb", "bbaa"));
  expect(withZoneHints(plan, [fine], shares)).toEqual({ plan, trouble: undefined });
  const wrong = slice("wrong", hinted("aabb", "aacc"));
  const { update } = withZoneHints(plan, [wrong], shares).plan;
  expect(update[0]?.content.endpoints.map(({ hints }) => hints?.forZones?.[0]?.name).join("")).toBe("aabb");
  const tooMany = slice("too-many", hinted("aabb", "aaaa"));
  expect(withZoneHints(plan, [tooMany], shares).plan.update.length).toBe(1);
});

test.each([
  ["no endpoint is shared", {}, half, false],
  ["each zone has enough", { a: 2, b: 2 }, half, false],
  ["a zone has too few", { a: 9, b: 3 }, half, true],
  ["a zone has none", { a: 4 }, half, true],
  ["a zone is gone", { a: 2, b: 2 }, undefined, true],
])("a service is processed again if %s: %o", (_name, counts, shares, expected) => {
  expect(isOverloaded(new Map(Object.entries(counts)), shares && new Map(Object.entries(shares)))).toBe(expected);
});
