import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import type { Standing } from "../../../agent/commands/desk/controls.ts";
import { SiteCommandGate } from "../../../agent/fleet/site-command-gate.ts";

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });
const leads = (term: number): Standing => ({ isLeader: true, leader: "pi-1", term });
const follows = (leader: string | undefined, term: number): Standing => ({ isLeader: false, leader, term });

test("a new leader begins to listen when the former one has stopped, and a former one stops at once", () => {
  const ear = new SiteCommandGate();
  ear.begin(at(0));
  expect(ear.wants(follows("pi-2", 1), at(99))).toBe(false);
  expect(ear.wants(leads(2), at(100))).toBe(false);
  expect(ear.wants(leads(2), at(102.4))).toBe(false);
  expect(ear.wants(leads(2), at(102.5))).toBe(true);
  ear.open(leads(2));
  expect(ear.wants(leads(2), at(103))).toBe(true);
  expect(ear.wants(follows(undefined, 2), at(104))).toBe(false);
  expect(ear.wants({ isLeader: true, leader: "pi-1", term: undefined }, at(105))).toBe(false);
});

test("in the same term a new connection listens at once, in another one when what waited there has come", () => {
  const ear = new SiteCommandGate();
  ear.begin(at(0));
  ear.wants(leads(2), at(0));
  expect(ear.wants(leads(2), at(3))).toBe(true);
  ear.open(leads(2));
  ear.begin(at(50));
  expect(ear.wants(leads(2), at(50))).toBe(true);
  expect(ear.hear(leads(2), "pi-1")).toBe("take");
  ear.wants(leads(4), at(60));
  ear.begin(at(70));
  expect(ear.wants(leads(4), at(70))).toBe(false);
  expect(ear.wants(leads(4), at(72.5))).toBe(true);
});

test.each([
  ["it leads, and listened in this term before", 2, leads(2), "take"],
  ["it leads again, and another one may have carried it out meanwhile", 2, leads(4), "late"],
  ["it leads for the first time", undefined, leads(2), "late"],
  ["another board leads: it had it, or will have it once more", 2, follows("pi-2", 3), "ignore"],
  ["nobody is known to lead", 2, follows(undefined, 2), "take"],
  ["its own name stands on the Lease although its term is over", 2, follows("pi-1", 2), "take"],
] as const)("what the broker kept for a board, when %s", (_, listened, standing, hearing) => {
  const ear = new SiteCommandGate();
  if (listened !== undefined) ear.open(leads(listened));
  ear.begin(at(10));
  expect(ear.hear(standing, "pi-1")).toBe(hearing);
});

test("what comes while it still listens is refused by a board whose term is over, whoever leads", () => {
  const ear = new SiteCommandGate();
  ear.begin(at(0));
  ear.open(leads(2));
  expect(ear.hear(follows("pi-2", 3), "pi-1")).toBe("take");
});
