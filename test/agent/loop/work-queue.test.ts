import { describe, expect, test } from "vitest";
import { WorkQueue } from "../../../agent/loop/work-queue.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

function setUp() {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock });
  const abort = new AbortController();
  const taken: string[] = [];
  /** A worker that is done with each key at once. */
  const worker = async (): Promise<void> => {
    for (let key = await queue.take(abort.signal); key !== undefined; key = await queue.take(abort.signal)) {
      taken.push(key);
      queue.done(key);
    }
  };
  return { clock, queue, abort, taken, worker };
}

describe("keys", () => {
  test("are returned in the order in which they were added, each once", async () => {
    const { clock, queue, taken, worker } = setUp();
    for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
    expect(queue.size).toBe(3);
    void worker();
    await clock.settle();
    expect(taken).toEqual(["a", "b", "c"]);
  });

  test("of many namespaces take turns, those of one namespace in their order, preferred ones first", async () => {
    const { clock, queue, taken, worker } = setUp();
    for (const key of ["flood/1", "flood/2", "flood/3", "flood/4", "node", "shop/1", "shop/2", "farm/1"])
      queue.add(key);
    queue.prefer("flood/4");
    void worker();
    await clock.settle();
    expect(taken).toEqual(["flood/4", "flood/1", "node", "shop/1", "farm/1", "flood/2", "shop/2", "flood/3"]);
  });

  test("cannot be marked as done unless a worker has taken them", async () => {
    const { queue, abort } = setUp();
    queue.add("x");
    queue.done("x");
    expect(await queue.take(abort.signal)).toBe("x");
    expect(queue.size).toBe(0);
  });

  test("go to waiting workers, in the order of the workers", async () => {
    const { queue, abort } = setUp();
    const [first, second] = [queue.take(abort.signal), queue.take(abort.signal)];
    queue.add("x");
    queue.add("y");
    expect(await Promise.all([first, second])).toEqual(["x", "y"]);
  });

  test("are never given to two workers concurrently, and never lost", async () => {
    const { clock, queue, abort } = setUp();
    const random = new SeededRandom(7);
    const working = new Set<string>();
    const added = new Map<string, number>();
    const seen = new Map<string, number>();
    let version = 0;
    const worker = async (): Promise<void> => {
      for (let key = await queue.take(abort.signal); key !== undefined; key = await queue.take(abort.signal)) {
        expect(working.has(key)).toBe(false);
        working.add(key);
        seen.set(key, version);
        await new Promise<void>((resolve) => clock.after(random.integer(30), resolve));
        working.delete(key);
        queue.done(key);
      }
    };
    const workers = [1, 2, 3, 4].map(worker);
    for (let step = 0; step < 2000; step++) {
      const key = `key-${random.integer(12)}`;
      added.set(key, ++version);
      if (random.integer(4) === 0) queue.addAfter(key, random.integer(50));
      else queue.add(key);
      await clock.advance(random.integer(8));
    }
    await clock.advance("1m");
    for (const [key, at] of added) expect(seen.get(key)).toBeGreaterThanOrEqual(at);
    expect(queue.size + queue.delayed).toBe(0);
    abort.abort();
    await Promise.all(workers);
  });
});

describe("delayed keys", () => {
  test.each([0, -5, Number.NaN])("by %s are due immediately", async (delay) => {
    const { queue, abort } = setUp();
    queue.addAfter("x", delay);
    expect(await queue.take(abort.signal)).toBe("x");
  });

  test("are due in the order of their times, and at equal times in the order in which they were added", async () => {
    const { clock, queue, taken, worker } = setUp();
    void worker();
    for (const [key, delay] of [
      ["d", 40],
      ["b", 20],
      ["c", 20],
      ["a", 10],
    ] as const) {
      queue.addAfter(key, delay);
    }
    await clock.advance(40);
    expect(taken).toEqual(["a", "b", "c", "d"]);
  });

  test("that are added without delay in the meantime are due immediately, and again at their time", async () => {
    const { clock, queue, taken, worker } = setUp();
    void worker();
    queue.addAfter("x", 100);
    queue.add("x");
    await clock.advance(99);
    expect(taken).toEqual(["x"]);
    await clock.advance(1);
    expect(taken).toEqual(["x", "x"]);
  });

  test("that are moved forward again and again do not take more memory", async () => {
    const { clock, queue, taken, worker } = setUp();
    void worker();
    for (let delay = 100_000; delay > 0; delay--) queue.addAfter("x", delay);
    expect(queue.delayed).toBe(1);
    await clock.advance("5m");
    expect(taken).toEqual(["x"]);
  });

  test("are delivered on time even if the delay is longer than the maximum of setTimeout", async () => {
    const { clock, queue, taken, worker } = setUp();
    void worker();
    queue.addAfter("x", 40 * 86_400_000);
    await clock.advance("39d");
    expect(taken).toEqual([]);
    await clock.advance("1d");
    expect(taken).toEqual(["x"]);
  });
});

describe("retries", () => {
  test("back off per key from 5 ms to 1000 s, and start over once the key is forgotten", async () => {
    const { clock, queue, abort } = setUp();
    const delays: number[] = [];
    for (let failure = 0; failure < 20; failure++) {
      const before = clock.now().mono;
      queue.retry("x");
      let key: string | undefined;
      void queue.take(abort.signal).then((taken) => {
        key = taken;
      });
      await clock.until(() => key !== undefined, "1h");
      delays.push(clock.now().mono - before);
      queue.done("x");
    }
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(delays.slice(17)).toEqual([655_360, 1_000_000, 1_000_000]);
    expect(queue.failures("x")).toBe(20);
    queue.forget("x");
    expect(queue.failures("x")).toBe(0);
  });

  test("wait at least as long as requested", async () => {
    const { clock, queue, taken, worker } = setUp();
    void worker();
    queue.retry("x", 1000);
    await clock.advance(999);
    expect(taken).toEqual([]);
    await clock.advance(1);
    expect(taken).toEqual(["x"]);
  });

  test("of 150 keys that fail together begin with 100 after 5 ms, then continue at ten per second", async () => {
    const { clock, queue, worker, taken } = setUp();
    void worker();
    for (let key = 0; key < 150; key++) queue.retry(`key-${key}`);
    await clock.advance(4);
    expect(taken).toHaveLength(0);
    await clock.advance(1);
    expect(taken).toHaveLength(100);
    await clock.advance(94);
    expect(taken).toHaveLength(100);
    await clock.advance(1);
    expect(taken).toHaveLength(101);
    await clock.advance(4900);
    expect(taken).toHaveLength(150);
  });
});

describe("the end", () => {
  test("of a worker's signal stops its wait, and no key is lost", async () => {
    const { queue, abort } = setUp();
    const waiting = queue.take(abort.signal);
    abort.abort();
    expect(await waiting).toBeUndefined();
    queue.add("x");
    expect(await queue.take(abort.signal)).toBeUndefined();
    expect(await queue.take(new AbortController().signal)).toBe("x");
  });

  test("of the queue still returns ready keys, refuses new ones, and leaves no timer", async () => {
    const { clock, queue, abort } = setUp();
    queue.add("x");
    queue.addAfter("later", 50);
    queue.shutDown();
    queue.add("y");
    queue.addAfter("z", 10);
    queue.retry("w");
    expect(await queue.take(abort.signal)).toBe("x");
    expect(await queue.take(abort.signal)).toBeUndefined();
    expect(clock.timers).toBe(0);
  });

  test("of the queue releases waiting workers", async () => {
    const { queue, abort } = setUp();
    const waiting = [queue.take(abort.signal), queue.take(abort.signal)];
    queue.shutDown();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  });
});

test("it is known how many keys are ready and how long the one that is taken next has been waiting", async () => {
  const { clock, queue, abort } = setUp();
  expect(queue.nextWait(clock.now())).toBeUndefined();
  queue.add("x");
  await clock.advance("10s");
  queue.add("y");
  await clock.advance("5s");
  expect([queue.size, queue.nextWait(clock.now())]).toEqual([2, 15_000]);
  await queue.take(abort.signal);
  expect([queue.size, queue.nextWait(clock.now())]).toEqual([1, 5000]);
});

describe("a key whose delay is cancelled", () => {
  test("is not added again if it was delayed before it was taken", async () => {
    const { clock, queue, abort } = setUp();
    queue.addAfter("x", 50);
    queue.add("x");
    expect(await queue.take(abort.signal)).toBe("x");
    queue.cancelDelay("x");
    queue.done("x");
    await clock.advance("1m");
    expect([queue.size, queue.delayed]).toEqual([0, 0]);
  });

  test("is added again if it was delayed while being processed, because the worker may have missed the cause", async () => {
    const { clock, queue, abort } = setUp();
    queue.addAfter("x", 50);
    queue.add("x");
    expect(await queue.take(abort.signal)).toBe("x");
    queue.addAfter("x", 70);
    queue.cancelDelay("x");
    queue.done("x");
    await clock.advance("1m");
    expect(queue.size).toBe(1);
    expect(await queue.take(abort.signal)).toBe("x");
    queue.cancelDelay("x");
    queue.done("x");
    await clock.advance("1m");
    expect([queue.size, queue.delayed]).toEqual([0, 0]);
  });
});

describe("a preferred key", () => {
  test("goes before all others, even if it already waited behind them", async () => {
    const { clock, queue, taken, worker } = setUp();
    for (const key of ["a", "b", "back"]) queue.add(key);
    queue.prefer("back");
    queue.prefer("later");
    expect(queue.size).toBe(3);
    void worker();
    await clock.settle();
    expect(taken).toEqual(["back", "a", "b"]);
  });

  test("remains preferred after a failure, so it is not queued behind thousands of other keys", async () => {
    const { clock, queue, abort, taken, worker } = setUp();
    queue.prefer("back");
    queue.add("back");
    expect(await queue.take(abort.signal)).toBe("back");
    for (const key of ["a", "b"]) queue.add(key);
    queue.retry("back", 1000);
    queue.done("back");
    await clock.advance("1s");
    void worker();
    await clock.settle();
    queue.forget("back");
    for (const key of ["c", "back"]) queue.add(key);
    await clock.settle();
    expect(taken).toEqual(["back", "a", "b", "c", "back"]);
  });

  test("has no claim to the place where it waited before it was preferred", async () => {
    const { queue, abort } = setUp();
    for (const key of ["first", "back", "a", "b"]) queue.add(key);
    expect(await queue.take(abort.signal)).toBe("first");
    queue.prefer("back");
    expect(await queue.take(abort.signal)).toBe("back");
    queue.done("back");
    queue.forget("back");
    queue.add("back");
    const taken = [await queue.take(abort.signal), await queue.take(abort.signal), await queue.take(abort.signal)];
    expect([taken, queue.size]).toEqual([["a", "b", "back"], 0]);
  });

  test("is processed by one worker at a time and only once, regardless of where it was queued", async () => {
    const { queue, abort } = setUp();
    for (const key of ["a", "back", "b"]) queue.add(key);
    queue.prefer("back");
    expect(await queue.take(abort.signal)).toBe("back");
    queue.add("back");
    expect([await queue.take(abort.signal), await queue.take(abort.signal)]).toEqual(["a", "b"]);
    expect(queue.size).toBe(0);
    queue.done("back");
    expect([queue.size, await queue.take(abort.signal)]).toEqual([1, "back"]);
    queue.done("back");
    expect([queue.size, queue.nextWait({ mono: 1e9, wall: 0 })]).toEqual([0, undefined]);
  });
});
