import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../support/seeded-random.ts";
import { harmOf } from "./harm/harm.ts";
import { mutantOf } from "./mutants.ts";
import { reportOf } from "./report.ts";
import { runSchedule } from "./run-schedule.ts";
import { type Schedule, scheduleOf, type Wishes } from "./schedule.ts";
import { Work } from "./work.ts";

const drawn = (seed: number, wishes: Wishes = {}): Schedule => scheduleOf(seed, new SeededRandom(seed), wishes);

// A schedule plays identically every time, so retrying is useless.
describe("a site under random faults", { retry: 0 }, () => {
  const sizes: readonly (readonly [boards: number, seeds: readonly number[]])[] = [
    [1, [1, 2]],
    [2, [3, 4, 5]],
    [3, [6, 7, 8, 9]],
    [5, [10, 11, 12]],
    [20, [13]],
  ];
  const stories = sizes.flatMap(([boards, seeds]) => seeds.map((seed) => ({ boards, seed })));

  test.each(stories)("keeps every promise: $boards boards, seed $seed", async ({ boards, seed }) => {
    const wishes = { boards };
    const schedule = drawn(seed, wishes);
    const { violations, trace } = await runSchedule(schedule);
    expect(violations.length > 0 ? reportOf({ schedule, violations, trace, wishes }) : "").toBe("");
  });

  test.each([
    [6_000_453, "a leader is suspended over a restore, behind a bookmark of the previous history"],
    [6_001_534, "the Lease is created and deleted again while a board waits until it may create one"],
    [6_002_758, "a leader is suspended past its renew deadline while the store is away"],
    [9_300_095, "a board is found silent, and its condition waits for a slow link until an outage has ended"],
    [
      9_802_534,
      "the check of the server's history reads a term that the election does not, before a restore undoes it",
    ],
    [9_000_923, "a restore brings back the taint of a living board, under policy kubernetes"],
  ])("keeps every promise in a story that once broke one: seed %i, %s", async (seed) => {
    const schedule = drawn(seed);
    const { violations, trace } = await runSchedule(schedule);
    expect(violations.length > 0 ? reportOf({ schedule, violations, trace, wishes: {} }) : "").toBe("");
  });

  test("gives the same result for the same seed, to the last byte, and another result for another seed", async () => {
    const [once, twice, other] = [
      await runSchedule(drawn(2)),
      await runSchedule(drawn(2)),
      await runSchedule(drawn(3)),
    ];
    expect(twice.trace.length).toBeGreaterThan(300);
    expect(twice.trace).toEqual(once.trace);
    expect(twice.digest).toBe(once.digest);
    expect(other.digest).not.toBe(once.digest);
  });

  test("behaves identically regardless of the wall clocks of its boards", async () => {
    const schedule = drawn(5, { boards: 3, motif: "dark zone" });
    const { boards } = schedule.setting;
    const steps = boards.map(({ name }, index) => ({
      at: 100_000 + 20_000 * index,
      is: "clock step" as const,
      board: name,
      by: index === 0 ? ("1970" as const) : 315_360_000_000 * (index % 2 === 0 ? -1 : 1),
    }));
    const faults = [...schedule.faults, ...steps].sort((a, b) => a.at - b.at);
    const [calm, stepped] = [await runSchedule(schedule), await runSchedule({ ...schedule, faults })];
    const sent = ({ history }: typeof calm) => history.writes.map(({ sentAt, method, path }) => [sentAt, method, path]);
    expect(sent(stepped)).toEqual(sent(calm));
    expect(stepped.violations).toEqual([]);
  });
});

describe("an act that was decided before an outage", { retry: 0 }, () => {
  const lead = { board: "leader", lane: "agent" } as const;
  const faults: Schedule["faults"] = [
    { at: 96_000, is: "cut", board: "leader", lane: "kubelet", how: "silent", for: 90_000, healing: "reset" },
    { at: 105_000, is: "cut", board: "pi-1", lane: "both", how: "silent", for: 232_000, healing: "reset" },
    { at: 107_000, is: "watches stalled", ...lead, for: 46_000, healing: "late" },
    { at: 107_000, is: "slow", ...lead, delay: 2000, for: 106_000 },
  ];

  test("is not performed after it: the link breaks while the Lease is read and the condition is written", async () => {
    const { violations, history } = await runSchedule({ ...drawn(730650), faults });
    expect(violations).toEqual([]);
    const condition = history.writes.find(({ path }) => path === "/api/v1/nodes/pi-3/status");
    expect(condition).toMatchObject({ board: "pi-3", body: expect.stringContaining("Unknown") });
    expect(condition?.sentAt).toBeLessThan(170_000);
  });
});

describe("a board whose link is back while no board can write", { retry: 0 }, () => {
  test("is not harmed when writes succeed again, although its renewals failed only in the last 9 s of 18 s", async () => {
    const schedule = drawn(77_053, { motif: "flapping site" });
    const { violations, history } = await runSchedule(schedule);
    expect(violations).toEqual([]);
    expect(harmOf(history).falseActs).toEqual([]);
  });
});

describe("an uplink that fails for longer than a term lasts, again and again", { retry: 0 }, () => {
  const dies = 95_000;
  const calmAt = 2_100_000;
  /** When pi-4, which died, was found silent. */
  const foundAt = async (standby: Schedule["setting"]["standby"], down: number, up: number): Promise<number> => {
    const { seed, setting } = drawn(6, { boards: 5, policy: "evidence", lan: "none" });
    const cut = { is: "cut", board: "every", lane: "both", how: "silent", for: down, healing: "reset" } as const;
    const cuts = Array.from({ length: Math.floor((calmAt - 150_000) / (down + up)) }, (_, index) => ({
      at: 120_000 + index * (down + up),
      ...cut,
    }));
    const dark = {
      at: dies,
      is: "power cut",
      board: "pi-4",
      for: undefined,
      cache: "all",
      wakesIn: undefined,
    } as const;
    const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
    const plan = { seed, setting: { ...setting, standby, timing }, faults: [dark, ...cuts], calmAt };
    const { violations, history } = await runSchedule(plan);
    expect(violations).toEqual([]);
    return history.nodes.get("pi-4")?.find(({ ready }) => ready === "Unknown")?.at ?? Number.POSITIVE_INFINITY;
  };

  test.each(["warm", "cold"] as const)(
    "does not postpone the judgement of a dead board for ever: standby %s",
    async (standby) => {
      expect(await foundAt(standby, 50_000, 45_000)).toBeLessThan(dies + 1_500_000);
    },
  );
});

describe("a board whose link to the API server is cut for ten minutes", { retry: 0 }, () => {
  const cutOn = (lan: Schedule["setting"]["lan"], policy: Schedule["setting"]["policy"] = "evidence"): Schedule => {
    const { seed, setting } = drawn(6, { boards: 5, policy, lan });
    const cut = { is: "cut", lane: "both", how: "silent", healing: "reset" } as const;
    const faults = [{ at: 120_000, board: "pi-4", for: 600_000, ...cut }] as const;
    return { seed, setting, faults, calmAt: 780_000 };
  };
  const harm = async (schedule: Schedule): Promise<number> => {
    const { history, violations } = await runSchedule(schedule);
    expect(violations).toEqual([]);
    return history.writes.filter(({ method, path }) => method === "DELETE" && path.endsWith("-pi-4")).length;
  };

  test("keeps its pods if its LAN has its own cable", async () => {
    expect(await harm(cutOn("apart"))).toBe(0);
  });

  test.each([
    ["the LAN is on the cable that is cut", cutOn("same cable")],
    ["no agent uses the LAN", cutOn("none")],
    ["its LAN has its own cable, but the policy is kubernetes", cutOn("apart", "kubernetes")],
  ])("loses its pods, as without a LAN, if %s", async (_, schedule) => {
    expect(await harm(schedule)).toBeGreaterThan(0);
  });
});

describe("a board with a dead kubelet, but a working LAN,", { retry: 0 }, () => {
  const [dies, ends] = [120_000, 1_500_000];
  const hold = 900_000;
  const withLoop = (every: number, fault: (at: number) => Schedule["faults"][number]): Schedule => {
    const { seed, setting } = drawn(6, { boards: 5, policy: "evidence", lan: "apart" });
    const loop = Array.from({ length: Math.floor((ends - dies) / every) }, (_, index) =>
      fault(dies + every * (index + 1)),
    );
    return { seed, setting, faults: [{ at: dies, is: "kubelet dead", board: "pi-4" }, ...loop], calmAt: ends + 30_000 };
  };
  /** When the first of its pods was deleted. */
  const evictedAt = async (schedule: Schedule): Promise<number> => {
    const { history, violations } = await runSchedule(schedule);
    expect(violations).toEqual([]);
    const first = history.writes.find(({ method, path }) => method === "DELETE" && path.endsWith("-pi-4"));
    return first?.sentAt ?? Number.POSITIVE_INFINITY;
  };

  test("whose agent restarts again and again is evicted when the hold has ended", async () => {
    const restart = { is: "agent restart", board: "pi-4", how: "killed", for: 1000 } as const;
    const at = await evictedAt(withLoop(45_000, (time) => ({ at: time, ...restart })));
    expect(at).toBeGreaterThan(dies + hold);
    expect(at).toBeLessThan(dies + hold + 120_000);
  });

  test("that is in a reboot loop is evicted without a hold", async () => {
    const cut = { is: "power cut", board: "pi-4", for: 15_000, cache: "recent", wakesIn: undefined } as const;
    expect(await evictedAt(withLoop(60_000, (time) => ({ at: time, ...cut })))).toBeLessThan(dies + 240_000);
  });
});

describe("a mutant of the agent is detected", { retry: 0 }, () => {
  test.concurrent.each([
    ["a fence that never blocks", 60],
    ["a budget that is not carried over", 60],
    ["a stall bound that is ignored", 60],
    ["a freeze that ends with its leader", 60],
    ["an act without a record", 20],
    ["an outage of writes that begins with the first refusal", 10],
    ["respites in which nobody is heard", 60],
    ["a word that is ignored", 10],
    ["a word that lasts for ever", 30],
    ["a question that is asked once", 10],
    ["a reboot that is not noticed", 10],
    ["a record of an earlier decision", 20],
  ])("%s, within %i schedules", async (mutant, schedules) => {
    const { wishes, noticedBy } = mutantOf(mutant);
    const options = {
      seed: 1,
      schedules,
      jobs: 1,
      mostFailures: 1,
      wishes,
      mutant,
      shrink: false,
      trace: false,
      tally: false,
    };
    const work = new Work(options);
    expect(await work.run(() => {})).toBe(true);
    const violations = work.failures.flatMap((failure) => failure.violations);
    expect(violations).toContainEqual(expect.stringMatching(`^${noticedBy}: `));
  });
});

describe("an API server that accepts no heartbeat for half a minute, while watches stay open", { retry: 0 }, () => {
  test.each(["evidence", "kubernetes"] as const)(
    "does not harm any board that missed one heartbeat before, under policy %s",
    async (policy) => {
      const { seed, setting } = drawn(17, { boards: 3, policy });
      const { timing, ...rest } = setting;
      const unhurried = {
        ...timing,
        name: "unhurried",
        duration: 60_000,
        renewDeadline: 40_000,
        retry: 10_000,
      } as const;
      const missed = { is: "cut", lane: "kubelet", how: "refused", for: 12_000, healing: "late" } as const;
      for (let round = 0; round < 10; round++) {
        const at = 150_000 + 1000 * round;
        const faults: Schedule["faults"] = [
          { ...missed, at: at - 12_000, board: "follower" },
          { at, is: "store lost", for: 36_000 },
        ];
        const schedule = { seed, setting: { ...rest, timing: unhurried }, faults, calmAt: at + 120_000 };
        const { violations, trace, history } = await runSchedule(schedule);
        expect(violations, trace.slice(-40).join("\n")).toEqual([]);
        expect(harmOf(history).falseActs).toEqual([]);
      }
    },
  );
});

describe("a site that loses its API server for 12 s every 42 s", { retry: 0 }, () => {
  const { seed, setting } = drawn(17, { boards: 5, policy: "evidence", lan: "none" });
  const unhurried = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
  const flaps = (make: (at: number) => Schedule["faults"][number]): Schedule => ({
    seed,
    setting: { ...setting, timing: unhurried, evictionRate: 0.1 },
    faults: [
      { at: 100_000, is: "power cut", board: "pi-4", for: undefined, cache: "recent", wakesIn: undefined },
      ...Array.from({ length: 40 }, (_, index) => make(110_000 + 42_000 * index)),
    ],
    calmAt: 110_000 + 42_000 * 40,
  });

  test.each([
    ["refuses writes", flaps((at) => ({ at, is: "store lost", for: 12_000 }))],
    [
      "cannot be reached",
      flaps((at) => ({ at, is: "cut", board: "every", lane: "both", how: "refused", for: 12_000, healing: "reset" })),
    ],
  ])("nevertheless loses only the pods of its dead board: the server %s", async (_, schedule) => {
    const { violations, trace, history } = await runSchedule(schedule);
    expect(violations, trace.slice(-40).join("\n")).toEqual([]);
    const { deaths, falseActs } = harmOf(history);
    expect(falseActs).toEqual([]);
    expect(deaths).toHaveLength(1);
    expect(deaths[0]?.taintedAfter).toBeLessThan(600_000);
    expect(deaths[0]?.emptiedAfter).toBeLessThan(schedule.calmAt - 100_000);
  });
});

describe("a leader that is suspended for ten minutes", { retry: 0 }, () => {
  const length = 600_000;

  test.each(["timers first", "answers first"] as const)(
    "is replaced and does no harm when it resumes (%s) while a board is dark and clocks step",
    async (waking) => {
      const { seed, setting } = drawn(17, { boards: 3, policy: "kubernetes" });
      const faults: Schedule["faults"] = [
        { at: 80_000, is: "power cut", board: "follower", for: length, cache: "recent", wakesIn: undefined },
        { at: 110_000, is: "pause", board: "leader", for: length, waking },
        { at: 300_000, is: "clock step", board: "every", by: -7_200_000 },
      ];
      const { violations, trace, history } = await runSchedule({
        seed,
        setting,
        faults,
        calmAt: 110_000 + length + 60_000,
      });
      expect(violations, trace.slice(-40).join("\n")).toEqual([]);
      const leaders = new Set(history.leases.map(({ lease }) => lease?.holder).filter(Boolean));
      expect(leaders.size).toBeGreaterThan(1);
    },
  );
});
