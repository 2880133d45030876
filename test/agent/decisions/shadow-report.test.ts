import { describe, expect, test } from "vitest";
import type { DecisionRecord } from "../../../agent/decisions/decision-record.ts";
import { compareShadow } from "../../../agent/decisions/shadow-report.ts";

const minute = 60_000;
const at = (minutes: number) => ({ at: "", boot: "b1", mono: minutes * minute });
const because = { kind: "taints", taints: [], toleratedMs: 0, ranMs: 0 } as const;

/** What siteward would have done with a pod. */
const would = (name: string, minutes: number, more: Partial<DecisionRecord> = {}): DecisionRecord => ({
  v: 1,
  shadow: true,
  act: "pod-evicted",
  on: { kind: "Pod", namespace: "default", name, uid: `uid-${name}` },
  board: "pi-3",
  by: "taint-eviction",
  leader: "pi-1",
  term: 3,
  because,
  state: "done",
  first: at(minutes),
  last: at(minutes),
  restraints: [],
  failures: 0,
  ...more,
});
const seen = (name: string, minutes: number, more: Partial<DecisionRecord> = {}): DecisionRecord =>
  would(name, minutes, { by: "another program", because: { kind: "seen", verdict: "cut-off", rule: "" }, ...more });

const compared = (...records: readonly DecisionRecord[]) =>
  compareShadow(records, ({ mono }) => mono).map(({ comparison, object, laterMs, would: decided, verdict }) =>
    [
      comparison,
      object.replace("pod/default/", ""),
      ...(laterMs === undefined ? [] : [`${laterMs / minute} min`]),
      decided?.why,
      verdict,
    ]
      .filter((one) => one !== undefined)
      .join(" "),
  );

const quarantine = [{ why: "quarantine", since: at(0) }] as const;
const why = "after an outage, not every board had sent a heartbeat yet";

test("what both did is listed with the time between, what only one of them did as a difference, and those come first", () => {
  expect(
    compared(
      would("both", 1),
      seen("both", 3),
      would("alone", 1),
      seen("theirs", 2),
      would("kept", 1, { state: "held", restraints: quarantine }),
      would("held", 1, { state: "held", restraints: quarantine }),
      seen("held", 2),
      would("vain", 1, { state: "failed", error: "conflict" }),
    ),
  ).toEqual([
    `held here held 1 min ${why}`,
    "others only theirs cut-off",
    "never done alone",
    "would fail vain conflict",
    "both both 2 min",
    `neither kept ${why}`,
  ]);
});

test("an act that was held until others did it has lapsed, and counts as held back", () => {
  expect(compared(would("web", 5, { state: "lapsed", restraints: quarantine }), seen("web", 5))).toEqual([
    `held here web 0 min ${why}`,
  ]);
});

test("a real act that was seen late is compared without a time between, and a pod's deletion however late", () => {
  const late = { because: { kind: "seen", late: true } } as const;
  const mark = { act: "board-marked", on: { kind: "Node", name: "pi-3", uid: "uid-pi-3" } } as const;
  expect(
    compared(
      would("web", 0),
      seen("web", 500, late),
      would("api", 499),
      seen("api", 500, late),
      would("mark", 0, mark),
      seen("mark", 500, { ...mark, ...late }),
    ),
  ).toEqual(["others only node/pi-3", "never done node/pi-3", "both web", "both api"]);
});

test("several stories of one object are each compared with the nearest real act, up to an hour away", () => {
  expect(compared(would("web", 0), seen("web", 1), would("web", 100), seen("web", 98))).toEqual([
    "both web 1 min",
    "both web -2 min",
  ]);
  expect(compared(would("web", 0), seen("web", 50), seen("web", 1))).toEqual([
    "others only web cut-off",
    "both web 1 min",
  ]);
  expect(compared(would("web", 0), seen("web", 60))).toEqual(["both web 60 min"]);
  expect(compared(would("web", 0), seen("web", 61))).toEqual(["others only web cut-off", "never done web"]);
});

test("a real act is set beside the decision next to it, not beside one on a silence that ended before", () => {
  expect(compared(would("web", 0), would("web", 10), seen("web", 11))).toEqual(["never done web", "both web 1 min"]);
});

test("another act or another object of the same name is not the same, and records of acts that were done are left out", () => {
  expect(compared(would("web", 0), seen("web", 1, { act: "pod-collected" }))).toEqual([
    "others only web cut-off",
    "never done web",
  ]);
  const another = { ...would("web", 0).on, uid: "another" };
  expect(compared(would("web", 0), seen("web", 1, { on: another }))).toHaveLength(2);
  const { shadow: _, ...act } = would("web", 0);
  expect(compared(act)).toEqual([]);
});

test("under a compared policy, what siteward held back is a difference with its reason, and what it was faster to do is none", () => {
  const policy = { compared: "kubernetes" } as const;
  const { shadow: _, ...held } = would("web", 2, {
    state: "held",
    restraints: [{ why: "valve", of: "acts", count: 10, limit: 10, since: at(2) }],
  });
  const found = compareShadow(
    [
      would("web", 1, policy),
      held,
      would("both", 1, policy),
      seen("both", 2, policy),
      seen("faster", 2, { ...policy, because: { kind: "seen", verdict: "lost", rule: "" } }),
      seen("alone", 2, policy),
    ],
    ({ mono }) => mono,
  );
  expect(found.map(({ comparison, object }) => `${comparison} ${object.replace("pod/default/", "")}`)).toEqual([
    "others only alone",
    "never done web",
    "both both",
    "both faster",
  ]);
  expect(found.every((one) => one.policy === "kubernetes")).toBe(true);
  expect(found[1]?.heldBecause).toContain("safety valve");
});

test("what siteward did before the compared policy judged the board again counts as done by both", () => {
  const { shadow: _, ...done } = would("web", 2);
  const unjudged = { compared: "kubernetes", because: { kind: "seen", verdict: "alive", rule: "" } } as const;
  const found = compareShadow([done, seen("web", 2, unjudged), seen("by-hand", 2, unjudged)], ({ mono }) => mono);
  expect(found.map(({ comparison, object }) => `${comparison} ${object.replace("pod/default/", "")}`)).toEqual([
    "others only by-hand",
    "both web",
  ]);
});

describe("an act that siteward held for long and then did", () => {
  const policy = { compared: "kubernetes" } as const;
  const done = (minutes: number, more: Partial<DecisionRecord> = {}): DecisionRecord => {
    const { shadow: _, ...act } = would("web", minutes, more);
    return act;
  };
  const valve = { why: "valve", of: "acts", count: 10, limit: 10, since: at(0) } as const;
  const freeze = { why: "freeze", scope: "site", by: "anna", leftMs: minute } as const;
  const unjudged = { ...policy, because: { kind: "seen", verdict: "alive", rule: "" } } as const;
  const lines = (...records: readonly DecisionRecord[]) =>
    compareShadow(records, ({ mono }) => mono).map(({ comparison, laterMs = 0, verdict, heldBecause }) =>
      [comparison, `${laterMs / minute} min`, verdict, heldBecause].filter(Boolean).join(", "),
    );

  test.each([30, 59, 61, 180])("is one line with what held it, %d minutes after the compared policy", (minutes) => {
    const act = done(minutes, { first: at(0), restraints: [valve] });
    const held = expect.stringMatching(`^both, ${minutes} min, .*safety valve`);
    expect(lines(would("web", 0, policy), act, seen("web", minutes, unjudged))).toEqual([held]);
    // Its deletion was not seen.
    expect(lines(would("web", 0, policy), act)).toEqual([held]);
  });

  test("is no difference if the compared policy found it done, and its verdict then is not told", () => {
    const act = done(120, { first: at(0), restraints: [valve] });
    expect(lines(act, seen("web", 120, unjudged))).toEqual(["both, 0 min"]);
    const lost = { ...policy, because: { kind: "seen", verdict: "lost", rule: "" } } as const;
    expect(lines(act, seen("web", 120, lost))).toEqual(["both, 0 min, lost"]);
  });

  test("was held for the reason in force when the compared policy decided, however long after the hold began", () => {
    const restraints = [valve, { ...freeze, since: at(100) }];
    const held = done(0, { state: "held", restraints });
    expect(lines(would("web", 90, policy), held)).toEqual([expect.stringContaining("safety valve")]);
    expect(lines(would("web", 101, policy), held)).toEqual([expect.stringContaining("frozen")]);
    // In another term it may have ended.
    expect(lines(would("web", 90, { ...policy, term: 4 }), held)).toEqual(["never done, 0 min"]);
    expect(lines(would("web", 5, policy), done(4, { first: at(0), restraints }))).toEqual(["both, -1 min"]);
  });

  test("is reported once if the term ends in between, and the compared policy evicts the pod again", () => {
    const act = done(30, { first: at(11), term: 4, restraints: [{ ...valve, since: at(11) }] });
    const again = would("web", 12, { ...policy, term: 4 });
    const before = done(0, { state: "held", restraints: [valve] });
    expect(lines(would("web", 1, policy), again, before, act, seen("web", 30, { ...unjudged, term: 4 }))).toEqual([
      expect.stringMatching("^both, 29 min, .*safety valve"),
    ]);
    expect(lines(again, would("web", 1, policy), before)).toEqual([expect.stringMatching("^never done, .*valve")]);
  });

  test("is not what another program did in place of a controller in shadow mode", () => {
    expect(lines(would("web", 0), done(1))).toEqual(["never done, 0 min"]);
  });
});
