import { describe, expect, test } from "vitest";
import type { LanAnswer } from "../../../agent/judgement/lan-answer.ts";
import {
  afterAnswer,
  askedFacts,
  counting,
  isEnough,
  lanSilenceOf,
  noneCounted,
} from "../../../agent/judgement/lan-silence.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });
const asked = (...seconds: number[]) => seconds.reduce((counted, time) => counting(counted, at(time)), noneCounted);

test.each([
  ["none", [], 0, 0, false],
  ["one", [0], 1, 0, false],
  ["five within 20 s", [0, 5, 10, 15, 20], 5, 20_000, false],
  ["seven within 30 s", [0, 5, 10, 15, 20, 25, 30], 7, 30_000, true],
  ["four over 30 s", [0, 10, 20, 30], 4, 30_000, false],
  ["five over 32 s", [0, 8, 16, 24, 32], 5, 32_000, true],
  ["five with a pause of ten minutes, of which 10 s count", [0, 5, 10, 610, 615], 5, 25_000, false],
] as const)("of unanswered questions, %s", (_what, seconds, questions, overMs, enough) => {
  const counted = asked(...seconds);
  expect(counted).toMatchObject({ questions, overMs });
  expect(isEnough(counted)).toBe(enough);
});

test("questions beyond the limit are not counted", () => {
  const enough = asked(...Array.from({ length: 24 }, (_, index) => 5 * index));
  expect(enough.questions).toBe(24);
  expect(counting(enough, at(120))).toBe(enough);
});

const enough = asked(0, 5, 10, 15, 20, 25, 30);
test.each([
  ["could be heard", { isCalibrated: true, counted: enough, alone: noneCounted }, "gone"],
  ["could be heard, while nobody answers", { isCalibrated: true, counted: enough, alone: enough }, "isolated"],
  ["could never be heard", { isCalibrated: false, counted: enough, alone: noneCounted }, "unheard"],
  ["was asked too little", { isCalibrated: true, counted: asked(0, 5), alone: asked(0) }, "open"],
] as const)("the silence of a board that %s", (_what, unanswered, silence) => {
  expect(lanSilenceOf(askedFacts(unanswered))).toBe(silence);
});

test.each([
  [23, "open"],
  [24, "gone"],
] as const)(
  "the silence of a board that answered since its last heartbeat, and left %i questions unanswered since, is %s",
  (questions, silence) => {
    const facts = askedFacts({ isCalibrated: true, counted: { ...enough, questions }, alone: noneCounted });
    expect(lanSilenceOf(facts)).toBe("gone");
    expect(lanSilenceOf({ ...facts, answered: true })).toBe(silence);
    expect(lanSilenceOf({ ...facts, answered: true, overMs: 29_999 })).toBe("open");
  },
);

describe("of what an earlier leader knew of a board", () => {
  const lost = { sign: "a", silentMs: 60_000, isLost: true };
  const word = (more: Pick<LanAnswer, "kubelet" | "isRebooted">): LanAnswer => ({ askedAt: at(0), asked: 0, ...more });

  test.each([
    ["its kubelet runs", { kubelet: { is: "ok" } }],
    ["it does not know its kubelet", { kubelet: { is: "unknown" } }],
  ] as const)("only the answer is left once it has answered that %s, however long ago", (_what, said) => {
    const left = { sign: "a", silentMs: 0, isLost: false, hasAnswered: true } as const;
    expect(afterAnswer(lost, word(said), at(0))).toEqual(left);
    expect(afterAnswer(lost, word(said), at(3600))).toEqual(left);
    expect(afterAnswer(left, word(said), at(0))).toBe(left);
  });

  test.each([
    ["its kubelet is down", { kubelet: { is: "down", forMs: 0 } }],
    ["its kubelet runs, after a restart of the board", { kubelet: { is: "ok" }, isRebooted: true }],
    ["it does not know its kubelet, after a restart of the board", { kubelet: { is: "unknown" }, isRebooted: true }],
  ] as const)("only the answer and the length of its silence are left once it has answered that %s", (_what, said) => {
    const left = { ...lost, isLost: false, hasAnswered: true } as const;
    expect(afterAnswer(lost, word(said), at(0))).toEqual(left);
    expect(afterAnswer(left, word(said), at(0))).toBe(left);
  });
});
