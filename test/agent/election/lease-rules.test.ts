import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { type LeaseRecord, recordOf } from "../../../agent/election/lease-record.ts";
import {
  type Candidate,
  nextCandidateStep,
  nextLeaderStep,
  type Observation,
  observe,
} from "../../../agent/election/lease-rules.ts";

const timing = { duration: 10_000, renewDeadline: 5000, retry: 2000 };
const baz: Candidate = { identity: "baz", timing };

const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: seconds * 1000 });

let version = 0;
const lease = (change: Partial<LeaseRecord> = {}): LeaseRecord => ({
  uid: "one",
  resourceVersion: String(++version),
  holder: "bing",
  durationSeconds: 10,
  term: 0,
  renewal: version,
  annotations: {},
  ...change,
});

type Reading = readonly [seconds: number, record: LeaseRecord | undefined];

/** A candidate, and the highest term that it knows of from elsewhere. */
type Reader = Candidate & { readonly knownTerm?: number };

/** A story of readings of the Lease; what the last one leads to. `wrote`: the renewals that we sent. */
function stepAfter(readings: readonly Reading[], who: Reader = baz, leading = false, wrote: readonly number[] = []) {
  let seen: Observation | undefined;
  let now = at(0);
  for (const [seconds, record] of readings) {
    now = at(seconds);
    const isOwnRenewal = (renewal: number): boolean => wrote.includes(renewal);
    seen = observe(seen, { record, at: now, leading, isOwnRenewal, knownTerm: who.knownTerm }, who);
  }
  if (!seen) throw new Error("the story has no reading");
  return leading ? nextLeaderStep(seen) : nextCandidateStep(seen, who, now);
}

describe("a Lease that a candidate reads", () => {
  test.each([{}, { formerIdentity: "baz", identity: "baz-2" }])(
    "from a backup that names us in an older term is taken when the last term has ended, in a higher term",
    (who) => {
      const ours = lease({ holder: "baz", term: 5 });
      const me = { ...baz, knownTerm: 7, ...who };
      expect(stepAfter([[0, ours]], me)).toMatchObject({ do: "wait", until: at(10) });
      const readings = [0, 10].map((seconds): Reading => [seconds, ours]);
      expect(stepAfter(readings, me)).toMatchObject({ do: "take", term: 8 });
    },
  );

  test("that names us in the highest term that we remember is ours", () => {
    const me = { ...baz, knownTerm: 7 };
    expect(stepAfter([[0, lease({ holder: "baz", term: 7 })]], me)).toMatchObject({
      do: "renew",
      record: { term: 7 },
    });
  });

  test("that does not exist is created, with term 0", () => {
    expect(stepAfter([[0, undefined]])).toEqual({ do: "create", term: 0 });
  });

  const short = lease({ durationSeconds: 3 });
  test.each([
    [0, "wait"],
    [2.999, "wait"],
    [3, "take"],
    [9, "take"],
  ])("of a holder that wrote 3 s is trusted for 3 s, not for our own 10 s (read at %s s: %s)", (seconds, step) => {
    expect(
      stepAfter([
        [0, short],
        [seconds, short],
      ]),
    ).toMatchObject(step === "take" ? { do: "take", term: 1 } : { do: "wait", until: at(3) });
  });

  test("without a holder is taken at the first read", () => {
    expect(stepAfter([[0, lease({ holder: undefined, term: 4 })]])).toMatchObject({ do: "take", term: 5 });
  });

  test("of our own is renewed in the same term", () => {
    const own = lease({ holder: "baz", term: 7 });
    expect(stepAfter([[0, own]])).toMatchObject({ do: "renew", record: { term: 7 } });
    expect(stepAfter([[0, own]], baz, true)).toMatchObject({ do: "renew", record: { term: 7 } });
  });

  test("of a holder that renews is trusted from its last change on", () => {
    const renewals = Array.from({ length: 11 }, (_, index): Reading => [index * 2, lease({ durationSeconds: 15 })]);
    const last = renewals.at(-1)?.[1];
    expect(stepAfter([...renewals, [34.9, last]])).toEqual({ do: "wait", until: at(35) });
    expect(stepAfter([...renewals, [35, last]])).toMatchObject({ do: "take", term: 1 });
  });

  test("that is renewed twice within one second has changed twice", () => {
    const [first, second] = [lease(), lease()];
    expect(
      stepAfter([
        [0, first],
        [0.5, second],
        [10.2, second],
      ]),
    ).toEqual({ do: "wait", until: at(10.5) });
  });

  test.each([
    ["missing", undefined, 10],
    ["zero", 0, 10],
    ["negative", -5, 10],
    ["not a number", Number.NaN, 10],
    ["a century", 3e9, 3600],
    ["half a second", 0.5, 0.5],
  ])("with a duration that is %s is trusted for %3$s s", (_, durationSeconds, believed) => {
    expect(stepAfter([[0, lease({ durationSeconds })]])).toEqual({ do: "wait", until: at(believed) });
  });

  test("of this board's previous process is taken immediately, but only if the identity is exactly its own", () => {
    const held = lease({ holder: "baz_1", term: 3 });
    const me = { ...baz, identity: "baz_2", formerIdentity: "baz_1" };
    expect(stepAfter([[0, held]], me)).toMatchObject({ do: "take", term: 4 });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: "baz_10" })).toMatchObject({ do: "wait" });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: "" })).toMatchObject({ do: "wait" });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: undefined })).toMatchObject({ do: "wait" });
  });
});

describe("a Lease that is deleted, or deleted and recreated", () => {
  const held = lease({ term: 4 });
  const anew = lease({ uid: "two", holder: undefined });

  test("does not end the term of its holder, who may have just renewed: others wait a full duration", () => {
    const gone: readonly Reading[] = [
      [0, held],
      [9, undefined],
    ];
    expect(stepAfter([...gone])).toEqual({ do: "wait", until: at(19) });
    expect(stepAfter([...gone, [18.9, undefined]])).toEqual({ do: "wait", until: at(19) });
    expect(stepAfter([...gone, [19, undefined]])).toEqual({ do: "create", term: 5 });
  });

  test("without a holder is not taken before the time of its previous holder has passed", () => {
    const made: readonly Reading[] = [
      [0, held],
      [1, undefined],
      [2, anew],
    ];
    expect(stepAfter([...made])).toEqual({ do: "wait", until: at(11) });
    expect(stepAfter([...made, [3, anew]])).toEqual({ do: "wait", until: at(11) });
    expect(stepAfter([...made, [4, { ...anew, resourceVersion: "labelled" }]])).toEqual({ do: "wait", until: at(11) });
    expect(stepAfter([...made, [11, anew]])).toMatchObject({ do: "take", term: 5 });
    expect(
      stepAfter([
        [0, held],
        [2, anew],
      ]),
    ).toEqual({ do: "wait", until: at(12) });
  });

  test("right after our own renewal is recreated immediately, but not after a suspension", () => {
    const own = lease({ holder: "baz", term: 4 });
    const deletedAfter = (seconds: number) =>
      stepAfter([
        [0, own],
        [seconds, undefined],
      ]);
    expect(deletedAfter(4.9)).toEqual({ do: "create", term: 5 });
    expect(deletedAfter(5)).toEqual({ do: "wait", until: at(15) });
    expect(deletedAfter(5000)).toEqual({ do: "wait", until: at(5010) });
  });

  test("right after a restored backup of it named us in an older term is waited for, because others may have led since", () => {
    const outdated = lease({ holder: "baz", term: 5 });
    const readings: readonly Reading[] = [
      [0, outdated],
      [1, undefined],
    ];
    expect(stepAfter(readings, { ...baz, knownTerm: 7 })).toEqual({ do: "wait", until: at(11) });
  });

  test("after a release by its own holder is free", () => {
    expect(
      stepAfter([
        [0, lease({ term: 4 })],
        [1, lease({ holder: undefined, durationSeconds: 1, term: 4 })],
      ]),
    ).toMatchObject({ do: "take", term: 5 });
  });

  test("by another holder continues above the highest term ever seen", () => {
    const other = lease({ uid: "two", holder: "zip", durationSeconds: 3 });
    expect(
      stepAfter([
        [0, lease({ term: 41 })],
        [20, undefined],
        [30, other],
        [33, other],
      ]),
    ).toMatchObject({ do: "take", term: 42 });
  });

  test("is not recreated immediately by a board that remembers a term, because it may have missed the last holder", () => {
    const restarted = { ...baz, knownTerm: 8 };
    expect(stepAfter([[0, undefined]], restarted)).toEqual({ do: "wait", until: at(10) });
    expect(
      stepAfter(
        [
          [0, undefined],
          [10, undefined],
        ],
        restarted,
      ),
    ).toEqual({ do: "create", term: 9 });
  });
});

describe("a released Lease that a restarted process reads for the first time", () => {
  const released = (term: number, more: Partial<LeaseRecord> = {}) =>
    lease({ holder: undefined, durationSeconds: 1, term, ...more });
  const restarted = { ...baz, knownTerm: 8 };

  test.each([
    ["the term that this board led last", 8, 9],
    ["a later term of another board", 12, 13],
  ])("is taken immediately if its term counter follows %s", (_, last, term) => {
    expect(stepAfter([[0, released(last)]], restarted)).toMatchObject({ do: "take", term });
  });

  test("is waited for if its term is lower than the remembered one, because it was recreated, and another process may still hold the old one", () => {
    const anew = released(7);
    expect(stepAfter([[0, anew]], restarted)).toEqual({ do: "wait", until: at(10) });
    expect(
      stepAfter(
        [
          [0, anew],
          [9.9, anew],
        ],
        restarted,
      ),
    ).toEqual({ do: "wait", until: at(10) });
    expect(
      stepAfter(
        [
          [0, anew],
          [10, anew],
        ],
        restarted,
      ),
    ).toMatchObject({ do: "take", term: 9 });
  });

  test("does not become free when another writer changes it after that: the wait continues", () => {
    const anew = released(7);
    const touched = { ...anew, resourceVersion: "labelled" };
    expect(
      stepAfter(
        [
          [0, anew],
          [5, touched],
        ],
        restarted,
      ),
    ).toEqual({ do: "wait", until: at(10) });
  });

  test("is taken immediately by a board that does not remember any term", () => {
    expect(stepAfter([[0, released(0)]])).toMatchObject({ do: "take", term: 1 });
  });

  test("is not trusted if a deletion was observed in between", () => {
    expect(
      stepAfter(
        [
          [0, undefined],
          [1, released(20)],
        ],
        restarted,
      ),
    ).toEqual({ do: "wait", until: at(10) });
  });

  test("is recognised, within the same Lease, by the next board that takes it after a hand-over", () => {
    expect(
      stepAfter([
        [0, lease({ holder: "bing", term: 8 })],
        [3, released(8)],
      ]),
    ).toMatchObject({ do: "take", term: 9 });
  });
});

describe("a Lease that was released in favour of a named board", () => {
  const released = (more: Partial<LeaseRecord> = {}) =>
    lease({ holder: undefined, durationSeconds: 1, term: 4, successor: "pi-2", ...more });
  const other = { ...baz, board: "pi-3", headStart: 8000 };

  test("is taken immediately by that board", () => {
    expect(stepAfter([[0, released()]], { ...other, board: "pi-2" })).toMatchObject({ do: "take", term: 5 });
  });

  test.each([
    [0, "wait"],
    [7.999, "wait"],
    [8, "take"],
  ])("is left to it by the others for the time of its head start (read at %s s: %s)", (seconds, step) => {
    const record = released();
    expect(
      stepAfter(
        [
          [0, record],
          [seconds, record],
        ],
        other,
      ),
    ).toMatchObject(step === "take" ? { do: "take", term: 5 } : { do: "wait", until: at(8) });
  });

  test("is not left to it for longer because another client edits a label", () => {
    const edits = [1, 4, 7].map((seconds): Reading => [seconds, released()]);
    expect(stepAfter([[0, released()], ...edits], other)).toEqual({ do: "wait", until: at(8) });
    expect(stepAfter([[0, released()], ...edits, [8, released()]], other)).toMatchObject({ do: "take", term: 5 });
  });

  test.each<[string, LeaseRecord]>([
    ["released again, by a later holder", released({ term: 5 })],
    ["passed on to another board by an edit", released({ successor: "pi-4" })],
    ["recreated", released({ uid: "two" })],
  ])("is left to it from then on if it is %s", (_, again) => {
    const step = stepAfter(
      [
        [0, released()],
        [5, again],
      ],
      other,
    );
    if (step.do !== "wait") throw new Error(`the board does not wait but ${step.do}s`);
    expect(step.until.mono).toBeGreaterThanOrEqual(13_000);
  });
});

describe("a Lease without a holder that a restored server shows in an older term", () => {
  const backup = lease({ holder: undefined, durationSeconds: 1, term: 4 });

  test("is waited for, because the last holder did not release it and may still trust its term", () => {
    const held: Reading = [0, lease({ term: 6 })];
    expect(stepAfter([held, [3, backup]])).toEqual({ do: "wait", until: at(13) });
    expect(stepAfter([held, [3, backup], [13, backup]])).toMatchObject({ do: "take", term: 7 });
  });

  test("is waited for even if the Lease was also free in a later term, because others may have led in between", () => {
    const free: Reading = [0, lease({ holder: undefined, durationSeconds: 1, term: 6 })];
    expect(stepAfter([free, [50, backup]])).toEqual({ do: "wait", until: at(60) });
    const touched = { ...backup, resourceVersion: "labelled" };
    expect(stepAfter([free, [50, backup], [55, touched]])).toEqual({ do: "wait", until: at(60) });
  });

  test("is waited for even after the backup of an earlier holder was seen", () => {
    const earlier: Reading = [0, lease({ term: 4 })];
    expect(stepAfter([earlier, [3, backup]], { ...baz, knownTerm: 6 })).toEqual({ do: "wait", until: at(13) });
  });

  test("is taken immediately by the board that has just renewed it", () => {
    const own: Reading = [0, lease({ holder: "baz", term: 6 })];
    expect(stepAfter([own, [3, backup]])).toMatchObject({ do: "take", term: 7 });
  });
});

describe("a leader", () => {
  test.each([
    ["was deleted", undefined, "the Lease was deleted"],
    ["has another holder", lease({ holder: "bing" }), "the Lease passed to bing"],
    ["no longer has a holder", lease({ holder: undefined }), "another client removed the holder from the Lease"],
  ])("steps down when its Lease %s", (_, record, why) => {
    expect(stepAfter([[0, record]], baz, true)).toEqual({ do: "stepDown", why });
  });
});

describe("another process with the same name", () => {
  const own = (renewal: number | undefined, more: Partial<LeaseRecord> = {}) =>
    lease({ holder: "baz", term: 4, renewal, ...more });
  const collision = { do: "stepDown", why: "another process writes the Lease under this agent's identity" };

  test("ends the term of a leader with its second renewal in a row, not with the first, which may be late", () => {
    const readings: readonly Reading[] = [
      [0, own(-1)],
      [2, own(-2)],
      [4, own(-3)],
    ];
    const wrote = [-1, -3];
    expect(stepAfter(readings.slice(0, 2), baz, true, wrote)).toMatchObject({
      do: "renew",
      record: { term: 4 },
    });
    expect(stepAfter([...readings, [6, own(-4)]], baz, true, wrote)).toEqual(collision);
  });

  test.each([
    [9.9, "stepDown"],
    [10, "renew"],
  ])("is not assumed if two renewals by another process are a whole duration apart (%s s: %s)", (apart, step) => {
    const readings: readonly Reading[] = [
      [0, own(-1)],
      [5, own(-2)],
      [5 + apart, own(-4)],
    ];
    expect(stepAfter(readings, baz, true, [-1])).toMatchObject({ do: step });
  });

  test.each<[string, readonly Reading[]]>([
    ["labels set by other clients", [1, 2, 3].map((seconds) => [seconds, own(-1)])],
    ["our own renewals whose answers were lost", [1, 2, 3].map((seconds) => [seconds, own(-1 - seconds)])],
    ["a server that does not store the time of renewal", [1, 2, 3].map((seconds) => [seconds, own(undefined)])],
  ])("is not confused with %s", (_, readings) => {
    const wrote = [-1, -2, -3, -4];
    for (const leading of [true, false]) {
      expect(stepAfter([[0, own(-1)], ...readings], baz, leading, wrote)).toMatchObject({
        do: "renew",
        record: { term: 4 },
      });
    }
  });

  test("is not assumed for a Lease that is read for the first time, because the previous process wrote it", () => {
    expect(stepAfter([[0, own(-7)]])).toMatchObject({ do: "renew", record: { term: 4 } });
  });

  test("counts as another holder for a board that does not lead; that board takes the Lease in a new term when it expires", () => {
    const strange = own(-2);
    const readings: readonly Reading[] = [
      [0, own(-1)],
      [5, strange],
    ];
    expect(stepAfter(readings, baz, false, [-1])).toEqual({ do: "wait", until: at(15) });
    expect(stepAfter([...readings, [14.9, strange]], baz, false, [-1])).toEqual({ do: "wait", until: at(15) });
    expect(stepAfter([...readings, [14, own(-3)]], baz, false, [-1])).toEqual({ do: "wait", until: at(24) });
    expect(stepAfter([...readings, [15, strange]], baz, false, [-1])).toMatchObject({ do: "take", term: 5 });
    expect(stepAfter([...readings, [15, own(-9, { term: 5 })]], baz, false, [-1, -9])).toMatchObject({
      do: "renew",
      record: { term: 5 },
    });
  });

  test("is not mistaken for this process when it takes the Lease of another board", () => {
    const taken = [
      [0, lease({ term: 4 })],
      [11, own(-5, { term: 5 })],
    ] as const;
    expect(stepAfter(taken)).toEqual({ do: "wait", until: at(21) });
  });

  test("is waited for when its Lease is deleted", () => {
    const readings: readonly Reading[] = [
      [0, own(-1)],
      [5, own(-2)],
      [6, undefined],
    ];
    expect(stepAfter(readings, baz, false, [-1])).toEqual({ do: "wait", until: at(16) });
    expect(stepAfter(readings, baz, false, [-1, -2])).toMatchObject({ do: "create" });
  });
});

describe("a Lease with any content", () => {
  const metadata = { name: "siteward", uid: "one", resourceVersion: "1" };

  test.each([
    ["has no spec", {}],
    ["has an empty spec", { spec: {} }],
    ["has invalid values", { spec: { leaseDurationSeconds: -1, leaseTransitions: -3, holderIdentity: "" } }],
    [
      "has a duration of zero and the highest number",
      { spec: { leaseDurationSeconds: 0, leaseTransitions: 2 ** 31 - 1 } },
    ],
  ])("counts as free if it %s", (_, body) => {
    const record = recordOf({ metadata, ...body });
    expect(record).toMatchObject({ holder: undefined, durationSeconds: undefined, term: 0, annotations: {} });
    expect(stepAfter([[0, record]])).toMatchObject({ do: "take", term: 1 });
  });
});

describe("the highest possible term", () => {
  const last = 2 ** 31 - 2;

  test("follows its predecessor and itself, so the server accepts every claim and all boards can read it", () => {
    for (const term of [last - 1, last]) {
      const step = stepAfter([[0, lease({ holder: undefined, term })]]);
      expect(step).toMatchObject({ do: "take", term: last });
    }
    const read = recordOf({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "siteward", uid: "one", resourceVersion: "1" },
      spec: { leaseTransitions: last },
    });
    expect(read.term).toBe(last);
  });

  test("is led again by a board that remembers it, in a recreated Lease", () => {
    const who = { ...baz, knownTerm: last };
    const readings: readonly Reading[] = [
      [0, undefined],
      [10, undefined],
    ];
    expect(stepAfter(readings, who)).toEqual({ do: "create", term: last });
  });
});
