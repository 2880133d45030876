import { describe, expect, test } from "vitest";
import { sleep } from "../../../../agent/base/clock.ts";
import { TaskGroup } from "../../../../agent/base/concurrency/tasks.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

describe("a task group", () => {
  test("joins when every loop has ended; a loop that returns does not stop the others", async () => {
    const clock = new FakeClock();
    const group = new TaskGroup();
    const ended: string[] = [];
    for (const [name, delay] of [
      ["short", 1000],
      ["long", 5000],
    ] as const) {
      group.start(name, async (signal) => {
        await sleep(clock, delay, signal);
        ended.push(name);
      });
    }
    let joined = false;
    const join = group.join().then(() => {
      joined = true;
    });
    await clock.advance(4999);
    expect([ended, joined]).toEqual([["short"], false]);
    await clock.advance(1);
    await join;
    expect(ended).toEqual(["short", "long"]);
  });

  test("is stopped by its parent, and waits for slow loops", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const group = new TaskGroup(parent.signal);
    let cleaned = false;
    group.start("loop", async (signal) => {
      await sleep(clock, 1e9, signal);
      await sleep(clock, 100, new AbortController().signal);
      cleaned = true;
    });
    const join = group.join();
    parent.abort();
    await clock.advance(100);
    await join;
    expect(cleaned).toBe(true);
  });

  test("is stopped when one of its loops fails; join rejects with the first failure", async () => {
    const group = new TaskGroup();
    const failure = new Error("disk full");
    group.start("writer", () => Promise.reject(failure));
    group.start("reader", async (signal) => {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new Error("because of the writer");
    });
    await expect(group.join()).rejects.toMatchObject({ message: "writer failed", cause: failure });
    expect(group.signal.reason).toBe(failure);
  });

  test("does not treat an abort as a failure", async () => {
    const group = new TaskGroup();
    group.start("loop", async (signal) => {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    group.stop(new Error("stopped"));
    await group.join();
  });

  test("accepts new loops while it runs, even if its parent has ended", async () => {
    const group = new TaskGroup(AbortSignal.abort());
    const seen: boolean[] = [];
    group.start("outer", async () => {
      group.start("inner", async (signal) => {
        seen.push(signal.aborted);
      });
    });
    await group.join();
    expect(seen).toEqual([true]);
  });
});
