import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { recordOf } from "../../../agent/election/lease-lock.ts";
import {
  type Candidate,
  candidateProblems,
  type LeaseRecord,
  nextLeaseStep,
  type Observation,
  observe,
  trustedUntil,
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
  transitions: 0,
  renewal: version,
  annotations: {},
  ...change,
});

type Look = readonly [seconds: number, record: LeaseRecord | undefined];

/** A story of looks at the Lease; what the last one leads to. `wrote`: the renewals that we sent. */
function stepAfter(looks: readonly Look[], who = baz, leading = false, wrote: readonly number[] = []) {
  let seen: Observation | undefined;
  let now = at(0);
  for (const [seconds, record] of looks) {
    now = at(seconds);
    seen = observe(seen, record, who, now, { leading, wrote: (renewal) => wrote.includes(renewal) });
  }
  if (!seen) throw new Error("nobody looked");
  return nextLeaseStep(seen, who, leading, now);
}

describe("who may take the Lease, and when", () => {
  test.each([{}, { formerIdentity: "baz", identity: "baz-2" }])(
    "a Lease from a backup that names us in an older term is taken when the last term is over, in a higher one",
    (who) => {
      const ours = lease({ holder: "baz", transitions: 5 });
      const me = { ...baz, formerTerm: 7, ...who };
      expect(stepAfter([[0, ours]], me)).toMatchObject({ do: "wait", until: at(10) });
      const looks = [0, 10].map((seconds): Look => [seconds, ours]);
      expect(stepAfter(looks, me)).toMatchObject({ do: "take", term: 8 });
    },
  );

  test("a Lease that names us in the highest term that we remember is ours", () => {
    const me = { ...baz, formerTerm: 7 };
    expect(stepAfter([[0, lease({ holder: "baz", transitions: 7 })]], me)).toMatchObject({ do: "renew", term: 7 });
  });

  test("LE-01: a Lease that does not exist is created, with term 0", () => {
    expect(stepAfter([[0, undefined]])).toEqual({ do: "create", term: 0 });
  });

  const short = lease({ durationSeconds: 3 });
  test.each([
    [0, "wait"],
    [2.999, "wait"],
    [3, "take"],
    [9, "take"],
  ])("LE-03: a holder that wrote 3 s is believed for 3 s, not for our own 10 s (look at %s s: %s)", (seconds, step) => {
    expect(
      stepAfter([
        [0, short],
        [seconds, short],
      ]),
    ).toMatchObject(step === "take" ? { do: "take", term: 1, why: "expired" } : { do: "wait", until: at(3) });
  });

  test("LE-05: a Lease without a holder is taken at the first look", () => {
    expect(stepAfter([[0, lease({ holder: "", transitions: 4 })]])).toMatchObject({ do: "take", term: 5, why: "free" });
  });

  test("LE-07: our own Lease is renewed, its term stays", () => {
    const own = lease({ holder: "baz", transitions: 7 });
    expect(stepAfter([[0, own]])).toMatchObject({ do: "renew", term: 7 });
    expect(stepAfter([[0, own]], baz, true)).toMatchObject({ do: "renew", term: 7 });
  });

  test("LE-09: a holder that renews is believed from its last change on", () => {
    const renewals = Array.from({ length: 11 }, (_, index): Look => [index * 2, lease({ durationSeconds: 15 })]);
    const last = renewals.at(-1)?.[1];
    expect(stepAfter([...renewals, [34.9, last]])).toEqual({ do: "wait", until: at(35) });
    expect(stepAfter([...renewals, [35, last]])).toMatchObject({ do: "take", term: 1 });
  });

  test("LE-21: two renewals within one second are two changes", () => {
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
    ["no number", Number.NaN, 10],
    ["a century", 3e9, 3600],
    ["half a second", 0.5, 0.5],
  ])("a duration that is %s is believed for %3$s s", (_, durationSeconds, believed) => {
    expect(stepAfter([[0, lease({ durationSeconds })]])).toEqual({ do: "wait", until: at(believed) });
  });

  test("the former process of this board is provably gone: its Lease is taken at once, by its exact name only", () => {
    const held = lease({ holder: "baz_1", transitions: 3 });
    const me = { ...baz, identity: "baz_2", formerIdentity: "baz_1" };
    expect(stepAfter([[0, held]], me)).toMatchObject({ do: "take", term: 4, why: "ours before" });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: "baz_10" })).toMatchObject({ do: "wait" });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: "" })).toMatchObject({ do: "wait" });
    expect(stepAfter([[0, held]], { ...me, formerIdentity: undefined })).toMatchObject({ do: "wait" });
  });
});

describe("a Lease that is deleted, or deleted and made anew", () => {
  const held = lease({ transitions: 4 });
  const anew = lease({ uid: "two", holder: "" });

  test("does not end the term of its holder, who may have renewed right before: we wait a full duration", () => {
    const gone: readonly Look[] = [
      [0, held],
      [9, undefined],
    ];
    expect(stepAfter([...gone])).toEqual({ do: "wait", until: at(19) });
    expect(stepAfter([...gone, [18.9, undefined]])).toEqual({ do: "wait", until: at(19) });
    expect(stepAfter([...gone, [19, undefined]])).toEqual({ do: "create", term: 5 });
  });

  test("without a holder is not taken before the former holder's time is over", () => {
    const made: readonly Look[] = [
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

  test("right after we renewed it ourselves is made anew at once, but not after we slept", () => {
    const own = lease({ holder: "baz", transitions: 4 });
    const deletedAfter = (seconds: number) =>
      stepAfter([
        [0, own],
        [seconds, undefined],
      ]);
    expect(deletedAfter(4.9)).toEqual({ do: "create", term: 5 });
    expect(deletedAfter(5)).toEqual({ do: "wait", until: at(15) });
    expect(deletedAfter(5000)).toEqual({ do: "wait", until: at(5010) });
  });

  test("a release in the Lease that the holder wrote is believed", () => {
    expect(
      stepAfter([
        [0, lease({ transitions: 4 })],
        [1, lease({ holder: "", durationSeconds: 1, transitions: 4 })],
      ]),
    ).toMatchObject({ do: "take", term: 5, why: "free" });
  });

  test("by another holder continues above the highest term ever seen", () => {
    const other = lease({ uid: "two", holder: "zip", durationSeconds: 3 });
    expect(
      stepAfter([
        [0, lease({ transitions: 41 })],
        [20, undefined],
        [30, other],
        [33, other],
      ]),
    ).toMatchObject({ do: "take", term: 42 });
  });

  test("is not made anew at once by a board that remembers a term: its holder may be somebody it has not met", () => {
    const restarted = { ...baz, formerTerm: 8 };
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

describe("a released Lease that a restarted process meets for the first time", () => {
  const released = (transitions: number, more: Partial<LeaseRecord> = {}) =>
    lease({ holder: "", durationSeconds: 1, transitions, ...more });
  const restarted = { ...baz, formerTerm: 8 };

  test.each([
    ["the term that this board led last", 8, 9],
    ["a later term of another board", 12, 13],
  ])("is taken at once where it counts on from %s", (_, transitions, term) => {
    expect(stepAfter([[0, released(transitions)]], restarted)).toMatchObject({ do: "take", term, why: "free" });
  });

  test("is waited for where it counts less than what is remembered: it was made anew, and somebody may still hold the old one", () => {
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
    ).toMatchObject({ do: "take", term: 9, why: "free" });
  });

  test("is not free because somebody touched it after that: the wait goes on", () => {
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

  test("is taken at once by a board that remembers nothing", () => {
    expect(stepAfter([[0, released(0)]])).toMatchObject({ do: "take", term: 1, why: "free" });
  });

  test("but a deletion seen in between ends the trust in it", () => {
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

  test("the next one to take it after a hand-over sees the release in the same Lease", () => {
    expect(
      stepAfter([
        [0, lease({ holder: "bing", transitions: 8 })],
        [3, released(8)],
      ]),
    ).toMatchObject({ do: "take", term: 9, why: "free" });
  });
});

describe("a leader", () => {
  test.each([
    ["was deleted", undefined, "the Lease was deleted"],
    ["has another holder", lease({ holder: "bing" }), "the Lease went to bing"],
    ["was emptied", lease({ holder: "" }), "the Lease was released for us"],
  ])("steps down when its Lease %s", (_, record, why) => {
    expect(stepAfter([[0, record]], baz, true)).toEqual({ do: "stepDown", why });
  });

  test.each([
    [60, 54],
    [15, 13],
    [10, 8],
    [20, 18],
    [21, 18.9],
    [60.9, 54],
  ])("with a duration of %s s trusts its term for %s s from the beginning of the attempt", (duration, trusted) => {
    expect(trustedUntil(at(100), duration * 1000).mono).toBeCloseTo(at(100 + trusted).mono);
  });
});

describe("another process of the same name", () => {
  const own = (renewal: number | undefined, more: Partial<LeaseRecord> = {}) =>
    lease({ holder: "baz", transitions: 4, renewal, ...more });
  const collision = { do: "stepDown", why: "another process writes the Lease under our name" };

  test("ends the term of a leader with its second renewal in a row, not with the first, which may be a slip", () => {
    const looks: readonly Look[] = [
      [0, own(-1)],
      [2, own(-2)],
      [4, own(-3)],
    ];
    const wrote = [-1, -3];
    expect(stepAfter(looks.slice(0, 2), baz, true, wrote)).toMatchObject({ do: "renew", term: 4 });
    expect(stepAfter([...looks, [6, own(-4)]], baz, true, wrote)).toEqual(collision);
  });

  test.each([
    [9.9, "stepDown"],
    [10, "renew"],
  ])("is no other process where two strange renewals lie a whole duration apart (%s s: %s)", (apart, step) => {
    const looks: readonly Look[] = [
      [0, own(-1)],
      [5, own(-2)],
      [5 + apart, own(-4)],
    ];
    expect(stepAfter(looks, baz, true, [-1])).toMatchObject({ do: step });
  });

  test.each<[string, readonly Look[]]>([
    ["labels that somebody sets", [1, 2, 3].map((seconds) => [seconds, own(-1)])],
    ["our own renewals whose answers were lost", [1, 2, 3].map((seconds) => [seconds, own(-1 - seconds)])],
    ["a server that keeps no time of renewal", [1, 2, 3].map((seconds) => [seconds, own(undefined)])],
  ])("is not what we take %s for", (_, looks) => {
    const wrote = [-1, -2, -3, -4];
    for (const leading of [true, false]) {
      expect(stepAfter([[0, own(-1)], ...looks], baz, leading, wrote)).toMatchObject({ do: "renew", term: 4 });
    }
  });

  test("is not what wrote a Lease that we meet for the first time: it is ours from before", () => {
    expect(stepAfter([[0, own(-7)]])).toMatchObject({ do: "renew", term: 4 });
  });

  test("holds the Lease like anybody, for one who does not lead: until its duration is over, and then in a term of its own", () => {
    const strange = own(-2);
    const looks: readonly Look[] = [
      [0, own(-1)],
      [5, strange],
    ];
    expect(stepAfter(looks, baz, false, [-1])).toEqual({ do: "wait", until: at(15) });
    expect(stepAfter([...looks, [14.9, strange]], baz, false, [-1])).toEqual({ do: "wait", until: at(15) });
    expect(stepAfter([...looks, [14, own(-3)]], baz, false, [-1])).toEqual({ do: "wait", until: at(24) });
    expect(stepAfter([...looks, [15, strange]], baz, false, [-1])).toMatchObject({ do: "take", term: 5 });
    expect(stepAfter([...looks, [15, own(-9, { transitions: 5 })]], baz, false, [-1, -9])).toMatchObject({
      do: "renew",
      term: 5,
    });
  });

  test("that took the Lease of somebody else is not taken for us either", () => {
    const taken = [
      [0, lease({ transitions: 4 })],
      [11, own(-5, { transitions: 5 })],
    ] as const;
    expect(stepAfter(taken)).toEqual({ do: "wait", until: at(21) });
  });

  test("is waited for when its Lease is deleted, as nobody would wait for us", () => {
    const looks: readonly Look[] = [
      [0, own(-1)],
      [5, own(-2)],
      [6, undefined],
    ];
    expect(stepAfter(looks, baz, false, [-1])).toEqual({ do: "wait", until: at(16) });
    expect(stepAfter(looks, baz, false, [-1, -2])).toMatchObject({ do: "create" });
  });
});

describe("LE-17: who may stand", () => {
  test("nobody does without a name, or with a timing that cannot be used", () => {
    const timing = { duration: 15_000, renewDeadline: 10_000, retry: 2000 };
    expect(candidateProblems({ identity: "baz", timing })).toEqual([]);
    expect(candidateProblems({ identity: "", timing: { ...timing, retry: 9000 } })).toEqual([
      "leader.retry: 9s must be shorter than leader.renewDeadline (10s) divided by 1.2",
      "the identity that stands for election must not be empty",
    ]);
  });
});

describe("a Lease that anybody may have written", () => {
  const metadata = { name: "siteward", uid: "one", resourceVersion: "1" };

  test.each([
    ["has no spec", {}],
    ["has an empty spec", { spec: {} }],
    ["has nonsense in it", { spec: { leaseDurationSeconds: -1, leaseTransitions: -3, holderIdentity: "" } }],
    ["has more than nonsense", { spec: { leaseDurationSeconds: 0, leaseTransitions: 2 ** 31 - 1 } }],
  ])("and %s counts as free", (_, body) => {
    const record = recordOf({ metadata, ...body });
    expect(record).toMatchObject({ holder: "", durationSeconds: undefined, transitions: 0, annotations: {} });
    expect(stepAfter([[0, record]])).toMatchObject({ do: "take", term: 1 });
  });
});

describe("the last term that can be written", () => {
  const last = 2 ** 31 - 2;

  test("follows the one before it, and itself: every claim is one that the server takes and everybody reads", () => {
    for (const transitions of [last - 1, last]) {
      const step = stepAfter([[0, lease({ holder: "", transitions })]]);
      expect(step).toMatchObject({ do: "take", term: last });
    }
    const read = recordOf({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "siteward", uid: "one", resourceVersion: "1" },
      spec: { leaseTransitions: last },
    });
    expect(read.transitions).toBe(last);
  });

  test("is led again by a board that remembers it, in a Lease made anew", () => {
    const who = { ...baz, formerTerm: last };
    const looks: readonly Look[] = [
      [0, undefined],
      [10, undefined],
    ];
    expect(stepAfter(looks, who)).toEqual({ do: "create", term: last });
  });
});
