import { beforeEach, describe, expect, test } from "vitest";
import { elapsed, type Millis, sleep } from "../../../../agent/base/clock.ts";
import { ReconnectScheduler, type SiteRank } from "../../../../agent/informer/reflector/reconnect-scheduler.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const within = 9000;
const pace = 1200;

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

const scheduler = (seed: number, isUrgent: () => boolean, rank: SiteRank | undefined): ReconnectScheduler => {
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(seed) };
  const scheduler = new ReconnectScheduler(ambient, { within, isUrgent });
  scheduler.ranked(rank);
  return scheduler;
};

const leaderOf = (site: SiteRank | undefined, seed = 3): ReconnectScheduler => scheduler(seed, () => true, site);
const standby = (seed: number): ReconnectScheduler => scheduler(seed, () => false, undefined);

const alone: SiteRank = { rank: 0, of: 1 };
const last: SiteRank = { rank: 24, of: 25 };
const sites = (of: number): readonly SiteRank[] => Array.from({ length: of }, (_, rank) => ({ rank, of }));

/** A stream of a board fails now; when it tries again. */
async function returns(board: ReconnectScheduler, signal = new AbortController().signal, wait = pace): Promise<Millis> {
  const begun = clock.now();
  const due = board.lost(wait);
  await sleep(clock, wait, signal);
  await board.until(due, signal);
  return elapsed(begun, clock.now());
}

/** A renewal comes due now; how long it is held back. */
async function renewalWaits(board: ReconnectScheduler): Promise<Millis> {
  const begun = clock.now();
  await board.inTurn(new AbortController().signal);
  return elapsed(begun, clock.now());
}

async function all<T>(those: readonly Promise<T>[]): Promise<readonly T[]> {
  const waits = Promise.all(those);
  await clock.advance("6m");
  return waits;
}

function mostInASecond(moments: readonly Millis[]): number {
  return Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + 1000).length));
}

describe("a leader", () => {
  test("of the only site reconnects at the pace of its streams, and does not delay its renewals", async () => {
    const board = leaderOf(alone);
    expect(await all([returns(board), renewalWaits(board)])).toEqual([pace, pace]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "of one of 25 sites reconnects in its turn, before a reset has become an outage (seed %i)",
    async (seed) => {
      const waits = await all(sites(25).map((site) => returns(leaderOf(site, seed * 100 + site.rank))));
      expect(mostInASecond(waits)).toBeLessThanOrEqual(5);
      expect(Math.max(...waits)).toBeLessThanOrEqual(within);
      expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    },
  );

  test("of one of a few sites waits for less time", async () => {
    const waits = await all(sites(4).map((site) => returns(leaderOf(site, site.rank))));
    expect(Math.max(...waits)).toBeLessThanOrEqual(2000);
  });

  test("that knows of no other sites reconnects at any moment before a reset becomes an outage", async () => {
    const waits = await all(Array.from({ length: 100 }, (_, seed) => returns(leaderOf(undefined, seed))));
    expect(Math.max(...waits)).toBeLessThanOrEqual(within);
    expect(mostInASecond(waits)).toBeLessThan(40);
  });

  test("also renews in its turn, but waits for a turn only once", async () => {
    const board = leaderOf(last);
    const [back, renewal] = await all([returns(board), renewalWaits(board)]);
    expect(renewal).toBe(back);
    expect(renewal).toBeGreaterThan(8000);
    const again = returns(board);
    expect(await renewalWaits(board)).toBe(0);
    await clock.advance("1m");
    expect(await again).toBeLessThanOrEqual(within);
  });

  test("renews in time regardless of how often the link was reset and how long its streams wait", async () => {
    for (const site of [alone, last, undefined]) {
      const board = leaderOf(site);
      for (const wait of [1200, 2400, 4800, 9600, 19_200, 38_400, 45_000]) {
        const back = returns(board, undefined, wait);
        const renewal = renewalWaits(board);
        await clock.advance("5m");
        expect(await renewal).toBeLessThanOrEqual(within);
        await back;
        board.reached();
      }
    }
  });

  test("whose term has ended releases the Lease without waiting for its turn", async () => {
    let leads = true;
    const board = scheduler(3, () => leads, last);
    void board.lost(pace);
    leads = false;
    expect(await renewalWaits(board)).toBe(0);
  });

  test("reconnects all streams at one moment", async () => {
    const board = leaderOf(last);
    const waits = await all([returns(board), returns(board), returns(board)]);
    expect(new Set(waits).size).toBe(1);
  });

  test("reconnects as soon as a response has arrived, at the pace of each stream and no sooner", async () => {
    const board = leaderOf(last);
    const [quick, slow, renewal] = [returns(board), returns(board, undefined, 3000), renewalWaits(board)];
    await clock.advance("2s");
    board.reached();
    await clock.advance("20s");
    expect([await quick, await slow, await renewal]).toEqual([2000, 3000, 2000]);
  });

  test("uses a server that responds to others in the meantime, and does not send it more requests", async () => {
    const board = leaderOf(last);
    const back = returns(board);
    board.reached();
    await clock.advance("20s");
    expect(await back).toBe(pace);
    expect(await renewalWaits(board)).toBe(0);
  });

  test("whose second attempt fails too chooses a new moment", async () => {
    const board = leaderOf(last);
    await all([returns(board)]);
    const [second = Number.NaN] = await all([returns(board)]);
    expect(second).toBeLessThanOrEqual(within);
    expect(second).toBeGreaterThanOrEqual(pace);
  });

  test("that stops does not wait", async () => {
    const stop = new AbortController();
    const back = returns(leaderOf(last), stop.signal);
    await clock.advance("2s");
    stop.abort();
    await clock.settle();
    expect(await back).toBe(2000);
  });
});

test("a follower reconnects within five minutes, or once it gets a response to one of its own requests", async () => {
  const waits = await all(Array.from({ length: 100 }, (_, seed) => returns(standby(seed))));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(300_000);
  expect(mostInASecond(waits)).toBeLessThanOrEqual(10);
});

test("a follower does not delay its reads of the Lease", async () => {
  const board = standby(3);
  const back = returns(board);
  expect(await renewalWaits(board)).toBe(0);
  await clock.advance("6m");
  await back;
});
