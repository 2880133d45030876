import { describe, expect, test } from "vitest";
import { type Clock, nextTurn } from "../../../agent/base/clock.ts";
import type { Lane } from "../../../agent/base/concurrency/lanes.ts";
import { FairTurns } from "../../../agent/loop/fair-turns.ts";

/** Time passes only where a story works. */
class WorkClock implements Clock {
  mono = 0;
  now = () => ({ mono: this.mono, wall: 0 });
  after = () => ({ cancel: () => {} });
}

const setUp = () => {
  const clock = new WorkClock();
  const stop = new AbortController();
  return { clock, turns: new FairTurns(clock), stop, signal: stop.signal };
};

/** Steps of a millisecond each. */
function* work(clock: WorkClock, steps: number, done: () => void = () => {}): Generator<undefined, undefined> {
  for (let step = 0; step < steps; step++) {
    clock.mono++;
    done();
    yield;
  }
  return undefined;
}

describe("many concurrent pieces of work", () => {
  test("work that fits into a turn is done immediately", () => {
    const { clock, turns, signal } = setUp();
    expect(turns.run(work(clock, 9), "workloads", signal)).toBeUndefined();
    expect(clock.mono).toBe(9);
  });

  test("no turn of the event loop takes longer than 10 ms and a step, regardless of the amount of work", async () => {
    const { clock, turns, signal } = setUp();
    const rest = turns.run(work(clock, 1000), "workloads", signal);
    const ends: number[] = [clock.mono];
    while (clock.mono < 1000) {
      await nextTurn();
      ends.push(clock.mono);
    }
    await rest;
    for (const [at, end] of ends.entries()) expect(end - (ends[at - 1] ?? 0)).toBeLessThanOrEqual(11);
    expect(ends.length).toBeLessThanOrEqual(101);
  });

  test("ten long computations share turns of 10 ms, and each completes", async () => {
    const { clock, turns, signal } = setUp();
    const all = Array.from({ length: 10 }, () => turns.run(work(clock, 100), "workloads", signal));
    let before = clock.mono;
    expect(before).toBeLessThanOrEqual(30);
    while (clock.mono < 1000) {
      await nextTurn();
      expect(clock.mono - before).toBeLessThanOrEqual(11);
      before = clock.mono;
    }
    await Promise.all(all);
  });

  test("boards go before workloads that have waited for a long time, and wait for one turn at most", async () => {
    const { clock, turns, signal } = setUp();
    for (let tenant = 0; tenant < 50; tenant++) void turns.run(work(clock, 10_000), "workloads", signal);
    const begun = clock.mono;
    for (let pass = 0; pass < 20; pass++) await turns.take("boards", signal);
    expect(clock.mono - begun).toBeLessThanOrEqual(20 * 11);
  });

  test("a caller behind many preferred ones gets its turn", async () => {
    const { clock, turns, signal } = setUp();
    const order: Lane[] = [];
    const many = (lane: Lane): unknown =>
      turns.run(
        work(clock, 2000, () => void order.push(lane)),
        lane,
        signal,
      );
    for (let board = 0; board < 20; board++) many("boards");
    many("workloads");
    while (!order.includes("workloads") && order.length < 40_000) await nextTurn();
    expect(order.filter((lane) => lane === "boards").length).toBeLessThan(1000);
  });

  test("small steps are taken a turn at a time, not one for each pass of others", async () => {
    const { clock, turns, stop, signal } = setUp();
    let passes = 0;
    const worker = async (): Promise<void> => {
      while (!signal.aborted && passes < 5000) {
        await Promise.resolve();
        const turn = turns.take("workloads", signal);
        if (turn && !(await turn)) return;
        clock.mono += 5;
        passes++;
      }
    };
    for (let i = 0; i < 10; i++) void worker();
    await turns.run(work(clock, 1000), "workloads", signal);
    stop.abort();
    expect(passes).toBeLessThan(1500);
  });

  test("an abort leaves the rest undone, closes open iterators and ends the wait", async () => {
    const { clock, turns, stop, signal } = setUp();
    let closed = false;
    function* steps(): Generator<undefined, undefined> {
      try {
        return yield* work(clock, 1000);
      } finally {
        closed = true;
      }
    }
    const rest = turns.run(steps(), "workloads", signal);
    stop.abort(new Error("the term is over"));
    await expect(rest).rejects.toThrow("the term is over");
    expect(clock.mono).toBeLessThan(30);
    expect(closed).toBe(true);
  });

  test("an error of a step in a later turn rejects the wait", async () => {
    const { clock, turns, signal } = setUp();
    function* steps(): Generator<undefined, undefined> {
      yield* work(clock, 50);
      throw new Error("a bug");
    }
    await expect(turns.run(steps(), "workloads", signal)).rejects.toThrow("a bug");
  });
});
