import { describe, expect, test } from "vitest";
import { Bell } from "../../../agent/base/bell.ts";
import { DurationSample } from "../../../agent/runtime/duration-sample.ts";
import { Fifo } from "../../../agent/runtime/fifo.ts";
import { Permits } from "../../../agent/runtime/permits.ts";
import { RollingCount } from "../../../agent/runtime/rolling-count.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const at = (minutes: number) => ({ mono: minutes * 60_000, wall: 0 });

test("a Fifo gives back in order, over any number of items", () => {
  const fifo = new Fifo<number>();
  let next = 0;
  for (let item = 0; item < 1000; item++) {
    fifo.push(item);
    if (item % 3 === 0) expect(fifo.shift()).toBe(next++);
  }
  expect(fifo.size).toBe(1000 - next);
  expect(fifo.peek()).toBe(next);
  while (fifo.size > 0) expect(fifo.shift()).toBe(next++);
  expect(fifo.shift()).toBeUndefined();
  fifo.push(1);
  expect(fifo.shift()).toBe(1);
});

describe("a rolling count", () => {
  test("counts one hour, and forgets in steps of five minutes", () => {
    const count = new RollingCount();
    for (let minute = 0; minute < 30; minute++) count.add(at(minute));
    expect(count.total(at(30))).toBe(30);
    expect(count.total(at(60))).toBe(30);
    expect(count.total(at(65))).toBe(25);
    expect(count.total(at(94))).toBe(0);
    expect(count.total(at(10_000))).toBe(0);
    count.add(at(10_000));
    expect(count.total(at(10_000))).toBe(1);
  });
});

test("the 95th percentile is that of the newest 64 durations", () => {
  const sample = new DurationSample();
  expect(sample.p95).toBeUndefined();
  sample.add(7);
  expect(sample.p95).toBe(7);
  for (let duration = 1; duration <= 100; duration++) sample.add(duration);
  expect(sample.p95).toBe(97);
});

describe("permits", () => {
  const { signal } = new AbortController();

  test("are handed on in order, and never exceed the bound", async () => {
    const permits = new Permits(2);
    const got: number[] = [];
    for (let one = 0; one < 5; one++) void permits.acquire(signal).then(() => got.push(one));
    await new Promise((resolve) => setImmediate(resolve));
    expect(got).toEqual([0, 1]);
    permits.release();
    permits.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(got).toEqual([0, 1, 2, 3]);
    expect(permits.taken).toBe(2);
    for (let one = 0; one < 3; one++) permits.release();
    expect(permits.taken).toBe(0);
  });

  test("are not given to who has left the line", async () => {
    const permits = new Permits(1);
    await permits.acquire(signal);
    const gone = new AbortController();
    const [left, waits] = [permits.acquire(gone.signal), permits.acquire(signal)];
    gone.abort();
    expect(await left).toBe(false);
    permits.release();
    expect(await waits).toBe(true);
    expect(await permits.acquire(gone.signal)).toBe(false);
  });
});

describe("a bell", () => {
  test("wakes its sleeper, or the next one if nobody sleeps", async () => {
    const clock = new FakeClock();
    const bell = new Bell(clock);
    const { signal } = new AbortController();
    let woken = 0;
    const sleep = async (delay?: number) => {
      await bell.wait(signal, delay);
      woken++;
    };
    bell.ring();
    bell.ring();
    void sleep();
    await clock.settle();
    expect(woken).toBe(1);
    void sleep();
    await clock.settle();
    expect(woken).toBe(1);
    bell.ring();
    await clock.settle();
    expect(woken).toBe(2);
    void sleep(1000);
    await clock.advance(1000);
    expect(woken).toBe(3);
    expect(clock.timers).toBe(0);
  });

  test("lets go when the signal aborts", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const waiting = new Bell(clock).wait(abort.signal, 1000);
    abort.abort();
    await waiting;
    expect(clock.timers).toBe(0);
  });
});
