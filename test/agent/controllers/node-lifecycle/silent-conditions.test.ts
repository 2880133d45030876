import { expect, test } from "vitest";
import type { Examined } from "../../../../agent/controllers/node-lifecycle/health.ts";
import { nextToMark } from "../../../../agent/controllers/node-lifecycle/silent-conditions.ts";
import { node } from "../../../support/builders.ts";

const board = (
  name: string,
  {
    zone = "a",
    silentSince = 0,
    verdict = "unproven",
    observed = "True",
  }: {
    readonly zone?: string;
    readonly silentSince?: number;
    readonly verdict?: "unproven" | "alive";
    readonly observed?: string;
  } = {},
): Examined => ({
  sighting: { node: node(name, { zone }), cached: "1", lease: "1" },
  health: {
    uid: name,
    probe: { mono: silentSince, wall: 0 },
    transition: { mono: 0, wall: 0 },
    seenAt: { mono: 0, wall: 0 },
    reportedAt: undefined,
    statusAt: undefined,
    ready: undefined,
    lease: "1",
    byStatus: false,
    recount: false,
    answered: undefined,
  },
  evidence: { live: true, silentMs: 0, graceMs: 0, provenMs: 0, own: false, heard: undefined, confirmedBy: undefined },
  verdict: { verdict, rule: "" },
  readyBefore: observed,
});

const names = (boards: readonly Examined[], withPods: readonly string[] = []): readonly string[] =>
  nextToMark(boards, (name) => withPods.includes(name)).map(({ sighting }) => sighting.node.metadata.name);

test("only silent boards whose conditions do not yet show the silence need a write", () => {
  expect(names([board("alive", { verdict: "alive" }), board("known", { observed: "Unknown" }), board("lost")])).toEqual(
    ["lost"],
  );
});

test("boards with pods come before those without, regardless of all else", () => {
  const boards = [board("empty", { silentSince: -100 }), board("b"), board("c", { silentSince: -1 })];
  expect(names(boards, ["b", "c"])).toEqual(["c", "b", "empty"]);
});

test("a lost board of a small zone does not wait for a large dead zone", () => {
  const dark = Array.from({ length: 100 }, (_, i) => board(`dark-${i}`, { zone: "large", silentSince: -1000 }));
  expect(names([...dark, board("x", { zone: "small" }), board("y", { zone: "small" })]).slice(0, 4)).toEqual([
    "dark-0",
    "x",
    "dark-1",
    "y",
  ]);
});

test("within a zone the board that has been silent longest comes first", () => {
  expect(names([board("new", { silentSince: 9 }), board("old", { silentSince: 1 })])).toEqual(["old", "new"]);
});

test("a pass does not build thousands of writes that it cannot send", () => {
  const boards = Array.from({ length: 5000 }, (_, i) => board(`pi-${i}`));
  expect(names(boards)).toHaveLength(300);
});
