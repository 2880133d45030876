import { describe, expect, test } from "vitest";
import {
  disruption,
  evictionRate,
  isCounted,
  type ZoneState,
  zoneOf,
  zoneState,
} from "../../../../../agent/controllers/node-lifecycle/zones/zones.ts";
import { node } from "../../../../support/builders.ts";
import { defaults } from "../../site-model.ts";

const kubernetes = { ...defaults, policy: "kubernetes" as const };
const evidence = { ...defaults, policy: "evidence" as const };
const zone = (notReady: number, ready: number) => ({ notReady, ready });

describe("the state of a zone", () => {
  test.each([
    ["no board", zone(0, 0), "normal"],
    ["one ready board", zone(0, 1), "normal"],
    ["one board that never reported", zone(1, 0), "full"],
    ["two of five lost", zone(2, 3), "normal"],
    ["three of five lost", zone(3, 2), "partial"],
    ["just below 55 %", zone(6, 5), "normal"],
    ["exactly 55 %", zone(11, 9), "partial"],
    ["just above 55 %", zone(12, 9), "partial"],
    ["two of three lost, since more than two must be lost", zone(2, 1), "normal"],
    ["three of four lost", zone(3, 1), "partial"],
    ["all lost", zone(3, 0), "full"],
    ["one of many ready", zone(999, 1), "partial"],
  ] as const)("follows from its boards: %s", (_name, counted, state) => {
    expect(zoneState(counted, kubernetes)).toBe(state);
  });

  test.each([
    ["one of two", zone(1, 1), "normal"],
    ["one of three", zone(1, 2), "normal"],
    ["two of three", zone(2, 1), "partial"],
    ["two of four", zone(2, 2), "partial"],
    ["two of five", zone(2, 3), "normal"],
    ["all of two", zone(2, 0), "full"],
  ] as const)("protects small zones under policy evidence, with %s lost", (_name, counted, state) => {
    expect(zoneState(counted, evidence)).toBe(state);
  });

  test("is decided by a threshold with the precision of a float32", () => {
    expect(zoneState(zone(7, 3), { ...kubernetes, unhealthyZone: 0.7 })).toBe("partial");
    expect(zoneState(zone(33, 67), { ...kubernetes, unhealthyZone: 0.33 })).toBe("partial");
    expect(zoneState(zone(33, 68), { ...kubernetes, unhealthyZone: 0.33 })).toBe("normal");
  });
});

test.each([
  ["normal", 10, 0.1],
  ["initial", 10, 0.1],
  ["full", 10, 0.1],
  ["partial", 50, 0],
  ["partial", 51, 0.01],
] as const)("a %s zone of %i boards has %f evictions per second", (state, size, rate) => {
  expect(evictionRate(state, size, kubernetes)).toBe(rate);
});

describe("the key of a zone", () => {
  const beta = "failure-domain.beta.kubernetes.io";
  const stable = "topology.kubernetes.io";
  test.each([
    ["no labels", {}, ""],
    ["a zone", { [`${stable}/zone`]: "a" }, ":\u0000:a"],
    ["a region", { [`${stable}/region`]: "r" }, "r:\u0000:"],
    ["both", { [`${stable}/region`]: "r", [`${stable}/zone`]: "a" }, "r:\u0000:a"],
    ["an old label, which takes precedence", { [`${beta}/zone`]: "b", [`${stable}/zone`]: "a" }, ":\u0000:b"],
    ["an empty old label, which hides the stable one", { [`${beta}/zone`]: "", [`${stable}/zone`]: "a" }, ""],
  ])("from %s", (_name, labels, key) => {
    expect(zoneOf(node("pi", { labels }))).toBe(key);
  });
});

test("a board that is excluded from disruption does not count, regardless of the value of the label", () => {
  expect(isCounted(node("pi"))).toBe(true);
  expect(isCounted(node("pi", { labels: { "node.kubernetes.io/exclude-disruption": "false" } }))).toBe(false);
});

describe("full disruption of a site, between two passes,", () => {
  const states = (...all: readonly ZoneState[]) => new Map(all.map((state, index) => [`zone-${index}`, state]));
  test.each([
    ["is neither entered nor left without boards", states(), states(), "all-silent"],
    ["continues if all zones were full and still are", states("full", "full"), states("full", "full"), "all-silent"],
    ["is entered if the first pass finds all zones full", states("initial"), states("full"), "silenced"],
    ["is entered when the last ready zone is lost", states("full", "normal"), states("full", "full"), "silenced"],
    ["is left when one zone recovers", states("full", "full"), states("full", "normal"), "resumed"],
    ["is not entered while one zone is not full", states("normal", "normal"), states("full", "normal"), "usual"],
    ["is entered again when a full zone appears", states("full"), states("full", "full"), "silenced"],
    ["does not depend on a vanished zone", states("full", "normal"), states("full"), "all-silent"],
  ] as const)("%s", (_name, before, after, kind) => {
    expect(disruption(before, after)).toBe(kind);
  });
});
