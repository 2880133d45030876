import { expect, test } from "vitest";
import { isSilent, permitsHarm, verdictOf } from "../../../agent/judgement/verdict.ts";

test.each([
  [{ live: true, overdue: false, proven: false, own: false }, "alive", false, true],
  [{ live: true, overdue: true, proven: false, own: false }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true, own: false }, "unproven", true, true],
  [{ live: false, overdue: false, proven: true, own: false }, "unknown", false, false],
  [{ live: false, overdue: true, proven: true, own: false }, "unknown", false, false],
  [{ live: true, overdue: false, proven: true, own: true }, "alive", false, true],
  [{ live: true, overdue: true, proven: false, own: true }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true, own: true }, "cut-off", false, false],
  [{ live: false, overdue: true, proven: true, own: true }, "unknown", false, false],
] as const)("the facts %o give the verdict %s", (evidence, verdict, byEvidence, byKubernetes) => {
  const given = verdictOf(evidence);
  expect(given.verdict).toBe(verdict);
  expect(given.rule).not.toBe("");
  expect([permitsHarm(given, "evidence"), permitsHarm(given, "kubernetes")]).toEqual([byEvidence, byKubernetes]);
});

test.each([
  ["dead", true],
  ["cut-off", false],
  ["self-isolated", false],
] as const)("a verdict that only witnesses can give, %s, permits harm: %s", (verdict, permitted) => {
  expect(permitsHarm({ verdict, rule: "" }, "evidence")).toBe(permitted);
});

test.each([
  ["alive", false],
  ["unknown", false],
  ["unproven", true],
  ["cut-off", true],
  ["dead", true],
  ["self-isolated", false],
] as const)("a board that is %s gets Unknown conditions: %s", (verdict, silent) => {
  expect(isSilent({ verdict, rule: "" })).toBe(silent);
});
