import { expect, test } from "vitest";
import { isSilent, isWitnessed, permitsHarm, verdictOf } from "../../../agent/judgement/verdict.ts";

const none = undefined;

test.each([
  [{ live: true, overdue: false, proven: false, own: false, heard: none }, "alive", false, true],
  [{ live: true, overdue: true, proven: false, own: false, heard: none }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true, own: false, heard: none }, "unproven", true, true],
  [{ live: false, overdue: false, proven: true, own: false, heard: none }, "unknown", false, false],
  [{ live: false, overdue: true, proven: true, own: false, heard: none }, "unknown", false, false],
  [{ live: true, overdue: false, proven: true, own: true, heard: none }, "alive", false, true],
  [{ live: true, overdue: true, proven: false, own: true, heard: none }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true, own: true, heard: none }, "cut-off", false, false],
  [{ live: false, overdue: true, proven: true, own: true, heard: none }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true, own: false, heard: "kubelet ok" }, "cut-off", false, false],
  [{ live: true, overdue: true, proven: true, own: false, heard: "kubelet unknown" }, "cut-off", false, false],
  [{ live: true, overdue: true, proven: true, own: false, heard: "kubelet down" }, "unmanaged", false, false],
  [{ live: true, overdue: true, proven: true, own: false, heard: "kubelet down too long" }, "unproven", true, true],
  [{ live: true, overdue: true, proven: true, own: true, heard: "kubelet down too long" }, "cut-off", false, false],
  [{ live: true, overdue: false, proven: true, own: false, heard: "kubelet down too long" }, "alive", false, true],
  [{ live: true, overdue: true, proven: false, own: false, heard: "kubelet ok" }, "unknown", false, false],
  [{ live: false, overdue: true, proven: true, own: false, heard: "kubelet ok" }, "unknown", false, false],
] as const)("%o is %s", (evidence, verdict, byEvidence, byKubernetes) => {
  const given = verdictOf(evidence);
  expect(given.verdict).toBe(verdict);
  expect(given.rule).not.toBe("");
  expect([permitsHarm(given, "evidence"), permitsHarm(given, "kubernetes")]).toEqual([byEvidence, byKubernetes]);
});

test.each([
  ["dead", true],
  ["cut-off", false],
  ["unmanaged", false],
  ["self-isolated", false],
] as const)("verdicts that only witnesses can give: %s permits harm: %s", (verdict, permitted) => {
  expect(permitsHarm({ verdict, rule: "" }, "evidence")).toBe(permitted);
});

test.each([
  ["alive", false],
  ["unknown", false],
  ["unproven", true],
  ["cut-off", true],
  ["unmanaged", true],
  ["dead", true],
  ["self-isolated", false],
] as const)("a board that is %s gets Unknown conditions: %s", (verdict, silent) => {
  expect(isSilent({ verdict, rule: "" })).toBe(silent);
});

test.each([
  ["cut-off", true],
  ["unmanaged", true],
  ["unproven", false],
  ["dead", false],
  ["alive", false],
  ["unknown", false],
] as const)("a witness shows that a board runs that is %s: %s", (verdict, witnessed) => {
  expect(isWitnessed({ verdict, rule: "" })).toBe(witnessed);
});
