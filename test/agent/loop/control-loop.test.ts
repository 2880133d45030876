import { describe, expect, test, vi } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import { type Clock, nextTurn, shifted, sleep } from "../../../agent/base/clock.ts";
import { PrioritySemaphore } from "../../../agent/base/concurrency/priority-semaphore.ts";
import { type Disposition, type HasDisposition, TerminalError } from "../../../agent/base/errors.ts";
import { PostponedError } from "../../../agent/base/postponed.ts";
import type { Steps } from "../../../agent/base/steps.ts";
import type { Action, Outcome } from "../../../agent/execution/actions.ts";
import { leaderOwnsAll } from "../../../agent/loop/assignment.ts";
import { ControlLoop, type ControlLoopDeps } from "../../../agent/loop/control-loop.ts";
import { type Controller, type Durable, enqueueOn, enqueueOnChange } from "../../../agent/loop/controller.ts";
import { FairTurns } from "../../../agent/loop/fair-turns.ts";
import { CachedSiteView } from "../../../agent/loop/site-view.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { create, pod, refusal, TestTerm } from "../../support/small-api.ts";
import { SmallCaches } from "../election/support/caches.ts";

type Counting = Controller<Pod | "site", number>;

/** Looks at pods; remembers how often it looked. */
const counting: Counting = {
  name: "counting",
  reads: [pods],
  initialMemory: 0,
  mappings: [enqueueOn(pods, ({ key }) => [key])],
  observe: (key, site) => (key === "site" ? "site" : site.lister(pods).get(key)),
  decide: (_state, memory) => ({ actions: [], memory: memory + 1 }),
};

class SmallStore {
  readonly texts = new Map<string, string>();
  writes = 0;
  broken: Error | undefined;

  entries(area: string): Iterable<[string, string]> {
    return [...this.texts]
      .filter(([key]) => key.startsWith(`${area} `))
      .map(([key, text]) => [key.slice(area.length + 1), text]);
  }

  set(area: string, key: string, text: string): void {
    if (this.broken) throw this.broken;
    this.writes++;
    this.texts.set(`${area} ${key}`, text);
  }

  delete(area: string, key: string): void {
    this.texts.delete(`${area} ${key}`);
  }
}

function setUp(
  change: Partial<Counting> = {},
  deps: Partial<ControlLoopDeps<Pod | "site", number>> = {},
  clock = new FakeClock(),
  seenClock: Clock = clock,
) {
  const log = new RecordingLog();
  const caches = new SmallCaches();
  const store = new SmallStore();
  const executed: (readonly Action[])[] = [];
  const api = {
    answer: (_action: Action): Error | undefined => undefined,
    read: refusal("get", 404, "NotFound"),
  };
  const observed: string[] = [];
  const observe = change.observe ?? counting.observe;
  const controller: Counting = {
    ...counting,
    ...change,
    observe: (key, site, memory) => {
      observed.push(key);
      return observe(key, site, memory);
    },
  };
  const client = { get: () => Promise.reject(api.read) };
  const loop = new ControlLoop<Pod | "site", number>(
    { clock: seenClock, log, random: new SeededRandom() },
    {
      controller,
      caches,
      site: (pass) => new CachedSiteView({ caches, client }, pass),
      executor: {
        execute: async (actions) => {
          executed.push(actions);
          return actions.map((action): Outcome => {
            const error = api.answer(action);
            return error ? { action, ok: false, error } : { action, ok: true };
          });
        },
      },
      assignment: leaderOwnsAll,
      workers: 2,
      store,
      ...deps,
    },
  );
  return { clock, log, caches, store, executed, api, observed, loop, term: new TestTerm() };
}

const failing = (disposition: Disposition): Error & HasDisposition =>
  Object.assign(new Error("it failed"), { disposition });

test("an object that cannot be read is reported, even if the pass continues without it", async () => {
  const { clock, api, log, loop, term } = setUp({
    firstKeys: ["site"],
    observe: async (_key, site): Promise<"site"> => {
      await site.fetch(nodes, "pi").catch(() => {});
      return "site";
    },
  });
  api.read = refusal("get", 0, "Unreadable");
  void loop.run(term);
  await clock.settle();
  expect(loop.memoryOf("site")).toBe(1);
  expect(loop.stats(clock.now())).toMatchObject({
    syncs: 1,
    errorsLastHour: 1,
    lastError: { message: "site: get something: Unreadable" },
  });
  expect(log.said("warn")).toEqual(["pass failed"]);
});

describe("when a term begins", () => {
  test("every cached object wakes its keys once, and permanent keys are enqueued too", async () => {
    const { clock, caches, observed, loop, term } = setUp({ firstKeys: ["site"] });
    caches.of(pods).add(pod("a"), pod("b"), pod("c"));
    expect(loop.stats(clock.now()).state).toBe("standby");
    void loop.run(term);
    await clock.settle();
    expect(observed.sort()).toEqual(["default/a", "default/b", "default/c", "site"]);
    expect(loop.stats(clock.now())).toMatchObject({ state: "running", queue: 0, syncs: 4, errorsLastHour: 0 });
  });

  test("later changes wake their keys, with the states before and after", async () => {
    const seen: unknown[] = [];
    const { clock, caches, observed, loop, term } = setUp({
      mappings: [
        enqueueOn(pods, ({ before, after }) => {
          seen.push([before?.metadata.resourceVersion, after?.metadata.resourceVersion]);
          return after ? ["site"] : [];
        }),
      ],
    });
    void loop.run(term);
    await clock.settle();
    caches.of(pods).add(pod("a"));
    caches.of(pods).remove("default/a");
    await clock.settle();
    expect(seen).toEqual([
      [undefined, "1"],
      ["1", undefined],
    ]);
    expect(observed).toEqual(["site"]);
  });

  test("a wake that fails on one object is logged, and the others still wake their keys", async () => {
    const { clock, log, caches, observed, loop, term } = setUp({
      mappings: [
        enqueueOn(pods, ({ key }) => {
          if (key === "default/b") throw new Error("a bug");
          return [key];
        }),
      ],
    });
    caches.of(pods).add(pod("a"), pod("b"), pod("c"));
    void loop.run(term);
    await clock.settle();
    expect(observed).toEqual(["default/a", "default/c"]);
    expect(log.lines[0]).toMatchObject({ level: "error", fields: { object: "default/b", controller: "counting" } });
  });

  test("a change that affects thousands of keys leaves turns to the boards, and so does a queue of keys without work", async () => {
    const clock = new FakeClock();
    let worked = 0;
    const busy: Clock = { now: () => shifted(clock.now(), worked), after: (delay, run) => clock.after(delay, run) };
    const turns = new FairTurns(busy);
    const keys = Array.from({ length: 5000 }, (_, i) => `tenant/service-${i}`);
    const tenant = setUp(
      {
        mappings: [
          enqueueOn(pods, function* () {
            for (const key of keys) {
              worked++;
              yield undefined;
              yield key;
            }
          }),
        ],
        observe: () => {
          worked++;
          return "site";
        },
      },
      { turns, lane: "workloads" },
      clock,
      busy,
    );
    const boards = setUp({ firstKeys: ["site"], mappings: [] }, { turns, lane: "boards" }, clock, busy);
    void tenant.loop.run(tenant.term);
    void boards.loop.run(boards.term);
    await clock.settle();
    tenant.caches.of(pods).add(pod("storm"));
    const waits: number[] = [];
    for (let passes = boards.observed.length; tenant.observed.length < keys.length; passes = boards.observed.length) {
      const asked = worked;
      boards.loop.wakeAll();
      for (let turn = 0; boards.observed.length === passes && turn < 100; turn++) await nextTurn();
      waits.push(worked - asked);
    }
    expect(waits.length).toBeGreaterThan(100);
    expect(Math.max(...waits)).toBeLessThanOrEqual(100);
  });

  test("a loop of a late lane maps changes in an earlier one, because caches wait for it", async () => {
    const clock = new FakeClock();
    let worked = 0;
    const busy: Clock = { now: () => shifted(clock.now(), worked), after: (delay, run) => clock.after(delay, run) };
    const turns = new FairTurns(busy);
    function* work(steps: number): Steps<"site"> {
      for (let step = 0; step < steps; step++) {
        worked++;
        yield;
      }
      return "site";
    }
    const others = [0, 1].map(() =>
      setUp(
        { firstKeys: ["site"], mappings: [], observe: (_, site) => site.inTurns(work(5000)) },
        { turns, lane: "workloads" },
        clock,
        busy,
      ),
    );
    let mapped: number | undefined;
    const mappings = [
      enqueueOn(pods, function* () {
        yield* work(500);
        mapped = worked;
      }),
    ];
    const compared = setUp({ mappings }, { turns, lane: "events", changesLane: "boards" }, clock, busy);
    for (const { loop, term } of [compared, ...others]) void loop.run(term);
    while (worked < 100) await nextTurn();
    const before = worked;
    compared.caches.of(pods).add(pod("a"));
    while (mapped === undefined) await nextTurn();
    expect(mapped - before).toBeLessThan(1000);
  });

  test("a pass over one large object leaves turns to the boards", async () => {
    const clock = new FakeClock();
    let worked = 0;
    const busy: Clock = { now: () => shifted(clock.now(), worked), after: (delay, run) => clock.after(delay, run) };
    function* work<T>(of: T): Steps<T> {
      for (let step = 0; step < 1000; step++) {
        worked++;
        yield;
      }
      return of;
    }
    const turns = new FairTurns(busy);
    const thinking: Partial<Counting> = {
      observe: (_key, site) => site.inTurns(work("site" as const)),
      decideInSteps: (_state, memory) => work({ actions: [], memory: memory + 1 }),
      decideAfterWrites: (decision) => decision,
      decideAfterWritesInSteps: ({ memory }) => work({ actions: [], memory: memory + 1 }),
    };
    const tenant = setUp(thinking, { turns, lane: "workloads" }, clock, busy);
    const boards = setUp({ firstKeys: ["site"], mappings: [] }, { turns, lane: "boards" }, clock, busy);
    void tenant.loop.run(tenant.term);
    void boards.loop.run(boards.term);
    await clock.settle();
    tenant.caches.of(pods).add(pod("large"));
    const waits: number[] = [];
    for (let passes = boards.observed.length; worked < 3000; passes = boards.observed.length) {
      const asked = worked;
      boards.loop.wakeAll();
      for (let turn = 0; boards.observed.length === passes && turn < 100; turn++) await nextTurn();
      waits.push(worked - asked);
    }
    await clock.settle();
    expect(tenant.loop.memoryOf("default/large")).toBe(2);
    expect(waits.length).toBeGreaterThan(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(50);
  });

  test("thousands of objects are walked in slices, without blocking the event loop for long", async () => {
    const clock = new FakeClock();
    let decoded = 0;
    const busy: Clock = { now: () => shifted(clock.now(), decoded), after: (delay, run) => clock.after(delay, run) };
    const { caches, observed, loop, term } = setUp({}, {}, clock, busy);
    for (let index = 0; index < 100; index++) caches.of(pods).add(pod(`pod-${index}`));
    const { list } = caches.of(pods).lister;
    Object.assign(caches.of(pods).lister, {
      *list() {
        for (const object of list()) {
          decoded++;
          yield object;
        }
      },
    });
    void loop.run(term);
    const slices = [];
    for (let turn = 0; turn < 40; turn++) {
      slices.push(decoded);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const [index, before] of slices.entries()) expect((slices[index + 1] ?? 100) - before).toBeLessThan(50);
    expect(new Set(slices).size).toBeGreaterThan(4);
    expect(decoded).toBe(100);
    expect(observed).toHaveLength(100);
  });

  test("every key is processed again on demand", async () => {
    const { clock, caches, observed, loop, term } = setUp({ firstKeys: ["site"] });
    caches.of(pods).add(pod("a"));
    void loop.run(term);
    await clock.settle();
    loop.wakeAll();
    await clock.settle();
    expect(observed).toEqual(["site", "default/a", "site", "default/a"]);
  });
});

describe("a pass", () => {
  test("keeps its memory when every action succeeded, and may ask to run again later", async () => {
    const { clock, executed, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, memory) => ({ actions: [create("x")], memory: memory + 1, requeueAfter: 20_000 }),
    });
    void loop.run(term);
    await clock.settle();
    expect(loop.memoryOf("site")).toBe(1);
    await clock.advance("20s");
    expect(loop.memoryOf("site")).toBe(2);
    expect(executed).toHaveLength(2);
  });

  test("has not failed if its patience postponed acts, as long as the controller remembers them", async () => {
    const { clock, api, loop, log, term } = setUp({
      firstKeys: ["site"],
      maxWait: 1000,
      decide: (_state, memory) => ({ actions: [create("x")], memory: memory + 1 }),
      decideAfterWrites: ({ memory }, outcomes) => ({
        actions: [],
        memory: memory + 10 * outcomes.filter(({ ok }) => !ok).length,
      }),
    });
    api.answer = () => new PostponedError("no time left");
    void loop.run(term);
    await clock.advance("1m");
    expect([loop.memoryOf("site"), loop.stats(clock.now()).errorsLastHour]).toEqual([11, 0]);
    expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test("does not send a request once its patience has ended", async () => {
    const asked: boolean[] = [];
    const { clock, loop, term } = setUp(
      {
        firstKeys: ["site"],
        maxWait: 1000,
        observe: async () => {
          await sleep(clock, 1500, new AbortController().signal);
          return "site" as const;
        },
      },
      {
        site: (pass) => {
          pass.patience?.addEventListener("abort", () => asked.push(pass.patience?.reason instanceof PostponedError));
          return new CachedSiteView({ caches: new SmallCaches(), client: { get: () => Promise.reject() } }, pass);
        },
      },
    );
    void loop.run(term);
    await clock.advance("2s");
    expect(asked).toEqual([true]);
    expect(loop.memoryOf("site")).toBe(1);
  });

  test("keeps the previous memory if an action failed", async () => {
    const { clock, api, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, memory) => ({ actions: [create("x")], memory: memory + 1 }),
    });
    api.answer = () => failing("drop");
    void loop.run(term);
    await clock.settle();
    expect(loop.memoryOf("site")).toBe(0);
  });

  test("may take several rounds at one instant, each decided on the outcome of the one before", async () => {
    const instants: number[] = [];
    const { clock, executed, api, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, _memory, now) => {
        instants.push(now.mono);
        return { actions: [create("first"), create("second")], memory: 0 };
      },
      decideAfterWrites: (decision, outcomes, now) => {
        instants.push(now.mono);
        const went = outcomes.filter(({ ok }) => ok).length;
        if (decision.memory > 0) return { actions: [], memory: decision.memory + went };
        return { actions: [create("third")], memory: went, requeueAfter: 5000 };
      },
    });
    api.answer = (action) =>
      action.do === "create" && action.object.metadata.name === "second" ? failing("drop") : undefined;
    void loop.run(term);
    await clock.settle();
    expect(executed.map((actions) => actions.length)).toEqual([2, 1]);
    expect(loop.memoryOf("site")).toBe(2);
    expect(new Set(instants).size).toBe(1);
  });

  test("that takes long gives each act the time of its observation, because an act that was due then may no longer be due", async () => {
    const since: number[] = [];
    const { clock, loop, term } = setUp(
      {
        firstKeys: ["site"],
        observe: async (): Promise<"site"> => {
          await sleep(clock, 20_000, term.signal);
          return "site";
        },
        decide: () => ({ actions: [create("first")], memory: 0 }),
        decideAfterWrites: ({ memory }) => ({ actions: memory === 0 ? [create("second")] : [], memory: memory + 1 }),
      },
      {
        executor: {
          execute: async (actions, _term, asking) => {
            since.push(asking.since.mono);
            await sleep(clock, 20_000, term.signal);
            return actions.map((action): Outcome => ({ action, ok: true }));
          },
        },
      },
    );
    const begun = clock.now().mono;
    void loop.run(term);
    await clock.advance("2m");
    expect(since).toEqual([begun, begun]);
  });

  test("without work in its first round is still asked what to keep", async () => {
    const { clock, loop, term } = setUp({
      firstKeys: ["site"],
      decideAfterWrites: (decision) => ({ ...decision, memory: 42 }),
    });
    void loop.run(term);
    await clock.settle();
    expect(loop.memoryOf("site")).toBe(42);
  });

  test("that never ends is aborted, and its key backs off", async () => {
    const { clock, log, executed, loop, term } = setUp({
      firstKeys: ["site"],
      decideAfterWrites: (decision) => ({ ...decision, actions: [create("more")] }),
    });
    void loop.run(term);
    await clock.settle();
    expect(executed).toHaveLength(10);
    expect(loop.stats(clock.now()).lastError?.message).toContain("is still deciding actions");
    expect(log.said("warn")).toEqual(["pass failed"]);
  });

  test("whose key is gone drops its memory", async () => {
    const { clock, caches, loop, term } = setUp();
    caches.of(pods).add(pod("a"));
    void loop.run(term);
    await clock.settle();
    expect(loop.memoryOf("default/a")).toBe(1);
    caches.of(pods).remove("default/a");
    await clock.settle();
    expect(loop.memoryOf("default/a")).toBeUndefined();
  });

  test("does not run for keys of other boards", async () => {
    const assignment = { owns: (_name: string, key: string) => key !== "default/b" };
    const { clock, caches, observed, loop, term } = setUp({}, { assignment });
    caches.of(pods).add(pod("a"), pod("b"));
    void loop.run(term);
    await clock.settle();
    expect(observed).toEqual(["default/a"]);
  });

  test("runs on several workers in parallel, never on two for one key", async () => {
    const clock = new FakeClock();
    const now = new Set<string>();
    let most = 0;
    const { caches, loop, term } = setUp(
      {
        observe: async (key) => {
          expect(now.has(key)).toBe(false);
          now.add(key);
          most = Math.max(most, now.size);
          await sleep(clock, 1000, new AbortController().signal);
          now.delete(key);
          return pod("x");
        },
      },
      {},
      clock,
    );
    caches.of(pods).add(pod("a"), pod("b"), pod("c"), pod("d"));
    void loop.run(term);
    for (let step = 0; step < 10; step++) {
      caches.of(pods).add(pod("a"));
      await clock.advance(500);
    }
    expect(most).toBe(2);
    expect(loop.stats(clock.now()).syncP95).toBe(1000);
  });
});

describe("an error of a pass", () => {
  const observing = (error: Error) =>
    setUp({
      firstKeys: ["site"],
      observe: () => {
        throw error;
      },
    });

  test.each([
    ["retry", [1, 2, 12]],
    ["relist", [1, 2, 12]],
    ["refresh", [1, 1, 10]],
    ["drop", [1, 1, 1]],
  ] as const)("that has the disposition %s affects its key accordingly", async (disposition, passes) => {
    const { clock, observed, loop, term } = observing(failing(disposition));
    void loop.run(term);
    const counts = [];
    for (const span of [0, 5, 10_000]) {
      await clock.advance(span);
      counts.push(observed.length);
    }
    const [first, soon, late] = passes;
    expect(counts.slice(0, 2)).toEqual([first, soon]);
    expect(Math.abs((counts[2] ?? 0) - late)).toBeLessThanOrEqual(1);
  });

  test("ends with the first pass that succeeds, so that the backoff restarts", async () => {
    let left = 12;
    const { clock, observed, loop, term } = setUp({
      firstKeys: ["site"],
      observe: () => {
        if (left-- > 0) throw failing("retry");
        return "site";
      },
    });
    void loop.run(term);
    await clock.advance("1m");
    expect(observed).toHaveLength(13);
    left = 1;
    loop.wakeAll();
    await clock.advance(5);
    expect(observed).toHaveLength(15);
  });

  test("that requires a change of its object is dropped until the object changes", async () => {
    const { clock, caches, observed, loop, term } = setUp({
      observe: () => {
        throw new TerminalError("no such zone");
      },
    });
    caches.of(pods).add(pod("a"));
    void loop.run(term);
    await clock.advance("1h");
    expect(observed).toHaveLength(1);
    caches.of(pods).add(pod("a"));
    await clock.advance("1h");
    expect(observed).toHaveLength(2);
  });

  test("of the API with a Retry-After delays the key for that long", async () => {
    const error = refusal("get", 429, "TooManyRequests");
    const { clock, observed, loop, term } = observing(Object.assign(error, { retryAfter: 30_000 }));
    void loop.run(term);
    await clock.advance("29s");
    expect(observed).toHaveLength(1);
    await clock.advance("1s");
    expect(observed).toHaveLength(2);
  });

  test("of an action counts as one of the pass, the gravest first", async () => {
    const { clock, api, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, memory) => ({ actions: [create("a"), create("b")], memory }),
    });
    api.answer = (action) => failing(action.do === "create" && action.object.metadata.name === "a" ? "drop" : "retry");
    void loop.run(term);
    await clock.advance(5);
    expect(loop.stats(clock.now())).toMatchObject({ syncs: 2, errorsLastHour: 2 });
  });

  test("that means that the goal is already reached is not a failure", async () => {
    const { clock, api, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, memory) => ({ actions: [create("a")], memory }),
    });
    api.answer = () => failing("done");
    void loop.run(term);
    await clock.advance("1m");
    expect(loop.stats(clock.now())).toMatchObject({ syncs: 1, errorsLastHour: 0 });
  });

  test("that is unexpected is logged with its stack, and its key backs off like any other", async () => {
    const { clock, log, observed, loop, term } = observing(new Error("a bug"));
    void loop.run(term);
    await clock.advance(5);
    expect(observed).toHaveLength(2);
    expect(log.lines[0]).toMatchObject({ level: "error", fields: { key: "site", stack: expect.any(String) } });
  });

  test("of a broken link is logged once in a while, not for each key", async () => {
    const { clock, log, caches, loop, term } = setUp({
      observe: () => {
        throw failing("retry");
      },
    });
    for (let index = 0; index < 200; index++) caches.of(pods).add(pod(`pod-${index}`));
    void loop.run(term);
    await clock.advance("150s");
    expect(log.said("warn")).toHaveLength(3);
    expect(loop.stats(clock.now()).errorsLastHour).toBeGreaterThan(1000);
  });

  test.each(["exit", "rebuild"] as const)(
    "with the disposition %s ends the loop once all workers have ended",
    async (disposition) => {
      const { clock, loop, term } = observing(failing(disposition));
      const ended = expect(loop.run(term)).rejects.toMatchObject({ cause: { disposition } });
      await clock.advance("1s");
      await ended;
      expect(clock.timers).toBe(0);
    },
  );

  test("during a sweep does not end the loop", async () => {
    const { clock, caches, observed, loop, term } = setUp();
    caches.of(pods).add(pod("a"));
    const { list } = caches.of(pods).lister;
    let busy = true;
    Object.assign(caches.of(pods).lister, {
      list: () => {
        if (busy) throw failing("retry");
        return list();
      },
    });
    void loop.run(term);
    await clock.advance("5s");
    expect(observed).toEqual([]);
    busy = false;
    await clock.advance("1s");
    expect(observed).toEqual(["default/a"]);
  });
});

describe("when a term ends", () => {
  test("every worker returns, all memories are dropped, and no listener is left", async () => {
    const { clock, caches, observed, loop, term } = setUp({
      firstKeys: ["site"],
      decide: (_state, memory) => ({ actions: [], memory: memory + 1, requeueAfter: 1000 }),
    });
    const running = loop.run(term);
    await clock.settle();
    term.end();
    await running;
    expect(loop.memoryOf("site")).toBeUndefined();
    expect(loop.stats(clock.now()).state).toBe("standby");
    expect(caches.of(pods).listeners.size).toBe(0);
    expect(clock.timers).toBe(0);
    caches.of(pods).add(pod("a"));
    await clock.advance("1m");
    expect(observed).toEqual(["site"]);
  });

  test("in the middle of a pass, the loop waits for the pass, and drops the rest", async () => {
    const clock = new FakeClock();
    const { loop, term, log, store } = setUp(
      {
        firstKeys: ["site"],
        durable: asText,
        observe: async (): Promise<"site"> => {
          await sleep(clock, 5000, new AbortController().signal);
          return "site";
        },
      },
      {},
      clock,
    );
    const running = loop.run(term);
    await clock.advance("1s");
    term.end();
    let joined = false;
    void running.then(() => {
      joined = true;
    });
    await clock.advance("3s");
    expect(joined).toBe(false);
    await clock.advance("1s");
    expect(joined).toBe(true);
    expect(store.writes).toBe(0);
    expect(log.said("warn")).toEqual([]);
  });

  test("and another begins, memories start empty and every object is examined again", async () => {
    const { clock, caches, observed, loop, term } = setUp();
    caches.of(pods).add(pod("a"));
    const running = loop.run(term);
    await clock.settle();
    term.end();
    await running;
    void loop.run(new TestTerm(2));
    await clock.settle();
    expect(observed).toEqual(["default/a", "default/a"]);
    expect(loop.memoryOf("default/a")).toBe(1);
  });

  test("before it could begin, the loop returns", async () => {
    const { loop, term, observed } = setUp({ firstKeys: ["site"] });
    term.end();
    await loop.run(term);
    expect(observed).toEqual([]);
  });
});

const asText: Durable<number> = {
  save: (memory) => (memory === 0 ? undefined : String(memory)),
  load: (text) => {
    if (!/^\d+$/.test(text)) throw new Error(`not a number: ${text}`);
    return Number(text);
  },
};

describe("a durable memory", () => {
  test("is restored in the next term, and is written only when it changes", async () => {
    const { clock, caches, store, loop, term } = setUp({
      durable: asText,
      decide: (_state, memory) => ({ actions: [], memory: Math.min(2, memory + 1) }),
    });
    caches.of(pods).add(pod("a"));
    const running = loop.run(term);
    for (let change = 0; change < 10; change++) {
      await clock.settle();
      caches.of(pods).add(pod("a"));
    }
    await clock.settle();
    expect(store.writes).toBe(2);
    term.end();
    await running;
    const next = new TestTerm(2);
    void loop.run(next);
    expect(loop.memoryOf("default/a")).toBe(2);
  });

  test("of an object that has since been deleted is dropped permanently", async () => {
    const { clock, store, observed, loop, term } = setUp({ durable: asText });
    store.texts.set("memory/counting default/gone", "7");
    void loop.run(term);
    await clock.settle();
    expect(observed).toEqual(["default/gone"]);
    expect(store.texts.size).toBe(0);
  });

  test("that is no longer worth keeping is removed", async () => {
    const { clock, caches, store, loop, term } = setUp({
      durable: asText,
      decide: (_state, memory) => ({ actions: [], memory: memory === 0 ? 1 : 0 }),
    });
    caches.of(pods).add(pod("a"));
    void loop.run(term);
    await clock.settle();
    expect(store.texts.size).toBe(1);
    caches.of(pods).add(pod("a"));
    await clock.settle();
    expect(store.texts.size).toBe(0);
  });

  test("that cannot be read is dropped, but the others are not", async () => {
    const { clock, caches, log, store, loop, term } = setUp({ durable: asText });
    caches.of(pods).add(pod("a"), pod("b"));
    store.texts.set("memory/counting default/a", "?");
    store.texts.set("memory/counting default/b", "5");
    void loop.run(term);
    await clock.settle();
    expect([loop.memoryOf("default/a"), loop.memoryOf("default/b")]).toEqual([1, 6]);
    expect(log.said("warn")).toEqual(["the stored state of a controller cannot be read and is dropped"]);
  });

  test("that cannot be written enqueues its key again, and a full disk ends the loop", async () => {
    const { clock, caches, store, observed, loop, term } = setUp({ durable: asText });
    caches.of(pods).add(pod("a"));
    store.broken = failing("retry");
    const running = expect(loop.run(term)).rejects.toMatchObject({ cause: { disposition: "exit" } });
    await clock.advance("1s");
    expect(observed.length).toBeGreaterThan(3);
    store.broken = failing("exit");
    await clock.advance("10s");
    await running;
  });
});

test("a cache whose objects enqueue keys only on a change is not resynced", async () => {
  const keys = ({ key }: { readonly key: string }): readonly string[] => [key];
  const { clock, caches, observed, loop, term } = setUp({ mappings: [enqueueOnChange(pods, keys)] });
  caches.of(pods).add(pod("a"));
  const lister = caches.informer(pods).lister;
  const list = vi.spyOn(lister, "list");
  void loop.run(term);
  await clock.settle();
  expect([list.mock.calls.length, observed.length]).toEqual([0, 0]);
  caches.of(pods).add(pod("b"));
  await clock.settle();
  expect(observed).toEqual(["default/b"]);
});

test("loops that share a permit walk the cache one after the other", async () => {
  const sweeps = new PrioritySemaphore(1);
  const [first, second] = [setUp({}, { resyncs: sweeps }), setUp({}, { resyncs: sweeps })];
  const { signal } = new AbortController();
  await sweeps.acquire(signal);
  for (const { caches, loop, term } of [first, second]) {
    caches.of(pods).add(pod("a"));
    void loop.run(term);
  }
  const states = (): readonly string[] => [first, second].map(({ loop, clock }) => loop.stats(clock.now()).state);
  await first.clock.settle();
  expect(states()).toEqual(["starting", "starting"]);
  sweeps.release();
  await first.clock.settle();
  expect(states()).toEqual(["running", "running"]);
  expect(sweeps.taken).toBe(0);
});

test("a memory that cannot be written now keeps the time at which its key is due again", async () => {
  const { clock, caches, store, observed, loop, term } = setUp({
    durable: asText,
    decide: (_state, memory) => ({ actions: [], memory: memory + 1, requeueAfter: 3000 }),
  });
  caches.of(pods).add(pod("a"));
  store.broken = failing("drop");
  void loop.run(term);
  await clock.advance("2999ms");
  expect(observed).toHaveLength(1);
  await clock.advance("1ms");
  expect(observed).toHaveLength(2);
  expect(loop.memoryOf("default/a")).toBe(2);
});

test("several wakes of one resource share one walk over its objects", async () => {
  let lists = 0;
  const { clock, caches, observed, loop, term } = setUp({
    mappings: [enqueueOn(pods, ({ key }) => [key]), enqueueOn(pods, () => ["site"]), enqueueOn(nodes, () => ["site"])],
  });
  caches.of(pods).add(pod("a"));
  const { list } = caches.of(pods).lister;
  Object.assign(caches.of(pods).lister, {
    list: () => {
      lists++;
      return list();
    },
  });
  void loop.run(term);
  await clock.settle();
  expect(lists).toBe(1);
  expect(observed).toEqual(["default/a", "site"]);
});

describe("a controller that is paused", () => {
  test("does not take keys, keeps new ones, and processes every key when it is resumed", async () => {
    const { clock, caches, observed, loop, term } = setUp();
    caches.of(pods).add(pod("a"), pod("b"));
    void loop.run(term);
    await clock.settle();
    observed.length = 0;
    loop.pause();
    caches.of(pods).add(pod("c"));
    await clock.advance("10m");
    expect(observed).toEqual([]);
    expect(loop.stats(clock.now())).toMatchObject({ state: "paused", queue: 1 });
    expect(loop.progress(clock.now()).at).toBe("idle");
    loop.resume();
    await clock.settle();
    expect([...new Set(observed)].sort()).toEqual(["default/a", "default/b", "default/c"]);
    expect(loop.stats(clock.now()).state).toBe("running");
  });

  test("before its term begins does nothing in it", async () => {
    const { clock, caches, observed, loop, term } = setUp({ firstKeys: ["site"] });
    caches.of(pods).add(pod("a"));
    loop.pause();
    void loop.run(term);
    await clock.advance("1m");
    expect(observed).toEqual([]);
    loop.resume();
    await clock.settle();
    expect([...new Set(observed)].sort()).toEqual(["default/a", "site"]);
  });

  test("ends with its term like any other", async () => {
    const { clock, caches, loop, term } = setUp();
    caches.of(pods).add(pod("a"));
    loop.pause();
    const run = loop.run(term);
    await clock.advance("1m");
    term.end();
    await run;
    expect(loop.stats(clock.now()).state).toBe("standby");
  });
});

describe("the progress of a loop", () => {
  test("is idle without keys, and otherwise that of the pass that has been stuck longest; each completed act is progress", async () => {
    const gates: (() => void)[] = [];
    const { loop, term, clock, caches } = setUp(
      { decide: (_state, memory) => ({ actions: [create("a"), create("b")], memory: memory + 1 }) },
      {
        executor: {
          execute: async (actions, _term, { moved }) => {
            for (const _ of actions) {
              await new Promise<void>((resolve) => gates.push(resolve));
              moved();
            }
            return actions.map((action): Outcome => ({ action, ok: true }));
          },
        },
      },
    );
    const still = (): number | "idle" => {
      const { at } = loop.progress(clock.now());
      return at === "idle" ? at : clock.now().mono - at.mono;
    };
    expect(still()).toBe("idle");
    const running = loop.run(term);
    await clock.advance("1s");
    expect(still()).toBe("idle");
    caches.of(pods).add(pod("a"));
    await clock.advance("10s");
    expect(still()).toBe(10_000);
    gates.shift()?.();
    await clock.advance("4s");
    expect(still()).toBe(4000);
    gates.shift()?.();
    await clock.advance("1s");
    expect(still()).toBe("idle");
    term.end();
    await running;
    expect(still()).toBe("idle");
  });

  test("shows a pass that never ends even if the other workers continue", async () => {
    const { loop, term, clock, caches } = setUp({
      observe: (key, site) => (key === "default/stuck" ? new Promise(() => {}) : site.lister(pods).get(key)),
    });
    void loop.run(term);
    await clock.advance("1s");
    caches.of(pods).add(pod("stuck"));
    for (let second = 0; second < 60; second++) {
      caches.of(pods).add(pod("lively"));
      await clock.advance("1s");
    }
    expect(loop.stats(clock.now()).syncs).toBeGreaterThan(1);
    expect(loop.progress(clock.now())).toEqual({ name: "counting", at: shifted(clock.now(), -60_000) });
  });
});
