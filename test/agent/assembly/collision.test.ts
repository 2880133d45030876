import { expect, test } from "vitest";
import { collisionProblems, isLedByCopy } from "../../../agent/assembly/collision.ts";
import { at } from "../../support/site-status.ts";

const follower = {
  role: "follower",
  identity: "pi-3_b",
  holder: "pi-3_a",
  since: at(0),
  leaseDuration: 60_000,
  namesake: false,
} as const;

/** A follower that saw the holder first at 0 s, and the Lease change last at `changed`, at the time `now` (seconds). */
const seen = (changed: number, now: number, changes: object = {}): boolean =>
  isLedByCopy({ ...follower, leaseAge: (now - changed) * 1000, ...changes }, "pi-3", at(now));

test("a board finds that a copy leads when the Lease still changes a duration after it was first seen", () => {
  expect(seen(0, 300)).toBe(false);
  expect(seen(59, 70)).toBe(false);
  expect(seen(60, 70)).toBe(true);
  expect(seen(500, 620)).toBe(true);
  // The copy has stopped, so another board may lead soon.
  expect(seen(500, 621)).toBe(false);
});

test("another board, this process, a free Lease and a leader's own term are not copies", () => {
  expect(seen(60, 70, { holder: "pi-30_a" })).toBe(false);
  expect(seen(60, 70, { holder: "pi-3_b" })).toBe(false);
  expect(seen(60, 70, { holder: undefined })).toBe(false);
  expect(seen(60, 70, { role: "leader" })).toBe(false);
  expect(seen(60, 70, { since: undefined })).toBe(false);
});

test("a copy that leads is reported once, with both identities", () => {
  const election = { ...follower, leaseAge: 5000 };
  expect(collisionProblems(election, "pi-3", at(5))).toEqual([]);
  expect(collisionProblems(election, "pi-3", at(100))).toMatchObject([
    { type: "IdentityCollision", severity: "critical", message: expect.stringMatching(/pi-3_a.* pi-3_b/) },
  ]);
  expect(collisionProblems({ ...election, namesake: true }, "pi-3", at(100))).toMatchObject([
    { message: expect.stringContaining("under this agent's identity, pi-3_b") },
  ]);
});
