import { expect, test } from "vitest";
import { silent } from "../../../agent/base/logger.ts";
import { RequestLimiter } from "../../../agent/client/request-limiter.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

function limiter(qps: number, burst: number) {
  const clock = new FakeClock();
  const passed: string[] = [];
  const limiter = new RequestLimiter({ clock, random: new SeededRandom(), log: silent }, { qps, burst });
  const take = (name: string, signal = new AbortController().signal): Promise<void> =>
    limiter.take(signal).then(
      () => void passed.push(name),
      (reason: unknown) => void passed.push(`${name}: ${reason}`),
    );
  const takeLeftOver = (name: string, signal = new AbortController().signal): Promise<void> =>
    limiter.leftOver.take(signal).then(
      () => void passed.push(name),
      (reason: unknown) => void passed.push(`${name}: ${reason}`),
    );
  return { clock, passed, take, takeLeftOver };
}

test("what may wait goes when none of the others waits, in its own order", async () => {
  const { clock, passed, take, takeLeftOver } = limiter(1, 1);
  for (const name of ["event 1", "event 2", "event 3"]) void takeLeftOver(name);
  for (const name of ["a", "b"]) void take(name);
  await clock.advance("2s");
  expect(passed).toEqual(["event 1", "a", "b"]);
  void take("c");
  await clock.advance("3s");
  expect(passed).toEqual(["event 1", "a", "b", "c", "event 2", "event 3"]);
  expect(clock.timers).toBe(0);
});

test("what may wait gives up as the others do", async () => {
  const { clock, passed, take, takeLeftOver } = limiter(1, 1);
  const stop = new AbortController();
  void take("a");
  void takeLeftOver("event", stop.signal);
  await clock.advance("500ms");
  stop.abort("stopped");
  await clock.settle();
  expect([passed, clock.timers]).toEqual([["a", "event: stopped"], 0]);
});

test("a burst passes at once, the rest in order at the rate", async () => {
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

test("after a pause the burst is there again, not more", async () => {
  const { clock, passed, take } = limiter(1, 2);
  for (const name of ["a", "b"]) void take(name);
  await clock.advance("1h");
  for (const name of ["c", "d", "e"]) void take(name);
  await clock.advance("1ms");
  expect(passed).toEqual(["a", "b", "c", "d"]);
});

test("one that gives up costs no token and leaves no timer", async () => {
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
