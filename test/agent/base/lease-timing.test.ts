import { expect, test } from "vitest";
import { timingProblems, trustedUntil } from "../../../agent/base/lease-timing.ts";

const problems = (duration: number, renewDeadline: number, retry: number): string =>
  timingProblems({ duration: duration * 1000, renewDeadline: renewDeadline * 1000, retry: retry * 1000 })
    .map(({ setting, against, message }) => `${[setting, ...against].join("/")}: ${message}`)
    .join("; ");

test.each([
  [15, 10, 2],
  [60, 40, 10],
  [6, 4, 1],
  [3600, 40, 10],
  [3, 2.5, 0.999],
])("a Lease of %s s that is renewed within %s s, every %s s, is valid", (duration, deadline, retry) => {
  expect(problems(duration, deadline, retry)).toBe("");
});

test.each([
  [15, 15, 2, "renewDeadline/duration: 15s must be shorter than leader.duration (15s)"],
  [15, 10, 9, "retry/renewDeadline: 9s must be shorter than leader.renewDeadline (10s) divided by 1.2"],
  [15, 12, 10, "retry/renewDeadline: 10s must be shorter than leader.renewDeadline (12s) divided by 1.2"],
  [0, 0, 0, "duration: must be longer than 0; renewDeadline: must be longer than 0; retry: must"],
  [15, 10, Number.NaN, "retry: must be longer than 0"],
  [3601, 40, 10, "duration: 3601s must not be longer than 1h"],
  [2, 1.5, 1, "duration/retry: 2s must be longer than leader.retry (1s) by more than 2s and by more than 10 %"],
  [3, 2.5, 1, "duration/retry: 3s must be longer than leader.retry (1s) by more than 2s and by more than 10 %"],
])("a Lease of %s s that is renewed within %s s, every %s s, is refused", (duration, deadline, retry, sentence) => {
  expect(problems(duration, deadline, retry)).toContain(sentence);
});

test.each([
  [60, 54],
  [15, 13],
  [10, 8],
  [20, 18],
  [21, 18.9],
  [60.9, 54],
])(
  "with a duration of %s s a leader trusts its term for %s s from the beginning of the attempt",
  (duration, trusted) => {
    const at = (seconds: number) => ({ mono: seconds * 1000, wall: seconds * 1000 });
    expect(trustedUntil(at(100), duration * 1000).mono).toBeCloseTo(at(100 + trusted).mono);
  },
);
