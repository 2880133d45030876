import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import {
  Candidacy,
  type CandidacyBackoff,
  type CandidacyDeps,
  candidateProblems,
} from "../../../agent/election/candidacy.ts";
import type { CandidateReading } from "../../../agent/election/lease-observer.ts";
import type { LeaseRecord } from "../../../agent/election/lease-record.ts";
import type { LeaseState } from "../../../agent/election/lease-rules.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { edge } from "./support/election.ts";

const start: Instant = { mono: 0, wall: 0 };
const never: Instant = { mono: Number.MAX_SAFE_INTEGER, wall: 0 };

const lease = (more: Partial<LeaseRecord> = {}): LeaseRecord => ({
  uid: "one",
  resourceVersion: "1",
  holder: undefined,
  durationSeconds: 60,
  term: 0,
  renewal: 0,
  annotations: {},
  ...more,
});

function candidacyWith(deps: Partial<CandidacyDeps> = {}) {
  const clock = new FakeClock();
  const stored: (CandidacyBackoff | undefined)[] = [];
  const ambient = { clock, random: new SeededRandom(1), log: new RecordingLog() };
  const rememberRest = (rest: CandidacyBackoff | undefined): void => void stored.push(rest);
  return {
    clock,
    stored,
    candidacy: new Candidacy(ambient, { timing: edge, whyNotToStand: () => undefined, rememberRest, ...deps }),
  };
}

/** A read of the Lease in this state, and whether it has an unanswered write of this board. */
function read(is: "free" | "held" | "ours", { isUnanswered = false } = {}): CandidateReading {
  const record = lease({ holder: is === "free" ? undefined : is });
  const states = {
    free: { is: "free", record, blockedUntil: undefined, freeSince: start },
    held: { is: "held", record, blockedUntil: never },
    ours: { is: "ours", record, foreignRenewalAt: undefined },
  } satisfies Record<string, LeaseState>;
  const steps = {
    free: { do: "take", record, term: 1 },
    held: { do: "wait", until: never },
    ours: { do: "renew", record },
  } as const;
  return { step: steps[is], seen: { state: states[is], changedAt: start, highestTerm: 0 }, isUnanswered };
}

test("reading the reason does not store anything; only the next attempt deletes a stored rest that has ended", async () => {
  const { clock, stored, candidacy: board } = candidacyWith();
  board.storeRest("maintenance", 60_000);
  await clock.advance(59_999);
  board.beginAttempt(clock.now());
  expect(board.reason(clock.now())).toBe("maintenance");
  await clock.advance(1);
  expect(board.reason(clock.now())).toBeUndefined();
  expect(stored.map((rest) => rest?.why)).toEqual(["maintenance"]);
  board.beginAttempt(clock.now());
  board.beginAttempt(clock.now());
  expect(stored.map((rest) => rest?.why)).toEqual(["maintenance", undefined]);
});

test("a rest that was not stored does not cause a deletion", async () => {
  const { clock, stored, candidacy: board } = candidacyWith();
  board.rest("too hot", 1000);
  expect(board.reason(clock.now())).toBe("too hot");
  await clock.advance(1000);
  board.beginAttempt(clock.now());
  expect([board.reason(clock.now()), stored]).toEqual([undefined, []]);
});

test("the time without a leader counts from the first free Lease, and again after each holder", async () => {
  const { clock, candidacy: board } = candidacyWith({ whyNotToStand: (leaderless) => `for ${leaderless} ms` });
  board.noteRead(read("free"), clock.now());
  await clock.advance(500);
  expect(board.reason(clock.now())).toBe("for 500 ms");
  board.noteRead(read("held"), clock.now());
  await clock.advance(500);
  expect(board.reason(clock.now())).toBe("for 0 ms");
});

describe("a board whose claims are written, but answered too late,", () => {
  const expired = { is: "expired", why: "no renewal for 40s" } as const;
  const left = { is: "left", why: "an operator asked", byWork: false, successor: undefined } as const;
  const rest = 2 * (edge.duration + edge.retry);
  const tooLate = "its claims reach the Lease, but the answers arrive too late for it to lead";

  /** Claims that are written to the Lease, as the next read shows, but whose answers never arrive. */
  function fruitless(board: Candidacy, now: Instant, claims: number): void {
    for (let claim = 0; claim < claims; claim++) {
      board.noteRead(read("free"), now);
      board.noteRead(read("ours", { isUnanswered: true }), now);
    }
  }

  test("reports it after the first claim, and rests after the second for as long as a takeover may take", async () => {
    const { clock, candidacy: board } = candidacyWith();
    expect(board.fruitless).toBeUndefined();
    fruitless(board, clock.now(), 1);
    expect([board.fruitless, board.reason(clock.now())]).toEqual([tooLate, undefined]);
    fruitless(board, clock.now(), 1);
    await clock.advance(rest - 1);
    expect(board.reason(clock.now())).toBe(tooLate);
    await clock.advance(1);
    expect(board.reason(clock.now())).toBeUndefined();
  });

  test("rests again after each additional claim, and stores only the first rest", async () => {
    const { clock, stored, candidacy: board } = candidacyWith();
    fruitless(board, clock.now(), 2);
    for (let round = 0; round < 3; round++) {
      await clock.advance(rest);
      board.beginAttempt(clock.now());
      expect(board.reason(clock.now())).toBeUndefined();
      fruitless(board, clock.now(), 1);
      expect(board.reason(clock.now())).toBe(tooLate);
    }
    expect(stored.map((one) => one?.why)).toEqual([tooLate, undefined]);
  });

  test("rests from the last write that the Lease shows, even if that write arrived during the rest", async () => {
    const { clock, stored, candidacy: board } = candidacyWith();
    fruitless(board, clock.now(), 2);
    await clock.advance(10_000);
    board.noteRead(read("ours", { isUnanswered: true }), clock.now());
    await clock.advance(rest - 1);
    expect(board.reason(clock.now())).toBe(tooLate);
    await clock.advance(1);
    board.beginAttempt(clock.now());
    expect(board.reason(clock.now())).toBeUndefined();
    expect(stored.map((one) => one?.why)).toEqual([tooLate, undefined]);
  });

  test("counts a term without an answered renewal as such a claim, but does not count its late renewal again", () => {
    const { clock, candidacy: board } = candidacyWith();
    expect(board.noteRead(read("free"), clock.now())).toBe(true);
    board.noteTermEnded(expired, { isRenewed: false, lasted: 40_000 });
    expect(board.noteRead(read("ours", { isUnanswered: true }), clock.now())).toBe(true);
    board.noteTermEnded(expired, { isRenewed: false, lasted: 40_000 });
    expect(board.reason(clock.now())).toBe(tooLate);
  });

  test.each<[string, (board: Candidacy) => void]>([
    ["a term of five lease durations", (board) => board.noteTermEnded(expired, { isRenewed: true, lasted: 300_000 })],
    ["a renewed term that it left by itself", (board) => board.noteTermEnded(left, { isRenewed: true, lasted: 1000 })],
    ["a term of another board", (board) => void board.noteRead(read("held"), start)],
  ])("restarts the count after %s", (_, happens) => {
    const { clock, candidacy: board } = candidacyWith();
    fruitless(board, clock.now(), 1);
    happens(board);
    expect(board.fruitless).toBeUndefined();
    fruitless(board, clock.now(), 1);
    expect(board.reason(clock.now())).toBeUndefined();
  });

  test("counts a term that was renewed for less than that, if it then reads an unanswered renewal", () => {
    const { clock, candidacy: board } = candidacyWith();
    for (let term = 0; term < 2; term++) {
      expect(board.reason(clock.now())).toBeUndefined();
      board.noteRead(read("free"), clock.now());
      board.noteTermEnded(expired, { isRenewed: true, lasted: 299_999 });
      expect(board.reason(clock.now())).toBeUndefined();
      board.noteRead(read("ours", { isUnanswered: true }), clock.now());
    }
    expect(board.reason(clock.now())).toBe(tooLate);
  });

  test("does not count a term that it left by itself", () => {
    const { clock, candidacy: board } = candidacyWith();
    board.noteRead(read("free"), clock.now());
    board.noteTermEnded(left, { isRenewed: false, lasted: 40_000 });
    expect(board.fruitless).toBeUndefined();
  });

  test("does not shorten another rest", async () => {
    const { clock, candidacy: board } = candidacyWith();
    board.rest("maintenance", 2 * rest);
    fruitless(board, clock.now(), 2);
    await clock.advance(rest + 1);
    expect(board.reason(clock.now())).toBe("maintenance");
  });

  test("rests even if that cannot be stored", () => {
    const { clock, candidacy: board } = candidacyWith({
      rememberRest: () => {
        throw new Error("read-only");
      },
    });
    fruitless(board, clock.now(), 2);
    expect(board.reason(clock.now())).toBe(tooLate);
  });
});

test("a board without a name, or with unusable timing, is not a candidate", () => {
  const timing = { duration: 15_000, renewDeadline: 10_000, retry: 2000 };
  expect(candidateProblems({ identity: "baz", timing })).toEqual([]);
  expect(candidateProblems({ identity: "", timing: { ...timing, retry: 9000 } })).toEqual([
    "leader.retry: 9s must be shorter than leader.renewDeadline (10s) divided by 1.2",
    "the identity that stands for election must not be empty",
  ]);
});
