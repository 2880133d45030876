import { expect, test } from "vitest";
import { holdLeft, isSilent, isWitnessed, permitsHarm, verdictOf } from "../../../agent/judgement/verdict.ts";

const grace = { graceMs: 40_000 };
const heard = {
  live: true,
  silentMs: 40_000,
  provenMs: 0,
  own: false,
  heard: undefined,
  confirmedBy: undefined,
  ...grace,
} as const;
const overdue = { ...heard, silentMs: 40_001 };
/** Just longer than the share of a grace period that a board has after having missed others. */
const soon = { ...heard, silentMs: 12_501 };

test.each([
  ["silent for its whole grace period", heard, "alive", false, true],
  ["silent for a millisecond longer", overdue, "unproven", true, true],
  ["overdue, without a proof", { ...overdue, provenMs: undefined }, "unknown", false, false],
  ["overdue, with a proof up to the grace period", { ...overdue, provenMs: 1 }, "unknown", false, false],
  ["long overdue, and proven overdue", { ...overdue, silentMs: 100_000, provenMs: 59_999 }, "unproven", true, true],
  ["out of reach, and in time", { ...heard, live: false }, "unknown", false, false],
  ["out of reach, and overdue", { ...overdue, live: false }, "unknown", false, false],
  ["the leader's own, and in time", { ...heard, own: true }, "alive", false, true],
  ["the leader's own, without a proof", { ...overdue, provenMs: undefined, own: true }, "unknown", false, false],
  ["the leader's own, and overdue", { ...overdue, own: true }, "cut-off", false, false],
  ["the leader's own, and out of reach", { ...overdue, live: false, own: true }, "unknown", false, false],
  ["confirmed dead, and in time", { ...heard, confirmedBy: "ops:jo" }, "alive", false, true],
  [
    "confirmed dead, without a proof",
    { ...overdue, provenMs: undefined, confirmedBy: "ops:jo" },
    "unknown",
    false,
    false,
  ],
  ["confirmed dead, and overdue", { ...overdue, confirmedBy: "ops:jo" }, "dead", true, true],
  ["overdue, and reports that its kubelet runs", { ...overdue, heard: "kubelet ok" }, "cut-off", false, false],
  ["overdue, and does not know its kubelet", { ...overdue, heard: "kubelet unknown" }, "cut-off", false, false],
  ["overdue, and reports that its kubelet is down", { ...overdue, heard: "kubelet down" }, "unmanaged", false, false],
  ["overdue, and has been down too long", { ...overdue, heard: "kubelet down too long" }, "lost", true, true],
  ["overdue, and restarted out of reach of its pods", { ...overdue, heard: "no pods since boot" }, "lost", true, true],
  ["overdue, and restarted without its kubelet", { ...overdue, heard: "no kubelet since boot" }, "lost", true, true],
  [
    "the leader's own, and restarted without its kubelet",
    { ...overdue, own: true, heard: "no kubelet since boot" },
    "cut-off",
    false,
    false,
  ],
  ["in time, and restarted without its kubelet", { ...heard, heard: "no kubelet since boot" }, "alive", false, true],
  ["in time, and reports that its kubelet is down", { ...heard, heard: "kubelet down" }, "alive", false, true],
  [
    "overdue, without a proof, and answers on the LAN",
    { ...overdue, provenMs: undefined, heard: "kubelet ok" },
    "unknown",
    false,
    false,
  ],
  ["out of reach, and answers on the LAN", { ...overdue, live: false, heard: "kubelet ok" }, "unknown", false, false],
  [
    "the leader's own, and down too long",
    { ...overdue, own: true, heard: "kubelet down too long" },
    "cut-off",
    false,
    false,
  ],
  ["confirmed dead, and answers", { ...overdue, heard: "kubelet ok", confirmedBy: "ops:jo" }, "cut-off", false, false],
  [
    "confirmed dead, and has been down too long",
    { ...overdue, heard: "kubelet down too long", confirmedBy: "ops:jo" },
    "dead",
    true,
    true,
  ],
  ["silent for its share, and missed too little", { ...soon, missedMs: 119_999 }, "alive", false, true],
  ["silent for its share, and missed three periods", { ...soon, missedMs: 120_000 }, "unproven", true, true],
  ["silent for less, and missed hours", { ...soon, silentMs: 12_500, missedMs: 9e6 }, "alive", false, true],
  ["silent for its share, proven up to it", { ...soon, provenMs: 1, missedMs: 120_000 }, "unknown", false, false],
  [
    "silent for its share, and missed and confirmed",
    { ...soon, missedMs: 1, confirmedBy: "ops:jo" },
    "dead",
    true,
    true,
  ],
  ["silent for its share, and confirmed", { ...soon, confirmedBy: "ops:jo" }, "alive", false, true],
  [
    "silent for its share, missed hours, and answers on the LAN",
    { ...soon, missedMs: 9e6, heard: "kubelet ok" },
    "cut-off",
    false,
    false,
  ],
  ["the leader's own, and confirmed dead", { ...overdue, own: true, confirmedBy: "ops:jo" }, "cut-off", false, false],
] as const)("the verdict on a board that is %s", (_what, evidence, verdict, byEvidence, byKubernetes) => {
  const given = verdictOf(evidence);
  expect(given.verdict).toBe(verdict);
  expect(given.rule).not.toBe("");
  expect([permitsHarm(given, "evidence"), permitsHarm(given, "kubernetes")]).toEqual([byEvidence, byKubernetes]);
});

/** A board that could be heard before, and left so many questions unanswered, while a control answered. */
const enough = { questions: 5, overMs: 30_000, calibrated: true } as const;
const hold = { ...overdue, holdMs: 900_000 };
const longSilent = { ...hold, silentMs: 940_000 };

test.each([
  ["answers no question, although others do", { ...hold, asked: enough }, "lost", undefined],
  ["answers no question in its first grace period", { ...heard, asked: enough }, "alive", undefined],
  ["left a question too few unanswered", { ...hold, asked: { ...enough, questions: 4 } }, "unproven", true],
  ["left them unanswered for too short", { ...hold, asked: { ...enough, overMs: 29_999 } }, "unproven", true],
  ["was never heard", { ...hold, asked: { questions: 9, overMs: 90_000 } }, "unproven", true],
  [
    "was never heard by this leader, but found lost by an earlier one",
    { ...hold, asked: { questions: 5, overMs: 30_000, foundLost: true } },
    "lost",
    undefined,
  ],
  [
    "was found lost, and not asked enough yet",
    { ...hold, asked: { questions: 4, overMs: 9, foundLost: true } },
    "unproven",
    true,
  ],
  [
    "answered after its heartbeats, 23 questions ago",
    { ...hold, asked: { ...enough, questions: 23, answered: true } },
    "unproven",
    true,
  ],
  [
    "answered after its heartbeats, 24 questions ago",
    { ...hold, asked: { ...enough, questions: 24, answered: true } },
    "lost",
    undefined,
  ],
  ["is silent while nobody answers", { ...hold, asked: { ...enough, alone: enough } }, "self-isolated", true],
  [
    "is silent while for a moment nobody answered",
    { ...hold, asked: { ...enough, alone: { questions: 4, overMs: 90_000 } } },
    "lost",
    undefined,
  ],
  ["is held to the last moment", { ...longSilent, asked: { ...enough, questions: 0 } }, "unproven", true],
  [
    "was held long enough",
    { ...longSilent, silentMs: 940_001, asked: { ...enough, questions: 0 } },
    "unproven",
    undefined,
  ],
  [
    "was held long enough, in isolation",
    { ...longSilent, silentMs: 940_001, asked: { ...enough, alone: enough } },
    "unproven",
    undefined,
  ],
  [
    "was held long enough under earlier leaders",
    { ...hold, earlierMs: 900_000, asked: { ...enough, questions: 0 } },
    "unproven",
    undefined,
  ],
  [
    "was held long enough between outages",
    { ...hold, missedMs: 900_000, asked: { ...enough, questions: 0 } },
    "unproven",
    undefined,
  ],
  [
    "was held for a time that this process remembers of its own earlier terms, and finds on the Lease too",
    { ...hold, earlierMs: 800_000, missedMs: 800_000, asked: { ...enough, questions: 0 } },
    "unproven",
    true,
  ],
  ["is not held by the setting", { ...hold, holdMs: 0, asked: { ...enough, questions: 0 } }, "unproven", undefined],
  [
    "is confirmed dead while held",
    { ...hold, asked: { ...enough, questions: 0 }, confirmedBy: "ops:jo" },
    "dead",
    undefined,
  ],
  ["is the leader's own", { ...hold, own: true, asked: enough }, "cut-off", undefined],
  ["is out of reach", { ...hold, live: false, asked: enough }, "unknown", undefined],
  ["missed hours, and does not answer", { ...hold, silentMs: 12_501, missedMs: 9e6, asked: enough }, "lost", undefined],
] as const)("on the LAN, a silent board that %s", (_what, evidence, verdict, held) => {
  const given = verdictOf(evidence);
  expect([given.verdict, given.held]).toEqual([verdict, held]);
  const harms = held === undefined && !["alive", "unknown", "cut-off"].includes(verdict);
  expect(permitsHarm(given, "evidence")).toBe(harms);
});

test("the end of a hold is known", () => {
  expect(holdLeft({ ...hold, silentMs: 100_000, earlierMs: 40_000 })).toBe(800_000);
  expect(holdLeft(longSilent)).toBe(0);
  expect(holdLeft({ ...longSilent, silentMs: 940_001 })).toBe(undefined);
});

test.each([
  ["dead", true],
  ["lost", true],
  ["cut-off", false],
  ["unmanaged", false],
  ["self-isolated", false],
] as const)("the verdict %s, which only a witness can give, permits harm: %s", (verdict, permitted) => {
  expect(permitsHarm({ verdict }, "evidence")).toBe(permitted);
});

test.each([
  ["alive", "keeps its conditions"],
  ["unknown", "keeps its conditions"],
  ["unproven", "gets Unknown conditions"],
  ["cut-off", "gets Unknown conditions"],
  ["unmanaged", "gets Unknown conditions"],
  ["dead", "gets Unknown conditions"],
  ["self-isolated", "gets Unknown conditions"],
  ["lost", "gets Unknown conditions"],
] as const)("a board with the verdict %s %s", (verdict, effect) => {
  expect(isSilent({ verdict }) ? "gets Unknown conditions" : "keeps its conditions").toBe(effect);
});

test.each([
  ["cut-off", true],
  ["unmanaged", true],
  ["unproven", false],
  ["dead", false],
  ["alive", false],
  ["unknown", false],
] as const)("a witness shows that a board that is %s runs: %s", (verdict, witnessed) => {
  expect(isWitnessed({ verdict })).toBe(witnessed);
});
