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
  return { clock, passed, take };
}

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
