import { expect, test } from "vitest";
import { dottedPath, predicateOf, read } from "../../../agent/base/schema.ts";
import type { DecisionRecord } from "../../../agent/decisions/decision-record.ts";
import { caseOf, recordedCase, replayCase } from "../../../agent/judgement/recorded-case.ts";

const moment = { at: "2026-11-20T10:51:37.000Z", boot: "b1", mono: 1000 };
const tainted: DecisionRecord = {
  v: 1,
  act: "board-tainted",
  on: { kind: "Node", name: "pi-3", uid: "n3" },
  board: "pi-3",
  by: "node-lifecycle",
  leader: "edge-02",
  term: 3,
  because: {
    kind: "silence",
    verdict: "unproven",
    rule: "silent past its grace period, and no other source can say whether it runs",
    silentMs: 42_000,
    graceMs: 40_000,
    provenMs: 0,
    zone: { name: "plant7-a", state: "normal" },
  },
  gate: { policy: "evidence", ready: "Unknown", rate: 0.1, level: 1 },
  state: "done",
  first: moment,
  last: moment,
  restraints: [],
  failures: 0,
};

const exported = (record: DecisionRecord) => caseOf(record, { id: "node/pi-3", note: "a taint" });

/** The record's case as another machine reads it. */
function taken(record: DecisionRecord) {
  const found = read(recordedCase, JSON.parse(JSON.stringify(exported(record))));
  if ("problem" in found) throw new Error(predicateOf(found.problem));
  return found.value;
}

test("a case contains the facts of the decision, not the verdict that follows from them, and leads to the same decision as the record", () => {
  expect(exported(tainted)).toEqual({
    id: "node/pi-3",
    family: "decision",
    note: "a taint",
    given: {
      act: "board-tainted",
      board: "pi-3",
      because: {
        kind: "silence",
        silentMs: 42_000,
        graceMs: 40_000,
        provenMs: 0,
        zone: { name: "plant7-a", state: "normal" },
      },
      gate: { policy: "evidence", ready: "Unknown", rate: 0.1, level: 1 },
    },
    expect: { ruling: "act", verdict: "unproven" },
  });
  expect(replayCase(taken(tainted))).toEqual({
    decision: {
      ruling: "act",
      verdict: "unproven",
      rule: "silent past its grace period, and no other source can say whether it runs",
    },
    differences: [],
  });
});

test.each([
  ["held", "freeze"],
  ["lapsed", "freeze"],
  ["failed", "act"],
] as const)("a record that is %s leads to the decision %s again, from the facts of that decision", (state, ruling) => {
  const freeze = { why: "freeze", scope: "site", by: "ops:jo", leftMs: 1000, since: moment } as const;
  const restraints = [{ why: "quarantine", since: moment } as const, freeze];
  const frozen = { ...tainted.gate, frozenMs: 1000 };
  const record = { ...tainted, state, restraints, gate: ruling === "act" ? (tainted.gate ?? {}) : frozen };
  expect(exported(record)?.expect.ruling).toBe(ruling);
  expect(replayCase(taken(record)).differences).toEqual([]);
});

test.each([
  ["of a taint", tainted, { valve: "boards" }],
  [
    "of an eviction",
    {
      ...tainted,
      act: "pod-evicted",
      because: { kind: "taints", taints: ["node.kubernetes.io/unreachable"], toleratedMs: 0, ranMs: 0 },
    },
    { valve: "acts" },
  ],
  [
    "of a pod without a Node",
    { ...tainted, act: "pod-collected", because: { kind: "node-deleted" } },
    { valve: "unknown" },
  ],
] as const)("a record %s that the safety valve holds is held again, but done if it is open", (_of, record, shut) => {
  const restraint = { why: "valve", of: shut.valve, count: 10, limit: 10, since: moment } as const;
  const held = { ...record, state: "held", restraints: [restraint], gate: { ...tainted.gate, ...shut } } as const;
  expect(exported(held)?.expect.ruling).toBe("valve");
  expect(replayCase(taken(held)).differences).toEqual([]);
  const done = { ...held, state: "done", gate: tainted.gate ?? {} } as const;
  expect(replayCase(taken(done)).differences).toEqual([]);
});

test("changed facts lead to another decision, and the differences are named", () => {
  const { given, ...envelope } = taken(tainted);
  const because = { ...given.because, silentMs: 40_000 } as typeof given.because;
  expect(replayCase({ ...envelope, given: { ...given, because } }).differences).toEqual([
    { member: "ruling", expected: "act", found: "verdict" },
    { member: "verdict", expected: "unproven", found: "alive" },
  ]);
});

test("a record of an earlier version, which did not keep all facts, cannot become a case", () => {
  const { gate: _, ...earlier } = tainted;
  expect(exported(earlier)).toBeUndefined();
});

const { given } = exported(tainted) ?? {};
const whole = { id: "x", family: "decision", given };

test("a case may come without note and expectation", () => {
  expect(read(recordedCase, whole)).toMatchObject({ value: { id: "x" } });
});

test.each([
  ["another family", { ...whole, family: "NH" }, "family must be decision"],
  ["nothing given", { id: "x", family: "decision" }, "given is missing"],
  ["an unknown member", { ...whole, steps: [] }, "steps is unknown"],
  ["an unknown act", { ...whole, given: { ...given, act: "node-drained" } }, "given.act must be one of"],
  [
    "half of the evidence",
    { ...whole, given: { ...given, because: { kind: "silence", silentMs: 1 } } },
    "graceMs is missing",
  ],
  ["no evidence and no verdict", { ...whole, given: { ...given, because: { kind: "silence" } } }, "verdict is missing"],
  [
    "a window without its length",
    { ...whole, given: { ...given, because: { kind: "taints", taints: [], ranMs: 1 } } },
    "toleratedMs is missing",
  ],
  [
    "a negative age",
    { ...whole, given: { ...given, because: { kind: "silence", silentMs: -1, graceMs: 1 } } },
    "given.because.silentMs must be",
  ],
  [
    "a fact of a later version",
    { ...whole, given: { ...given, gate: { witnesses: 2 } } },
    "given.gate.witnesses is unknown",
  ],
  ["a text of megabytes", { ...whole, id: "x".repeat(2_000_000) }, "id must have"],
])("a file with %s is refused", (_what, value, problem) => {
  const found = read(recordedCase, value);
  expect("problem" in found && `${dottedPath(found.problem.path)} ${predicateOf(found.problem)}`).toContain(problem);
});
