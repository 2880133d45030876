import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import type { Standing } from "../../../agent/commands/desk/controls.ts";
import { SiteCommandGate } from "../../../agent/fleet/site-command-gate.ts";

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: 0 });
const leads = (term: number): Standing => ({ isLeader: true, leader: "pi-1", term });
const follows = (leader: string | undefined, term: number): Standing => ({ isLeader: false, leader, term });

test("a new leader subscribes when the previous one has unsubscribed, and a leader whose term has ended unsubscribes immediately", () => {
  const gate = new SiteCommandGate();
  gate.begin(at(0));
  expect(gate.wants(follows("pi-2", 1), at(99))).toBe(false);
  expect(gate.wants(leads(2), at(100))).toBe(false);
  expect(gate.wants(leads(2), at(102.4))).toBe(false);
  expect(gate.wants(leads(2), at(102.5))).toBe(true);
  gate.open(leads(2));
  expect(gate.wants(leads(2), at(103))).toBe(true);
  expect(gate.wants(follows(undefined, 2), at(104))).toBe(false);
  expect(gate.wants({ isLeader: true, leader: "pi-1", term: undefined }, at(105))).toBe(false);
});

test("a new connection subscribes immediately in the same term, but in another term only once waiting messages have arrived", () => {
  const gate = new SiteCommandGate();
  gate.begin(at(0));
  gate.wants(leads(2), at(0));
  expect(gate.wants(leads(2), at(3))).toBe(true);
  gate.open(leads(2));
  gate.begin(at(50));
  expect(gate.wants(leads(2), at(50))).toBe(true);
  expect(gate.decide(leads(2), "pi-1")).toBe("take");
  gate.wants(leads(4), at(60));
  gate.begin(at(70));
  expect(gate.wants(leads(4), at(70))).toBe(false);
  expect(gate.wants(leads(4), at(72.5))).toBe(true);
});

test.each([
  ["the board leads, and was subscribed in this term before", 2, leads(2), "take"],
  ["the board leads again, and another board may have executed the message in between", 2, leads(4), "late"],
  ["the board leads for the first time", undefined, leads(2), "late"],
  ["another board leads, which received the message or will receive it", 2, follows("pi-2", 3), "ignore"],
  ["no leader is known", 2, follows(undefined, 2), "take"],
  ["the board's name is on the Lease although its term has ended", 2, follows("pi-1", 2), "take"],
] as const)("a waiting message from the broker, if %s", (_, listened, standing, hearing) => {
  const gate = new SiteCommandGate();
  if (listened !== undefined) gate.open(leads(listened));
  gate.begin(at(10));
  expect(gate.decide(standing, "pi-1")).toBe(hearing);
});

test("a board whose term has ended refuses messages that still arrive, regardless of which board leads", () => {
  const gate = new SiteCommandGate();
  gate.begin(at(0));
  gate.open(leads(2));
  expect(gate.decide(follows("pi-2", 3), "pi-1")).toBe("take");
});
