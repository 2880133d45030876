import { describe, expect, test } from "vitest";
import { type Lane, lanes } from "../../../agent/base/concurrency/lanes.ts";
import { PrioritySemaphore } from "../../../agent/base/concurrency/priority-semaphore.ts";
import { WakeSignal } from "../../../agent/base/concurrency/wake-signal.ts";
import { Fifo } from "../../../agent/base/fifo.ts";
import { DurationSample } from "../../../agent/base/time/duration-sample.ts";
import { RollingCount } from "../../../agent/base/time/rolling-count.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const at = (minutes: number) => ({ mono: minutes * 60_000, wall: 0 });

test("a Fifo returns any number of items in order", () => {
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
  test("counts one hour, and drops old counts in steps of five minutes", () => {
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

test("percentiles are those of the newest 64 durations", () => {
  const sample = new DurationSample();
  expect(sample.p95).toBeUndefined();
  sample.add(7);
  expect(sample.p95).toBe(7);
  for (let duration = 1; duration <= 100; duration++) sample.add(duration);
  expect([sample.p50, sample.p95]).toEqual([68, 97]);
});

describe("permits", () => {
  const { signal } = new AbortController();

  test("are passed on in order, and never exceed the bound", async () => {
    const permits = new PrioritySemaphore(2);
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

  test("are not given to a caller that no longer waits", async () => {
    const permits = new PrioritySemaphore(1);
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

describe("permits of several lanes", () => {
  const { signal } = new AbortController();
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test("are reserved for boards, regardless of how many workloads request and hold one", async () => {
    const permits = new PrioritySemaphore(16);
    let workloads = 0;
    for (let one = 0; one < 50; one++) void permits.acquire(signal, "workloads").then(() => workloads++);
    let pods = 0;
    for (let one = 0; one < 50; one++) void permits.acquire(signal, "pods").then(() => pods++);
    await turn();
    expect([workloads, pods, permits.taken]).toEqual([12, 2, 14]);
    expect([permits.take(), permits.take(), permits.take()]).toEqual([true, true, false]);
  });

  test("go to workloads once in a while if boards never stop requesting", async () => {
    const permits = new PrioritySemaphore(8);
    const got: string[] = [];
    for (let one = 0; one < 1000; one++) void permits.acquire(signal).then(() => got.push("board"));
    for (let one = 0; one < 1000; one++) void permits.acquire(signal, "workloads").then(() => got.push("workload"));
    await turn();
    for (let round = 0; round < 88; round++) {
      permits.release(got[round] === "workload" ? "workloads" : "boards");
      await turn();
    }
    expect(permits.taken).toBe(8);
    expect(got.filter((lane) => lane === "workload").length).toBe(11);
  });

  test.each([1, 2, 3, 16])("give each lane one of %d, and no lane too many", async (most) => {
    for (const lane of lanes) expect(new PrioritySemaphore(most).take(lane)).toBe(true);
    const permits = new PrioritySemaphore(most);
    const held: Lane[] = [];
    for (let one = 0; one < 200; one++) {
      const lane = lanes[(one * 7) % 3] ?? "boards";
      void permits.acquire(signal, lane).then(() => held.push(lane));
    }
    let served = 0;
    for (; served < 200; served++) {
      await turn();
      expect(permits.taken).toBeLessThanOrEqual(most);
      const lane = held.shift();
      if (lane === undefined) break;
      permits.release(lane);
    }
    expect([served, permits.taken]).toEqual([200, 0]);
  });
});

describe("a wake signal", () => {
  test("wakes its loop, or ends the next wait if none waits", async () => {
    const clock = new FakeClock();
    const bell = new WakeSignal(clock);
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

  test("ends the wait when its abort signal aborts", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const waiting = new WakeSignal(clock).wait(abort.signal, 1000);
    abort.abort();
    await waiting;
    expect(clock.timers).toBe(0);
  });
});
