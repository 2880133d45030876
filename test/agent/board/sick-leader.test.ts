import { expect, test } from "vitest";
import {
  longestOf,
  reasonNotToStand,
  reasonOfBrokenTerms,
  reasonToStepDown,
} from "../../../agent/board/sick-leader.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });
const sickness = { why: "undervolted", since: at(100) };
const peer = (standby: string | undefined, isReady = true) => ({ name: "pi-2", isReady, standby });
const sickFor = 60_000;

test.each([
  ["is well", undefined, [peer("ready")], 1000, false],
  ["is sick for a moment", sickness, [peer("ready")], 159, false],
  ["is sick for long enough", sickness, [peer("ready")], 160, true],
  ["is alone", sickness, [], 1000, false],
  ["is alone except for a board that is not ready", sickness, [peer("ready", false)], 1000, false],
  ["is alone except for an unwell board", sickness, [peer("unwell")], 1000, false],
  ["is alone except for a board whose agent was stopped", sickness, [peer("stopped")], 1000, false],
  ["is alone except for a board that never ran an agent", sickness, [peer(undefined)], 1000, false],
  ["has one standby among several boards", sickness, [peer(undefined), peer("ready")], 1000, true],
])("a leader that %s: does it step down?", (_, ill, peers, now, does) => {
  const reason = reasonToStepDown(ill, peers, { now: at(now), sickFor });
  expect(reason !== undefined).toBe(does);
  if (reason) expect(reason).toMatch(/^undervolted for .*, and pi-2 is a standby$/);
});

test("of several sicknesses, the one that has lasted longest counts", () => {
  const [late, early] = [{ why: "isolated", since: at(200) }, sickness];
  expect(longestOf([undefined, undefined])).toBeUndefined();
  for (const all of [
    [late, undefined, early],
    [early, late],
    [undefined, early],
  ])
    expect(longestOf(all)).toBe(early);
  expect(longestOf([early, { ...late, since: early.since }])).toBe(early);
});

test("an unwell board leaves the Lease to others for a while, and takes it if no other board has taken it", () => {
  const patience = 120_000;
  expect(reasonNotToStand(undefined, { leaderlessFor: 0, patience })).toBeUndefined();
  expect(reasonNotToStand("undervolted", { leaderlessFor: 0, patience })).toBe("undervolted");
  expect(reasonNotToStand("undervolted", { leaderlessFor: 119_999, patience })).toBe("undervolted");
  expect(reasonNotToStand("undervolted", { leaderlessFor: 120_000, patience })).toBeUndefined();
});

test.each([
  [0, false],
  [1, false],
  [2, false],
  [3, true],
  [40, true],
])("a board whose last %i terms ended abruptly: is it unwell?", (count, isUnwell) => {
  const reason = reasonOfBrokenTerms(count);
  expect(reason).toEqual(isUnwell ? `its last ${count} terms ended with a crash or a power cut within 5m` : undefined);
});
