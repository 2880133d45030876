import { expect, test } from "vitest";
import { type ZoneMember, zoneHolds } from "../../../../../agent/controllers/node-lifecycle/zones/zone-hold.ts";
import type { VerdictName } from "../../../../../agent/decisions/grounds.ts";

const [graceMs, hold] = [40_000, 900_000];
const asked = { questions: 7, overMs: 30_000, calibrated: true } as const;

/** A board of zone a that has been silent for so many seconds; a lost one does not answer on the LAN. */
const member = (seconds: number, verdict: VerdictName = "lost", zone = "a"): ZoneMember => ({
  zone,
  verdict: { verdict, rule: "" },
  evidence: {
    live: true,
    silentMs: seconds * 1000,
    graceMs,
    provenMs: 0,
    own: false,
    heard: undefined,
    asked: verdict === "lost" ? asked : undefined,
    confirmedBy: undefined,
  },
});
const heard = member(20, "alive");
const fading = member(20.001, "alive");

test.each([
  ["of one board", [member(60)], undefined],
  ["of two boards that were lost together", [member(60), member(58)], 882_000],
  ["of which one is lost, and the other may be in a moment", [member(60), fading], 919_999],
  ["of which one is lost, and the other is heard", [member(60), heard], undefined],
  ["of three, one of which is heard", [member(60), member(60), heard], undefined],
  ["of three, one of which answers on the LAN", [member(60), member(60), member(60, "cut-off")], undefined],
  ["of three, one of which is the leader's silent own", [member(60), member(60), member(9000, "unmanaged")], undefined],
  ["of three, one of which is unproven", [member(60), member(60), member(60, "unproven")], 880_000],
  ["whose boards were lost two grace periods apart", [member(140), member(60)], 880_000],
  ["whose boards were lost further apart", [member(140.001), member(60)], undefined],
  ["of which one was lost long ago, and two were together", [member(9000), member(70), member(60)], 880_000],
  ["whose hold ends now", [member(945), member(940)], 0],
  ["whose hold is over", [member(945), member(940.001)], undefined],
  ["whose boards nobody can hear on the LAN", [member(60, "unproven"), member(60, "unproven")], undefined],
  ["whose boards an operator confirmed dead", [member(60, "dead"), member(60, "dead")], undefined],
  ["of one board, beside another such zone", [member(60), member(60, "lost", "b")], undefined],
] as const)("a zone %s is held for %s ms", (_what, members, left) => {
  expect(zoneHolds(members, hold).get("a")).toBe(left);
});

test("time under an earlier leader and between outages counts", () => {
  const [first, second] = [member(60), member(60)];
  const earlier = { ...second, evidence: { ...second.evidence, earlierMs: 150_000, missedMs: 50_000 } };
  const both = [{ ...first, evidence: { ...first.evidence, earlierMs: 150_000 } }, earlier];
  expect(zoneHolds(both, hold).get("a")).toBe(730_000);
});

test("the setting 0s holds no zone", () => {
  expect(zoneHolds([member(60), fading], 0).size).toBe(0);
});
