import { expect, test } from "vitest";
import { heardNow, type LanAnswer } from "../../../agent/judgement/lan-answer.ts";

const hold = 900_000;
const graceMs = 40_000;
const limits = { silentMs: hold, graceMs, unmanagedHold: hold };
const at = (mono: number) => ({ mono, wall: 0 });
const word = (kubelet: LanAnswer["kubelet"], asked = 6): LanAnswer => ({ askedAt: at(0), asked, kubelet });

test.each([
  ["just now", word({ is: "ok" }, 0), 0, "kubelet ok"],
  ["30 s ago, and six questions since had no answer", word({ is: "ok" }), 30_000, "kubelet ok"],
  ["longer than 30 s ago, and six questions since had no answer", word({ is: "ok" }), 30_001, undefined],
  ["an hour ago, and the leader was suspended since", word({ is: "ok" }, 5), 3_600_000, "kubelet ok"],
  ["just now, that it does not know its kubelet", word({ is: "unknown" }), 0, "kubelet unknown"],
  ["that its kubelet has just gone down", word({ is: "down", forMs: 0 }), 0, "kubelet down"],
  ["that its kubelet is down, until the hold ends", word({ is: "down", forMs: hold - 20_000 }), 19_999, "kubelet down"],
  [
    "that its kubelet is down, when the hold ends",
    word({ is: "down", forMs: hold - 20_000 }),
    20_000,
    "kubelet down too long",
  ],
  ["that its kubelet was down for longer than the hold", word({ is: "down", forMs: hold }), 0, "kubelet down too long"],
  ["that its kubelet was down, too long ago", word({ is: "down", forMs: 0 }), 30_001, undefined],
] as const)("the word of a board that answered %s", (_, said, now, heard) => {
  expect(heardNow(said, limits, at(now))).toBe(heard);
});

test.each([
  ["ok", "kubelet ok"],
  ["unknown", "no kubelet since boot"],
  ["down", "no kubelet since boot"],
] as const)("the word of a restarted board that answered that its kubelet is %s", (is, heard) => {
  const said = { ...word(is === "down" ? { is, forMs: 0 } : { is }), isRebooted: true } as const;
  expect(heardNow(said, limits, at(30_000))).toBe(heard);
  expect(heardNow(said, limits, at(30_001))).toBe(undefined);
});

test.each([
  [hold - 1, "kubelet down"],
  [hold, "kubelet down too long"],
] as const)(
  "a board that says that its kubelet has been down for a day sent a heartbeat %i ms ago",
  (silentMs, heard) => {
    const said = word({ is: "down", forMs: 86_400_000 });
    expect(heardNow(said, { ...limits, silentMs }, at(0))).toBe(heard);
  },
);

test.each([
  ["while the hold lasts", { isRebooted: true }, hold - 1, "kubelet ok"],
  ["when the hold ends", { isRebooted: true }, hold, "no pods since boot"],
  ["when the hold ends, if it was not restarted", {}, hold, "kubelet ok"],
] as const)(
  "the word of a restarted board whose kubelet runs without the API server, %s",
  (_, more, overdueMs, heard) => {
    const said = { ...word({ is: "ok" }), ...more };
    expect(heardNow(said, { ...limits, silentMs: graceMs + overdueMs }, at(0))).toBe(heard);
  },
);

test("a board that did not answer has no word", () => {
  expect(heardNow(undefined, limits, at(0))).toBe(undefined);
});

test("without a hold, a board whose kubelet is down is not held at all", () => {
  expect(heardNow(word({ is: "down", forMs: 0 }), { ...limits, unmanagedHold: 0 }, at(0))).toBe(
    "kubelet down too long",
  );
});
