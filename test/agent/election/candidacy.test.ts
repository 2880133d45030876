import { expect, test } from "vitest";
import { Candidacy, type CandidacyDeps, candidateProblems, type Rest } from "../../../agent/election/candidacy.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

function candidacyWith(deps: Partial<CandidacyDeps> = {}) {
  const clock = new FakeClock();
  const stored: (Rest | undefined)[] = [];
  const ambient = { clock, random: new SeededRandom(1), log: new RecordingLog() };
  const rememberRest = (rest: Rest | undefined): void => void stored.push(rest);
  return {
    clock,
    stored,
    candidacy: new Candidacy(ambient, { whyNotToStand: () => undefined, rememberRest, ...deps }),
  };
}

test("reading the reason stores nothing; only `expire` deletes a stored rest that is over", async () => {
  const { clock, stored, candidacy: board } = candidacyWith();
  board.storeRest("maintenance", 60_000);
  await clock.advance(59_999);
  board.expire(clock.now());
  expect(board.reason(clock.now())).toBe("maintenance");
  await clock.advance(1);
  expect(board.reason(clock.now())).toBeUndefined();
  expect(stored.map((rest) => rest?.why)).toEqual(["maintenance"]);
  board.expire(clock.now());
  board.expire(clock.now());
  expect(stored.map((rest) => rest?.why)).toEqual(["maintenance", undefined]);
});

test("a rest that was not stored is not deleted either", async () => {
  const { clock, stored, candidacy: board } = candidacyWith();
  board.rest("too hot", 1000);
  expect(board.reason(clock.now())).toBe("too hot");
  await clock.advance(1000);
  board.expire(clock.now());
  expect([board.reason(clock.now()), stored]).toEqual([undefined, []]);
});

test("the time without a leader counts from the first free Lease, and again after each holder", async () => {
  const { clock, candidacy: board } = candidacyWith({ whyNotToStand: (leaderless) => `for ${leaderless} ms` });
  board.check(clock.now());
  await clock.advance(500);
  expect(board.reason(clock.now())).toBe("for 500 ms");
  board.leaseIsHeld();
  await clock.advance(500);
  expect(board.reason(clock.now())).toBe("for 0 ms");
});

test("a board without a name, or with unusable timing, does not stand", () => {
  const timing = { duration: 15_000, renewDeadline: 10_000, retry: 2000 };
  expect(candidateProblems({ identity: "baz", timing })).toEqual([]);
  expect(candidateProblems({ identity: "", timing: { ...timing, retry: 9000 } })).toEqual([
    "leader.retry: 9s must be shorter than leader.renewDeadline (10s) divided by 1.2",
    "the identity that stands for election must not be empty",
  ]);
});
