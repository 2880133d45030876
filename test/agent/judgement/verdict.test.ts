import { expect, test } from "vitest";
import { permitsHarm, verdictOf } from "../../../agent/judgement/verdict.ts";

test.each([
  [{ live: true, overdue: false, proven: false }, "alive", false, true],
  [{ live: true, overdue: true, proven: false }, "unknown", false, false],
  [{ live: true, overdue: true, proven: true }, "unproven", true, true],
  [{ live: false, overdue: false, proven: true }, "unknown", false, false],
  [{ live: false, overdue: true, proven: true }, "unknown", false, false],
] as const)("%o is %s", (evidence, verdict, byEvidence, byKubernetes) => {
  const given = verdictOf(evidence);
  expect(given.verdict).toBe(verdict);
  expect(given.rule).not.toBe("");
  expect([permitsHarm(given, "evidence"), permitsHarm(given, "kubernetes")]).toEqual([byEvidence, byKubernetes]);
});

test.each([
  ["dead", true],
  ["cut-off", false],
  ["self-isolated", false],
] as const)("what only witnesses can say: %s permits harm: %s", (verdict, permitted) => {
  expect(permitsHarm({ verdict, rule: "" }, "evidence")).toBe(permitted);
});
