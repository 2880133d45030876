import { expect, test } from "vitest";
import type { Millis } from "../../../agent/base/clock.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { Fitness } from "../../../agent/leading/fitness.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const minute: Millis = 60_000;
const leader = { duration: minute, sickFor: minute };
const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });
const standby = { name: "pi-2", isReady: true, standby: "ready" };

/** A board of which so many processes in a row left a broken term. */
class Board {
  readonly clock = new FakeClock();
  readonly fitness: Fitness;
  broken: number;
  deferrals = 0;
  barred: string | undefined;

  constructor(broken = 0) {
    this.broken = broken;
    const board = this;
    const terms = {
      get brokenTerms() {
        return board.broken;
      },
      resetBrokenTerms: () => {
        this.broken = 0;
      },
      deferred: () => {
        this.deferrals++;
      },
    };
    this.fitness = new Fitness(
      { clock: this.clock, random: new SeededRandom(1), log: noopLogger },
      { leader, terms, barred: () => this.barred },
    );
  }
}

test("an unwatched board counts as healthy, and has no quiet hours", () => {
  const { fitness } = new Board();
  fitness.attachPeers(() => [standby]);
  const shown = [fitness.whyNotToStand(0), fitness.whyToLeave(at(3600)), fitness.quietHoursAt(at(0)), fitness.unwell];
  expect(shown).toEqual([undefined, undefined, undefined, undefined]);
});

test("a board that is barred is not a candidate, regardless of how long the Lease has been free", () => {
  const board = new Board();
  board.barred = "settings of the fleet are not in force";
  const { fitness } = board;
  expect([fitness.whyNotToStand(3_600_000), fitness.unwell]).toEqual([board.barred, board.barred]);
});

test("an unwell board is not a candidate for two Lease durations, and steps down once another board is a standby", () => {
  const { fitness } = new Board();
  const quiet = { until: undefined, why: "quiet hours" };
  fitness.attachBoardWatch({ sickness: () => ({ why: "undervolted", since: at(0) }), quietHoursAt: () => quiet });
  expect([fitness.whyNotToStand(119_999), fitness.whyNotToStand(120_000)]).toEqual(["undervolted", undefined]);
  expect(fitness.whyToLeave(at(60))).toBeUndefined();
  fitness.attachPeers(() => [standby]);
  expect(fitness.whyToLeave(at(60))).toMatch(/^undervolted for .*, and pi-2 is a standby$/);
  expect(fitness.quietHoursAt(at(0))).toBe(quiet);
});

test("a deaf leader leaves the Lease to a standby, at most once an hour", () => {
  const { fitness } = new Board();
  const deaf = (since: number) => ({ why: "its watches have failed", since: at(since) });
  expect(fitness.whyToLeave(at(60), { deafness: deaf(0) })).toBeUndefined();
  fitness.attachPeers(() => [standby]);
  expect(fitness.whyToLeave(at(59), { deafness: deaf(0) })).toBeUndefined();
  expect(fitness.whyToLeave(at(60), { deafness: deaf(0) })).toBe(
    "its watches have failed for 1m, and pi-2 is a standby",
  );
  expect(fitness.whyToLeave(at(3659), { deafness: deaf(300) })).toBeUndefined();
  expect(fitness.whyToLeave(at(3660), { deafness: deaf(300) })).toMatch(
    /^its watches have failed for .*, and pi-2 is a standby$/,
  );
});

test("a leader that cannot act leaves the Lease only to a board that it knows, at most once an hour together with deafness", () => {
  const { fitness } = new Board();
  const unable = { incapacity: { why: "its requests to delete pods have failed", since: at(0) } };
  fitness.attachPeers(() => undefined);
  expect(fitness.whyToLeave(at(60), unable)).toBeUndefined();
  fitness.attachPeers(() => [{ ...standby, isReady: false }]);
  expect(fitness.whyToLeave(at(60), unable)).toBeUndefined();
  fitness.attachPeers(() => [standby]);
  expect(fitness.whyToLeave(at(59), unable)).toBeUndefined();
  expect(fitness.whyToLeave(at(60), unable)).toBe(
    "its requests to delete pods have failed for 1m, and pi-2 is a standby",
  );
  expect(fitness.whyToLeave(at(3659), unable)).toBeUndefined();
  expect(fitness.mayLeaveDeaf(at(3659))).toBe(false);
  expect(fitness.whyToLeave(at(3660), unable)).toBeDefined();
});

test("a deaf leader that has never listed the boards leaves the Lease once an hour, because another board may be a standby", () => {
  const { fitness } = new Board();
  const deaf = (since: number) => ({ why: "its watches have failed", since: at(since) });
  fitness.attachPeers(() => undefined);
  expect(fitness.whyToLeave(at(59), { deafness: deaf(0) })).toBeUndefined();
  expect(fitness.whyToLeave(at(60), { deafness: deaf(0) })).toBe(
    "its watches have failed for 1m, and it has never listed the boards",
  );
  expect(fitness.whyToLeave(at(3659), { deafness: deaf(300) })).toBeUndefined();
  expect(fitness.whyToLeave(at(3660), { deafness: deaf(300) })).toBeDefined();
});

test("an undervolted leader that has never listed the boards keeps the Lease, because it may be alone", () => {
  const { fitness } = new Board();
  fitness.attachBoardWatch({ sickness: () => ({ why: "undervolted", since: at(0) }), quietHoursAt: () => undefined });
  fitness.attachPeers(() => undefined);
  expect(fitness.whyToLeave(at(600))).toBeUndefined();
});

test.each([
  ["two terms ended abruptly", 2, [standby], 0, false],
  ["three terms ended abruptly", 3, [standby], 0, true],
  ["three terms ended abruptly, and the Lease has almost been free for two terms", 3, [standby], 119_999, true],
  ["three terms ended abruptly, and the Lease has been free for two terms", 3, [standby], 120_000, false],
  ["three terms ended abruptly, on a site of one board", 3, [], 0, false],
  ["three terms ended abruptly, and so did those of the other board", 3, [{ ...standby, standby: "unwell" }], 0, false],
  ["three terms ended abruptly, and the other board is not ready", 3, [{ ...standby, isReady: false }], 0, false],
])("does a board leave the Lease to others? %s", (_, broken, peers, leaderlessFor, does) => {
  const { fitness } = new Board(broken);
  fitness.attachPeers(() => peers);
  expect(fitness.whyNotToStand(leaderlessFor) !== undefined).toBe(does);
  expect(fitness.unwell !== undefined).toBe(broken >= 3);
});

test.each([
  ["a term that lasts for five minutes", (fitness: Fitness, signal: AbortSignal) => fitness.duringTerm(signal), 5],
  ["a process that runs for an hour", (fitness: Fitness, signal: AbortSignal) => fitness.run(signal), 60],
])("the board counts as well again after %s, but not earlier", async (_, run, minutes) => {
  const board = new Board(3);
  const running = run(board.fitness, new AbortController().signal);
  await board.clock.advance(minutes * minute - 1);
  expect(board.broken).toBe(3);
  await board.clock.advance(1);
  await running;
  expect(board.broken).toBe(0);
});

test("a term that ends in order does not count as broken, even if it is short; a process that stops early proves nothing", async () => {
  const board = new Board(3);
  const stop = new AbortController();
  const process = board.fitness.run(stop.signal);
  stop.abort();
  await process;
  expect(board.broken).toBe(3);
  const end = new AbortController();
  const term = board.fitness.duringTerm(end.signal);
  end.abort();
  await term;
  expect(board.broken).toBe(0);
});

test.each([
  [2, 0],
  [3, 1],
])(
  "after %i broken terms the next process does not have to leave the Lease to others: stored %i times",
  (broken, times) => {
    const board = new Board(broken);
    board.fitness.attachPeers(() => [standby]);
    board.fitness.standsAside();
    board.fitness.standsAside();
    expect(board.deferrals).toBe(times);
    expect(board.fitness.whyNotToStand(0) !== undefined).toBe(broken === 3);
  },
);
