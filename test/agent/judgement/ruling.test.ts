import { describe, expect, test } from "vitest";
import type { Because, GateFacts, Grounds, SilenceFacts } from "../../../agent/decisions/grounds.ts";
import { decideAgain, rulingOf } from "../../../agent/judgement/ruling.ts";

/** Silent for long, and proven so. */
const silence: SilenceFacts = { verdict: "unproven", rule: "silent", silentMs: 60_000, graceMs: 40_000, provenMs: 0 };
const alive: SilenceFacts = { ...silence, verdict: "alive", silentMs: 1000 };
const dead: SilenceFacts = { ...silence, verdict: "dead", confirmedBy: "ops:jo" };
const unreachable = "node.kubernetes.io/unreachable";
const notReady = "node.kubernetes.io/not-ready";

const ruled = (act: Grounds["act"], because: Because, gate: GateFacts = {}) =>
  rulingOf({ act, board: "pi-3", because, gate: { policy: "evidence", ...gate } });

describe("the marking of a board", () => {
  const mark = (facts: SilenceFacts, gate: GateFacts) => ruled("board-marked", { kind: "silence", ...facts }, gate);

  test.each([
    ["silent, and ready until now", silence, { ready: "True" }, "act"],
    ["silent, without a Ready condition", silence, {}, "act"],
    ["silent, and already marked", silence, { ready: "Unknown" }, "not-due"],
    ["cut off", { ...silence, verdict: "cut-off" }, { ready: "True" }, "act"],
    ["alive", alive, { ready: "True" }, "not-due"],
  ] as const)("that is %s", (_what, facts, gate, ruling) => {
    expect(mark(facts, gate)).toBe(ruling);
  });

  test("is caused only by its silence", () => {
    expect(ruled("board-marked", { kind: "reported" }, { ready: "False" })).toBe("not-due");
  });
});

describe("the taint of a board", () => {
  const taint = (gate: GateFacts, facts: SilenceFacts = silence) =>
    ruled("board-tainted", { kind: "silence", ...facts }, { ready: "Unknown", rate: 0.1, ...gate });

  test.each([
    ["with a token", { level: 1 }, "act"],
    ["with a token that lacks a rounding error", { level: 1 - 1e-10 }, "act"],
    ["without a whole token", { level: 0.99 }, "not-due"],
    ["when it is not its turn", {}, "not-due"],
    ["in a zone without a rate", { rate: 0 }, "zone"],
    ["in a zone without a rate, by a token left from before", { rate: 0, level: 1 }, "act"],
    ["in a zone without a rate, in exchange for the other taint", { rate: 0, free: "swap" }, "act"],
    ["in a zone without a rate, by a turn that is paid", { rate: 0, free: "paid" }, "act"],
    ["under a freeze", { level: 1, frozenMs: 1 }, "freeze"],
    ["at the end of a freeze", { level: 1, frozenMs: 0 }, "act"],
    ["while the watches are not live", { level: 1, notLive: true }, "not-live"],
    ["in the quarantine", { level: 1, quarantine: true }, "quarantine"],
    ["under a freeze while the watches are not live", { frozenMs: 9, notLive: true, quarantine: true }, "freeze"],
    ["in the quarantine while the watches are not live", { notLive: true, quarantine: true, rate: 0 }, "not-live"],
    ["whose kubelet has reported since", { level: 1, ready: "True" }, "not-due"],
    ["while the safety valve is shut", { level: 1, valve: "acts" }, "valve"],
    ["while so many boards are tainted that it is shut", { free: "paid", valve: "boards" }, "valve"],
    ["in exchange for the other taint while it is shut", { free: "swap", valve: "unknown" }, "valve"],
    // Releasing the valve would change nothing.
    ["without a token while it is shut, in a zone without a rate", { rate: 0, valve: "acts" }, "zone"],
    [
      "by a token left from before in a zone without a rate, while it is shut",
      { rate: 0, level: 1, valve: "acts" },
      "valve",
    ],
    ["of a confirmed dead board while it is shut", { level: 1, valve: "acts", confirmed: "silent" }, "act"],
    [
      "of a confirmed dead board that was heard since, while it is shut",
      { level: 1, valve: "acts", confirmed: "heard" },
      "valve",
    ],
    ["of a confirmed dead board under a freeze", { level: 1, frozenMs: 1, confirmed: "silent" }, "freeze"],
    ["in the quarantine while it is shut", { level: 1, quarantine: true, valve: "acts" }, "quarantine"],
  ] as const)("%s", (_when, gate, ruling) => {
    expect(taint(gate)).toBe(ruling);
  });

  test("depends on whether the policy permits it for the verdict", () => {
    expect([taint({ level: 1 }, alive), taint({ level: 1, policy: "kubernetes" }, alive)]).toEqual(["verdict", "act"]);
    expect(taint({ level: 1, policy: "kubernetes" }, { ...silence, verdict: "unknown" })).toBe("verdict");
  });

  test("for its kubelet's report is held by a freeze, but not by the verdict or the link", () => {
    const reported = (gate: GateFacts) => ruled("board-tainted", { kind: "reported" }, { ready: "False", ...gate });
    expect(reported({ level: 1, notLive: true, quarantine: true })).toBe("act");
    expect(reported({ level: 1, valve: "acts" })).toBe("act");
    expect(reported({ level: 1, frozenMs: 1000 })).toBe("freeze");
    expect(reported({ level: 1, ready: "Unknown" })).toBe("not-due");
  });
});

test("a board that an operator confirmed dead is tainted even while the safety valve is shut", () => {
  const because = { kind: "silence", ...dead } as const;
  expect(ruled("board-tainted", because, { ready: "Unknown", level: 1, valve: "acts" })).toBe("act");
});

describe("the eviction of a pod", () => {
  const evict = (
    gate: GateFacts,
    {
      taints = [unreachable],
      ranMs = 300_000,
      facts = silence,
    }: { readonly taints?: readonly string[]; readonly ranMs?: number; readonly facts?: SilenceFacts | undefined } = {},
  ) =>
    ruled(
      "pod-evicted",
      { kind: "taints", taints, toleratedMs: 300_000, ranMs, ...(facts && { silence: facts }) },
      { ready: "Unknown", ...gate },
    );

  test.each([
    ["a millisecond before the end of its window", {}, { ranMs: 299_999 }, "not-due"],
    ["at the end of its window", {}, {}, "act"],
    ["under a freeze", { frozenMs: 1 }, {}, "freeze"],
    ["before its board's turn after a freeze", { turnInMs: 1 }, {}, "turn"],
    ["at its board's turn", { turnInMs: 0 }, {}, "act"],
    ["while the watches are not live", { notLive: true }, {}, "not-live"],
    ["in the quarantine", { quarantine: true }, {}, "quarantine"],
    ["from a board that sends heartbeats again", {}, { facts: alive }, "verdict"],
    ["from such a board under policy kubernetes", { policy: "kubernetes" }, { facts: alive }, "act"],
    ["if no board is judged", {}, { facts: undefined }, "act"],
    ["if the cache may be outdated", { doubtful: true }, {}, "not-due"],
    ["under a freeze, if the cache may be outdated", { doubtful: true, frozenMs: 1 }, {}, "freeze"],
    ["while the safety valve is shut", { valve: "acts" }, {}, "valve"],
    ["while it is shut, if no board is judged", { valve: "unknown" }, { facts: undefined }, "valve"],
    ["while it is shut, if the cache may be outdated", { valve: "acts", doubtful: true }, {}, "valve"],
    ["while it is shut, if no kubelet has started the pod", { valve: "acts", newPod: true }, {}, "act"],
    ["from a confirmed dead board while it is shut", { valve: "acts" }, { facts: dead }, "act"],
    ["from a board that sends heartbeats again while it is shut", { valve: "acts" }, { facts: alive }, "verdict"],
  ] as const)("%s", (_when, gate, window, ruling) => {
    expect(evict(gate, window)).toBe(ruling);
  });

  test("for an operator's taint happens regardless of the verdict, the link, freezes and the safety valve", () => {
    const gate = { notLive: true, quarantine: true, frozenMs: 1000, valve: "acts" } as const;
    expect(evict(gate, { taints: ["ops/drain"], facts: alive })).toBe("act");
    expect(evict(gate, { taints: [unreachable, "ops/drain"], facts: alive })).toBe("act");
  });

  const outOfService = "node.kubernetes.io/out-of-service";

  test.each([
    ["silent since", { confirmed: "silent" }, {}, "act"],
    ["heard since", { confirmed: "heard" }, {}, "verdict"],
    ["silent since, under a freeze and a shut valve", { confirmed: "silent", frozenMs: 9, valve: "acts" }, {}, "act"],
    ["silent since, while the watches are not live", { confirmed: "silent", notLive: true }, {}, "not-live"],
    ["silent since, in the quarantine", { confirmed: "silent", quarantine: true }, {}, "quarantine"],
    ["silent since, but not for a grace period of ours", { confirmed: "silent" }, { facts: alive }, "verdict"],
    ["the same under policy kubernetes", { confirmed: "silent", policy: "kubernetes" }, { facts: alive }, "verdict"],
    ["silent since, and not read yet", { confirmed: "silent", doubtful: true }, {}, "not-due"],
    ["silent since, where no board is judged", { confirmed: "silent" }, { facts: undefined }, "act"],
    ["heard since, where no board is judged", { confirmed: "heard" }, { facts: undefined }, "verdict"],
    ["heard since, within the window", { confirmed: "heard" }, { ranMs: 0 }, "not-due"],
  ] as const)("from a board that an operator confirmed dead, and that is %s", (_when, gate, window, ruling) => {
    for (const taints of [[outOfService], [unreachable, outOfService]])
      expect(evict(gate, { ...window, taints })).toBe(ruling);
  });

  test("for a taint of another client too whatever was heard of a confirmed board", () => {
    expect(evict({ confirmed: "heard" }, { taints: [outOfService, "ops/drain"], facts: alive })).toBe("act");
    expect(evict({}, { taints: [outOfService], facts: alive })).toBe("act");
  });

  test.each([
    ["while the link is up", {}, "act"],
    ["under a freeze", { frozenMs: 1 }, "freeze"],
    ["while the safety valve is shut: it is no verdict of ours", { valve: "acts" }, "act"],
    ["while the watches are not live", { notLive: true }, "not-live"],
    ["while its kubelet may be about to withdraw the report", { awaited: true }, "report"],
    ["in the quarantine of other boards, after its kubelet has reported", { quarantine: true }, "act"],
    ["while the watches are not live, though it is awaited", { notLive: true, awaited: true }, "not-live"],
    ["where the cache of Nodes may be late", { doubtful: true }, "not-due"],
    ["that has fallen silent since, while the watches are not live", { ready: "Unknown", notLive: true }, "not-live"],
    ["whose Node is gone, while the safety valve is shut", { nodeDeleted: true, valve: "acts" }, "valve"],
  ] as const)("by its kubelet's report %s", (_when, gate, ruling) => {
    for (const facts of [silence, alive, undefined])
      if (facts !== alive || !("nodeDeleted" in gate))
        expect(evict({ ready: "False", ...gate }, { taints: [notReady], facts })).toBe(ruling);
  });

  test.each([
    [unreachable, {}, "verdict"],
    [notReady, {}, "verdict"],
    [notReady, { former: true }, "verdict"],
    [unreachable, { policy: "kubernetes" }, "act"],
    [notReady, { policy: "kubernetes" }, "act"],
    [unreachable, { policy: "kubernetes", former: true }, "verdict"],
    [notReady, { policy: "kubernetes", former: true }, "verdict"],
  ] as const)("for %s while its board is ready, with %o: %s", (taint, gate, ruling) => {
    expect(evict({ ready: "True", ...gate }, { taints: [taint], facts: alive })).toBe(ruling);
    // Without a judge, nothing shows that the report is not old.
    expect(evict({ ready: "True", ...gate }, { taints: [taint], facts: undefined })).toBe("act");
  });
});

test("a daemon pod is replaced on a board that is Unknown, if nothing holds harmful acts", () => {
  const replace = (gate: GateFacts, facts: SilenceFacts = silence) =>
    ruled("pod-replaced", { kind: "silence", ...facts }, { ready: "Unknown", ...gate });
  expect([replace({}), replace({ frozenMs: 1 }), replace({}, alive), replace({ ready: "True" })]).toEqual([
    "act",
    "freeze",
    "verdict",
    "not-due",
  ]);
});

test("a pod is collected if its Node is gone or its board is out of service", () => {
  expect(ruled("pod-collected", { kind: "node-deleted" })).toBe("act");
  expect(ruled("pod-collected", { kind: "out-of-service" })).toBe("act");
  expect(ruled("pod-collected", { kind: "reported" })).toBe("not-due");
});

test("a pod of a board that an operator confirmed dead is collected only if the board is silent since", () => {
  const collect = (confirmed: "silent" | "heard", facts?: SilenceFacts) =>
    ruled("pod-collected", { kind: "out-of-service", ...(facts && { silence: facts }) }, { confirmed });
  expect([collect("silent", silence), collect("silent"), collect("silent", alive), collect("heard", silence)]).toEqual([
    "act",
    "act",
    "verdict",
    "verdict",
  ]);
});

test("a pod without a Node is kept while the safety valve is shut, if a kubelet has started it", () => {
  expect(ruled("pod-collected", { kind: "node-deleted" }, { valve: "acts" })).toBe("valve");
  expect(ruled("pod-collected", { kind: "node-deleted" }, { valve: "acts", newPod: true })).toBe("act");
  expect(ruled("pod-collected", { kind: "out-of-service" }, { valve: "acts" })).toBe("act");
});

describe("a decision that is made again", () => {
  const taint = (facts: SilenceFacts): Grounds => ({
    act: "board-tainted",
    board: "pi-3",
    because: { kind: "silence", ...facts },
    gate: { policy: "evidence", ready: "Unknown", rate: 0.1, level: 1 },
  });

  test.each([
    ["unproven", {}, "act"],
    ["alive", { silentMs: 40_000 }, "verdict"],
    ["unknown", { provenMs: 20_000 }, "verdict"],
    ["unknown", { notLive: true }, "verdict"],
    ["cut-off", { own: true }, "verdict"],
    ["dead", { confirmedBy: "ops:jo" }, "act"],
    ["cut-off", { heard: "kubelet ok" }, "verdict"],
    ["unmanaged", { heard: "kubelet down" }, "verdict"],
    ["lost", { heard: "kubelet down too long" }, "act"],
    ["lost", { asked: { questions: 5, overMs: 30_000, calibrated: true }, holdMs: 900_000 }, "act"],
    // As a version recorded it that did not keep whether the board had answered.
    ["lost", { asked: { questions: 5, overMs: 30_000, calibrated: true, answeredMs: 45_000 }, holdMs: 900_000 }, "act"],
    [
      "unproven",
      {
        asked: { questions: 5, overMs: 30_000, calibrated: true, answeredMs: 45_000, answered: true },
        holdMs: 900_000,
      },
      "verdict",
    ],
    ["unproven", { asked: { questions: 5, overMs: 30_000 }, holdMs: 900_000 }, "verdict"],
    ["unproven", { asked: { questions: 5, overMs: 30_000 }, holdMs: 0 }, "act"],
    ["unproven", { asked: { questions: 0, overMs: 0 }, holdMs: 900_000, earlierMs: 900_000 }, "act"],
  ] as const)("derives the verdict %s from the evidence %o, regardless of the record", (verdict, evidence, ruling) => {
    expect(decideAgain(taint({ ...silence, verdict: "self-isolated", ...evidence }))).toMatchObject({
      verdict,
      ruling,
    });
  });

  test("keeps a verdict that does not rest on evidence", () => {
    const unjudged = { verdict: "alive", rule: "the board has not been checked yet" } as const;
    const eviction: Grounds = {
      act: "pod-evicted",
      board: "pi-3",
      because: { kind: "taints", taints: [unreachable], toleratedMs: 0, ranMs: 0, silence: unjudged },
      gate: { policy: "evidence" },
    };
    expect(decideAgain(eviction)).toEqual({ ruling: "verdict", ...unjudged });
  });
});
