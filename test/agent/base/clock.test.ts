import { describe, expect, test } from "vitest";
import { deadline, elapsed, SystemClock, shifted, sleep } from "../../../agent/base/clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";

describe("the system clock", () => {
  test("fires a timer once, not before its delay, and never after it was cancelled", async () => {
    const clock = new SystemClock();
    const began = clock.now();
    let cancelled = false;
    clock
      .after(5, () => {
        cancelled = true;
      })
      .cancel();
    const fired = await new Promise<number[]>((resolve) => {
      const times: number[] = [];
      for (const delay of [0, 1, 3, 10, 20]) clock.after(delay, () => times.push(elapsed(began, clock.now()) - delay));
      clock.after(40, () => resolve(times));
    });
    expect(fired).toHaveLength(5);
    for (const late of fired) expect(late).toBeGreaterThanOrEqual(0);
    expect(cancelled).toBe(false);
  });

  test("accepts delays longer than Node's longest timer", async () => {
    const clock = new SystemClock();
    let fired = false;
    const timer = clock.after(2 ** 40, () => {
      fired = true;
    });
    await new Promise((resolve) => clock.after(10, () => resolve(undefined)));
    timer.cancel();
    expect(fired).toBe(false);
  });
});

test("shifting an instant shifts both of its clocks by the same amount", () => {
  expect(shifted({ mono: 5, wall: 100 }, -7)).toEqual({ mono: -2, wall: 93 });
});

describe("sleep", () => {
  test("ends when the time has passed, or early and without an error when the signal aborts", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    let woken = 0;
    for (const delay of [1000, 5000]) void sleep(clock, delay, abort.signal).then(() => woken++);
    await clock.advance(1000);
    expect(woken).toBe(1);
    abort.abort();
    await clock.settle();
    expect(woken).toBe(2);
    expect(clock.timers).toBe(0);
    await sleep(clock, 1000, abort.signal);
  });
});

describe("a deadline", () => {
  const reason = () => new Error("too late");

  test("aborts with its reason after the delay", async () => {
    const clock = new FakeClock();
    const { signal } = deadline(clock, 1000, new AbortController().signal, reason);
    await clock.advance(999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toEqual(new Error("too late"));
  });

  test("aborts with its parent, even if the parent had aborted before", () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const before = deadline(clock, 1000, parent.signal, reason);
    parent.abort("enough");
    const after = deadline(clock, 1000, parent.signal, reason);
    expect([before.signal.reason, after.signal.reason]).toEqual(["enough", "enough"]);
    before.dispose();
    after.dispose();
    expect(clock.timers).toBe(0);
  });

  test("no longer aborts once it is disposed of", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const { signal, dispose } = deadline(clock, 1000, parent.signal, reason);
    dispose();
    await clock.advance(2000);
    parent.abort();
    expect(signal.aborted).toBe(false);
  });
});
