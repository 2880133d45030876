import { beforeEach, describe, expect, test } from "vitest";
import { elapsed, type Millis, sleep } from "../../../agent/base/clock.ts";
import { Comeback } from "../../../agent/informer/comeback.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const blip = 10_000;
const pace = 1200;

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

const boardOf = (seed: number, isUrgent: boolean): Comeback =>
  new Comeback({ clock, log: new RecordingLog(), random: new SeededRandom(seed) }, { blip, isUrgent: () => isUrgent });

/** A stream of a board fails now; when it tries again. */
async function returns(board: Comeback, signal = new AbortController().signal, wait = pace): Promise<Millis> {
  const begun = clock.now();
  const due = board.lost(wait);
  await sleep(clock, wait, signal);
  await board.until(due, signal);
  return elapsed(begun, clock.now());
}

describe("who leads", () => {
  test("is back before a reset has become an outage, but not within client-go's first second and a half", async () => {
    const all = Promise.all(Array.from({ length: 200 }, (_, seed) => returns(boardOf(seed, true))));
    await clock.advance("20s");
    const waits = await all;
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5000);
    expect(Math.max(...waits)).toBeLessThan(9001);
  });

  test("goes back with all streams at one moment", async () => {
    const board = boardOf(3, true);
    const all = Promise.all([returns(board), returns(board), returns(board)]);
    await clock.advance("20s");
    expect(new Set(await all).size).toBe(1);
  });

  test("goes back as soon as its renewal was answered, at the pace of each stream and no sooner", async () => {
    const board = boardOf(3, true);
    const [quick, slow] = [returns(board), returns(board, undefined, 3000)];
    await clock.advance("2s");
    board.reached();
    await clock.advance("20s");
    expect([await quick, await slow]).toEqual([2000, 3000]);
  });

  test("is not kept from a server that answers others meanwhile, nor does it ask that one more often", async () => {
    const board = boardOf(3, true);
    const back = returns(board);
    board.reached();
    await clock.advance("20s");
    expect(await back).toBe(pace);
  });

  test("whose second try fails too chooses anew", async () => {
    const board = boardOf(3, true);
    const first = returns(board);
    await clock.advance("20s");
    await first;
    const second = returns(board);
    await clock.advance("20s");
    expect(await second).toBeLessThan(9001);
    expect(await second).toBeGreaterThanOrEqual(pace);
  });

  test("that stops does not wait", async () => {
    const stop = new AbortController();
    const back = returns(boardOf(3, true), stop.signal);
    await clock.advance("2s");
    stop.abort();
    await clock.settle();
    expect(await back).toBe(2000);
  });
});

test("who does not lead takes up to five minutes, if no request of its own is answered before", async () => {
  const all = Promise.all(Array.from({ length: 100 }, (_, seed) => returns(boardOf(seed, false))));
  await clock.advance("6m");
  const waits = await all;
  const perSecond = new Map<number, number>();
  for (const wait of waits) {
    const second = Math.floor(wait / 1000);
    perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
  }
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(300_000);
  expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(10);
});
