import { beforeEach, expect, test } from "vitest";
import { guardAgainstStall, type StallGuard } from "../../../../agent/informer/reflector/stall-guard.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;
let asked: number;
let guard: StallGuard;
const { signal: parent } = new AbortController();

beforeEach(() => {
  clock = new FakeClock();
  asked = 0;
  const ask = async (): Promise<boolean> => {
    asked++;
    return false;
  };
  guard = guardAgainstStall(clock, { limit: 90_000, parent, what: "watch pods", ask });
  guard.touch();
});

/** Bytes arrive every ten seconds. Returns after how many seconds the stream was ended. */
async function arrive(bytes: number, seconds: number): Promise<number> {
  for (let passed = 0; passed < seconds && !guard.signal.aborted; passed += 10) {
    guard.arrived(bytes);
    await clock.advance("10s");
  }
  return clock.now().mono - 1_000_000;
}

test("part of an event keeps the stream open, for ten times the limit at most", async () => {
  await arrive(20_000, 890);
  expect(guard.signal.aborted).toBe(false);
  expect(await arrive(20_000, 1000)).toBeGreaterThanOrEqual(900_000);
  expect(clock.now().mono - 1_000_000).toBeLessThanOrEqual(990_000);
  expect(String(guard.signal.reason)).toMatch(/an event is incomplete after \d+ s and \d+ kB$/);
});

test("each event may take that long", async () => {
  await arrive(20_000, 800);
  guard.touch();
  await arrive(20_000, 800);
  expect(guard.signal.aborted).toBe(false);
});

test.each([
  ["16 KB within the limit keep it open", 16 * 1024, false],
  ["a byte less than 16 KB does not", 16 * 1024 - 1, true],
])("bytes of an event within the limit: %s", async (_name, bytes, isEnded) => {
  await clock.advance("80s");
  guard.arrived(bytes);
  await clock.advance("10s");
  expect(guard.signal.aborted).toBe(isEnded);
});

test("a server that sends a byte now and then holds the stream no longer than one that sends nothing", async () => {
  expect(await arrive(1, 200)).toBe(90_000);
  expect(String(guard.signal.reason)).toContain("an event is incomplete after 90 s and 0 kB");
});

test("a stream that has begun an event is not checked", async () => {
  await clock.advance("74s");
  guard.arrived(1);
  await clock.advance("10s");
  expect(asked).toBe(0);
});

test("between two events nothing is incomplete", async () => {
  guard.arrived(100_000);
  guard.touch();
  await clock.advance("90s");
  expect(String(guard.signal.reason)).toBe("StalledError: watch pods: received nothing for 90 s");
});
