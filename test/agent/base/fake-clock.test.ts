import { describe, expect, test } from "vitest";
import { sleep } from "../../../agent/base/clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";

describe("the fake clock of the tests", () => {
  test("fires timers in the order of time and creation, each at exactly its instant", async () => {
    const clock = new FakeClock();
    const start = clock.now().mono;
    const fired: [string, number][] = [];
    for (const [name, delay] of [
      ["c", 2000],
      ["a", 1000],
      ["d", 2000],
      ["b", 1000],
    ] as const) {
      clock.after(delay, () => fired.push([name, clock.now().mono - start]));
    }
    await clock.advance("2s");
    expect(fired).toEqual([
      ["a", 1000],
      ["b", 1000],
      ["c", 2000],
      ["d", 2000],
    ]);
  });

  test("lets loops settle between two timers", async () => {
    const clock = new FakeClock();
    const start = clock.now().mono;
    const beats: number[] = [];
    const abort = new AbortController();
    const loop = (async () => {
      while (!abort.signal.aborted) {
        await sleep(clock, 1000, abort.signal);
        beats.push(clock.now().mono - start);
      }
    })();
    await clock.advance("3s");
    expect(beats).toEqual([1000, 2000, 3000]);
    abort.abort();
    await loop;
    expect(clock.timers).toBe(0);
  });

  test("stops as soon as a condition holds, and reports a condition that never held", async () => {
    const clock = new FakeClock();
    const start = clock.now().mono;
    let done = false;
    clock.after(1500, () => {
      done = true;
    });
    await clock.until(() => done, "1m");
    expect(clock.now().mono - start).toBe(1500);
    await expect(clock.until(() => false, "1m")).rejects.toThrow("did not come true");
  });

  test("leaves the monotonic clock unchanged when the wall clock is set", async () => {
    const clock = new FakeClock();
    const { mono } = clock.now();
    clock.setWall("1970-01-01T00:00:00Z");
    expect(clock.now()).toEqual({ mono, wall: 0 });
    await clock.advance(5);
    expect(clock.now()).toEqual({ mono: mono + 5, wall: 5 });
  });

  test("drops cancelled timers", async () => {
    const clock = new FakeClock();
    for (let index = 0; index < 10_000; index++) clock.after(1e9, () => {}).cancel();
    expect(clock.timers).toBe(0);
    await clock.advance("1s");
  });
});
