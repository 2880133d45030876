import { expect, test } from "vitest";
import type { Lane } from "../../../agent/base/concurrency/lanes.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { RequestLimiter } from "../../../agent/client/request-limiter.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

function limiter(qps: number, burst: number) {
  const clock = new FakeClock();
  const passed: string[] = [];
  const limiter = new RequestLimiter({ clock, random: new SeededRandom(), log: noopLogger }, { qps, burst });
  const take = (name: string, signal = new AbortController().signal, lane?: Lane): Promise<void> =>
    limiter.take(signal, lane).then(
      () => void passed.push(name),
      (reason: unknown) => void passed.push(`${name}: ${reason}`),
    );
  return { clock, passed, take };
}

const { signal } = new AbortController();

test("the lane of boards goes before earlier requests of other lanes, and Events go last", async () => {
  const { clock, passed, take } = limiter(1, 1);
  for (const name of ["event 1", "event 2"]) void take(name, signal, "events");
  for (const name of ["pod 1", "pod 2"]) void take(name, signal, "workloads");
  for (const name of ["taint 1", "taint 2"]) void take(name);
  await clock.advance("5s");
  expect(passed).toEqual(["event 1", "taint 1", "taint 2", "pod 1", "pod 2", "event 2"]);
  expect(clock.timers).toBe(0);
});

test("a storm of workloads delays the lane of boards by one token, and boards delay the workloads without stopping them", async () => {
  const { clock, passed, take } = limiter(10, 1);
  for (let pod = 0; pod < 1000; pod++) void take("pod", signal, "workloads");
  await clock.advance("1s");
  void take("taint");
  await clock.advance("100ms");
  expect(passed.slice(-1)).toEqual(["taint"]);
  passed.length = 0;
  for (let board = 0; board < 1000; board++) void take("condition");
  for (let event = 0; event < 1000; event++) void take("event", signal, "events");
  await clock.advance("64s");
  const count = (what: string): number => passed.filter((name) => name === what).length;
  expect([count("condition"), count("pod"), count("event")]).toEqual([520, 80, 40]);
});

test("an aborted wait in a lane does not leave a timer", async () => {
  const { clock, passed, take } = limiter(1, 1);
  const stop = new AbortController();
  void take("a");
  void take("event", stop.signal, "events");
  await clock.advance("500ms");
  stop.abort("stopped");
  await clock.settle();
  expect([passed, clock.timers]).toEqual([["a", "event: stopped"], 0]);
});

test("a burst passes immediately, and the rest follows in order at the limited rate", async () => {
  const { clock, passed, take } = limiter(2, 3);
  for (const name of ["a", "b", "c", "d", "e"]) void take(name);
  await clock.advance("499ms");
  expect(passed).toEqual(["a", "b", "c"]);
  await clock.advance("1ms");
  expect(passed).toEqual(["a", "b", "c", "d"]);
  await clock.advance("500ms");
  expect(passed).toEqual(["a", "b", "c", "d", "e"]);
  expect(clock.timers).toBe(0);
});

test("after a pause the burst is available again, and no more", async () => {
  const { clock, passed, take } = limiter(1, 2);
  for (const name of ["a", "b"]) void take(name);
  await clock.advance("1h");
  for (const name of ["c", "d", "e"]) void take(name);
  await clock.advance("1ms");
  expect(passed).toEqual(["a", "b", "c", "d"]);
});

test("an aborted wait neither costs a token nor leaves a timer", async () => {
  const { clock, passed, take } = limiter(1, 1);
  const stop = new AbortController();
  void take("a");
  void take("b", stop.signal);
  void take("c");
  await clock.advance("500ms");
  stop.abort("stopped");
  await clock.advance("500ms");
  expect(passed).toEqual(["a", "b: stopped", "c"]);
  void take("d", AbortSignal.abort("late"));
  await clock.advance("1ms");
  expect(passed).toContain("d: late");
  expect(clock.timers).toBe(0);
});
