import { describe, expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import {
  isAvailable,
  mayBeAvailable,
  type Readiness,
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

const rule = (readiness: Readiness) => ({ minReady: 10_000, readiness });

describe("of a pod that was ready before this term", () => {
  const pod = ready("2026-01-01T00:00:05Z");
  const seen = watchReadiness([pod], undefined, at(8));

  test.each([
    [8, false],
    [14.999, false],
    [15, false],
    [15.001, true],
    [30, true],
  ])("the timestamp is believed: at %d s it is available: %s", (seconds, available) => {
    expect(isAvailable(pod, rule(seen), at(seconds))).toBe(available);
  });

  test("a timestamp of the future, or none, counts from the first look on", () => {
    for (const since of ["2036-01-01T00:00:00Z", "soon"]) {
      const odd = ready(since);
      const known = watchReadiness([odd], undefined, at(8));
      expect(isAvailable(odd, rule(known), at(18))).toBe(false);
      expect(isAvailable(odd, rule(known), at(18.001))).toBe(true);
    }
  });
});

describe("of a pod that becomes ready while we look", () => {
  const before = watchReadiness([ready("2026-01-01T00:00:00Z", "False")], undefined, at(0));

  test("our own clock counts, whatever year its kubelet lives in", () => {
    const pod = ready("1970-01-01T00:00:01Z");
    const seen = watchReadiness([pod], before, at(5));
    expect(isAvailable(pod, rule(seen), at(15))).toBe(false);
    expect(isAvailable(pod, rule(seen), at(15.001))).toBe(true);
  });

  test("looking again does not start the time anew, but going and coming back does", () => {
    const pod = ready("2026-01-01T00:00:05Z");
    const seen = watchReadiness([pod], before, at(5));
    expect(untilAvailable(pod, rule(watchReadiness([pod], seen, at(9))), at(9))).toBe(6001);
    const again = ready("2026-01-01T00:00:08Z");
    expect(untilAvailable(again, rule(watchReadiness([again], seen, at(9))), at(9))).toBe(10_001);
  });

  test("a wall clock that is set changes nothing", () => {
    const pod = ready("2026-01-01T00:00:05Z");
    const seen = watchReadiness([pod], before, at(5));
    expect(isAvailable(pod, rule(seen), at(6, Date.parse("2040-01-01T00:00:00Z")))).toBe(false);
  });

  test("a pod that is new is watched from its first look on", () => {
    const pod = ready("2026-01-01T00:00:00Z");
    const seen = watchReadiness([pod], new Map(), at(60));
    expect(untilAvailable(pod, rule(seen), at(60))).toBe(10_001);
  });
});

test("what an update is about to replace is believed on either word: ours, or that of its timestamp", () => {
  const missed = ready("2026-01-01T00:00:00Z");
  const seen = watchReadiness([missed], new Map(), at(60));
  expect(isAvailable(missed, rule(seen), at(60))).toBe(false);
  expect(mayBeAvailable(missed, rule(seen), at(60))).toBe(true);
  const recent = ready("2026-01-01T00:00:55Z");
  expect(mayBeAvailable(recent, rule(watchReadiness([recent], new Map(), at(60))), at(60))).toBe(false);
  expect(mayBeAvailable(ready("2026-01-01T00:00:00Z", "False"), rule(seen), at(60))).toBe(false);
});

test("what is not ready is not available, and nobody waits for it", () => {
  const pod = ready("2026-01-01T00:00:00Z", "False");
  expect(untilAvailable(pod, rule(new Map()), at(100))).toBeUndefined();
  expect(isAvailable(pod, { minReady: 0, readiness: new Map() }, at(100))).toBe(false);
});

test("without minReadySeconds ready is available, and nothing has to be remembered", () => {
  expect(isAvailable(ready("2036-01-01T00:00:00Z"), { minReady: 0, readiness: new Map() }, at(0))).toBe(true);
});

test("of pods that are gone nothing is kept", () => {
  const seen = watchReadiness([ready("2026-01-01T00:00:00Z")], undefined, at(0));
  expect(seen.size).toBe(1);
  expect(watchReadiness([], seen, at(1)).size).toBe(0);
});
