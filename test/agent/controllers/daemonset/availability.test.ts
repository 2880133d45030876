import { describe, expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import {
  type DaemonReadiness,
  isAvailable,
  mayBeAvailable,
  untilAvailable,
  watchReadiness,
} from "../../../../agent/controllers/daemonset/availability.ts";
import { podOf, set } from "./support/daemon-site.ts";

const started = Date.parse("2026-01-01T00:00:00Z");
const at = (seconds: number, wall = started) => ({ mono: seconds * 1000, wall: wall + seconds * 1000 });
const owner = set();

function ready(since: string, status = "True"): Pod {
  const pod = podOf(owner, "n1");
  return { ...pod, status: { conditions: [{ type: "Ready", status, lastTransitionTime: since }] } };
}

const rule = (readiness: DaemonReadiness) => ({ minReady: 10_000, readiness });

describe("the availability of a pod that was ready before this term", () => {
  const pod = ready("2026-01-01T00:00:05Z");
  const seen = atOnce(watchReadiness([pod], undefined, at(8)));

  test.each([
    [8, "not available"],
    [14.999, "not available"],
    [15, "not available"],
    [15.001, "available"],
    [30, "available"],
  ])("depends on its timestamp: after %d s it is %s", (seconds, expected) => {
    expect(isAvailable(pod, rule(seen), at(seconds)) ? "available" : "not available").toBe(expected);
  });

  test("is measured from the first observation if the timestamp is in the future or missing", () => {
    for (const since of ["2036-01-01T00:00:00Z", "soon"]) {
      const odd = ready(since);
      const known = atOnce(watchReadiness([odd], undefined, at(8)));
      expect(isAvailable(odd, rule(known), at(18))).toBe(false);
      expect(isAvailable(odd, rule(known), at(18.001))).toBe(true);
    }
  });
});

describe("the availability of a pod that becomes ready during this term", () => {
  const before = atOnce(watchReadiness([ready("2026-01-01T00:00:00Z", "False")], undefined, at(0)));

  test("is measured by the leader's clock, regardless of the year on its kubelet's clock", () => {
    const pod = ready("1970-01-01T00:00:01Z");
    const seen = atOnce(watchReadiness([pod], before, at(5)));
    expect(isAvailable(pod, rule(seen), at(15))).toBe(false);
    expect(isAvailable(pod, rule(seen), at(15.001))).toBe(true);
  });

  test("starts again when the pod becomes unready and ready, but not when it is observed again", () => {
    const pod = ready("2026-01-01T00:00:05Z");
    const seen = atOnce(watchReadiness([pod], before, at(5)));
    expect(untilAvailable(pod, rule(atOnce(watchReadiness([pod], seen, at(9)))), at(9))).toBe(6001);
    const again = ready("2026-01-01T00:00:08Z");
    expect(untilAvailable(again, rule(atOnce(watchReadiness([again], seen, at(9)))), at(9))).toBe(10_001);
  });

  test("does not change when the wall clock is set", () => {
    const pod = ready("2026-01-01T00:00:05Z");
    const seen = atOnce(watchReadiness([pod], before, at(5)));
    expect(isAvailable(pod, rule(seen), at(6, Date.parse("2040-01-01T00:00:00Z")))).toBe(false);
  });

  test("is measured from the first observation of a new pod", () => {
    const pod = ready("2026-01-01T00:00:00Z");
    const seen = atOnce(watchReadiness([pod], new Map(), at(60)));
    expect(untilAvailable(pod, rule(seen), at(60))).toBe(10_001);
  });
});

test("a pod to be replaced counts as available by the leader's clock or by its timestamp", () => {
  const missed = ready("2026-01-01T00:00:00Z");
  const seen = atOnce(watchReadiness([missed], new Map(), at(60)));
  expect(isAvailable(missed, rule(seen), at(60))).toBe(false);
  expect(mayBeAvailable(missed, rule(seen), at(60))).toBe(true);
  const recent = ready("2026-01-01T00:00:55Z");
  expect(mayBeAvailable(recent, rule(atOnce(watchReadiness([recent], new Map(), at(60)))), at(60))).toBe(false);
  expect(mayBeAvailable(ready("2026-01-01T00:00:00Z", "False"), rule(seen), at(60))).toBe(false);
});

test("an unready pod is not available, and is not waited for", () => {
  const pod = ready("2026-01-01T00:00:00Z", "False");
  expect(untilAvailable(pod, rule(new Map()), at(100))).toBeUndefined();
  expect(isAvailable(pod, { minReady: 0, readiness: new Map() }, at(100))).toBe(false);
});

test("without minReadySeconds a ready pod is available, and nothing has to be remembered", () => {
  expect(isAvailable(ready("2036-01-01T00:00:00Z"), { minReady: 0, readiness: new Map() }, at(0))).toBe(true);
});

test("pods that no longer exist are dropped", () => {
  const seen = atOnce(watchReadiness([ready("2026-01-01T00:00:00Z")], undefined, at(0)));
  expect(seen.size).toBe(1);
  expect(atOnce(watchReadiness([], seen, at(1))).size).toBe(0);
});
