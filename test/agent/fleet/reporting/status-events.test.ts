import { expect, test } from "vitest";
import { StatusEvents } from "../../../../agent/fleet/reporting/status-events.ts";
import type { Status } from "../../../../agent/status/schema.ts";
import { bareStatus } from "../../../support/bare-status.ts";

type Part = Partial<Pick<Status, "leader" | "zones" | "link" | "eviction" | "controllers" | "judgement">> & {
  readonly conditions?: readonly string[];
  /** Conditions that only a leader knows. */
  readonly ofSite?: readonly string[];
};

function status({ conditions = [], ofSite = [], ...more }: Part): Status {
  return {
    ...bareStatus,
    health: {
      level: "ok",
      ready: true,
      conditions: [...conditions, ...ofSite].map((type) => ({
        type,
        status: true,
        severity: "warning",
        since: "2026-01-01T00:00:00Z",
        message: `${type} it is`,
        ...(ofSite.includes(type) && { isOfSite: true }),
      })),
    },
    ...more,
  };
}

const zone = (state: string) => [{ name: "a", state, nodes: 4, ready: 1, rate: 0 }];
const leads = { role: "leader", holder: "pi-1", term: 3, leaseDurationMs: 60_000 } as const;

/** The events reported at each of the moments. */
function story(...looks: readonly (readonly [seconds: number, Part])[]): string[][] {
  const events = new StatusEvents();
  return looks.map(([seconds, part]) =>
    events
      .changes(status(part), { mono: seconds * 1000, wall: 0 })
      .map(({ type, severity, subject, isOfSite }) =>
        [isOfSite ? "site" : "board", type, subject, severity].filter(Boolean).join(" "),
      ),
  );
}

test("a condition is reported when it begins and when it ends, and not in between", () => {
  expect(
    story(
      [0, {}],
      [2, { conditions: ["Hot"] }],
      [4, { conditions: ["Hot"] }],
      [70, {}],
      [72, {}],
      [140, { conditions: ["Hot"] }],
    ),
  ).toEqual([
    [],
    ["board condition.raised warning"],
    [],
    ["board condition.cleared info"],
    [],
    ["board condition.raised warning"],
  ]);
});

test("a condition from before the agent's start is reported immediately, and so is its end", () => {
  expect(story([0, { conditions: ["Hot"] }], [2, {}])).toEqual([
    ["board condition.raised warning"],
    ["board condition.cleared info"],
  ]);
});

test("a flapping condition is reported once a minute, in its current state", () => {
  const flaps = Array.from({ length: 120 }, (_, at) => [at + 1, { conditions: at % 2 === 0 ? ["Hot"] : [] }] as const);
  const reported = story([0, {}], ...flaps).flat();
  expect(reported.length).toBeLessThanOrEqual(4);
});

test("a zone's state is reported by the site, the first one only if it is bad", () => {
  expect(
    story(
      [0, {}],
      [2, { zones: zone("Normal") }],
      [100, { zones: zone("FullDisruption") }],
      [200, { zones: zone("Normal") }],
      [300, {}],
    ),
  ).toEqual([[], [], ["site zone.state a critical"], ["site zone.state a info"], []]);
  expect(story([0, { zones: zone("PartialDisruption") }])).toEqual([["site zone.state a warning"]]);
});

test("leadership is reported by the site when it is won, and by the board when it is lost", () => {
  expect(
    story([0, {}], [2, { leader: leads }], [100, { leader: { ...leads, role: "standby", holder: "pi-2" } }]),
  ).toEqual([[], ["site leader.acquired info"], ["board leader.lost warning"]]);
});

const judge = { name: "node-lifecycle", state: "running", queue: 0 } as const;
const judging = { leader: leads, controllers: [judge], judgement: { ageMs: 800, unwritten: 0 } };
const follows = { leader: { ...leads, role: "standby", holder: "pi-2" } } as const;
const conditionsOnly = (reported: readonly string[][]) =>
  reported.map((all) => all.filter((one) => /condition/.test(one)));

test("a condition of the site does not end when this board ceases to lead, because the board no longer knows about it", () => {
  const lost = { ofSite: ["BoardsLost"] };
  expect(
    conditionsOnly(story([0, judging], [2, { ...judging, ...lost }], [70, follows], [72, follows], [140, follows])),
  ).toEqual([[], ["board condition.raised warning"], ["board condition.unknown info"], [], []]);
});

test("a board that leads again clears a condition once it has judged the site, or raises it again", () => {
  const lost = { ofSite: ["BoardsLost"] };
  const begins = { ...judging, judgement: { unwritten: 0 } };
  const before = [
    [0, { ...judging, ...lost }],
    [70, follows],
    [140, begins],
  ] as const;
  const raised = ["board condition.raised warning"];
  const unknown = ["board condition.unknown info"];
  expect(conditionsOnly(story(...before, [142, judging]))).toEqual([
    raised,
    unknown,
    [],
    ["board condition.cleared info"],
  ]);
  expect(conditionsOnly(story(...before, [142, { ...judging, ...lost }]))).toEqual([raised, unknown, [], raised]);
});

test("a leader that judges no boards clears conditions of the site nevertheless", () => {
  const pausing = { leader: leads, controllers: [{ ...judge, name: "pod-gc" }] };
  const frozen = { ...pausing, ofSite: ["EvictionFrozen"] };
  expect(conditionsOnly(story([0, frozen], [70, pausing]))[1]).toEqual(["board condition.cleared info"]);
});

test("a board's own condition is cleared when its cause ends, regardless of which board leads", () => {
  expect(conditionsOnly(story([0, { ...judging, conditions: ["Hot"] }], [70, follows]))[1]).toEqual([
    "board condition.cleared info",
  ]);
});

test("if more conditions occur than can be remembered, each is reported once, and the excess ones only when there is room", () => {
  const many = Array.from({ length: 700 }, (_, at) => `Condition${at}`);
  const [first = [], ...later] = story(
    [0, { conditions: many }],
    [2, { conditions: many }],
    [200, { conditions: many }],
    [202, { conditions: many.slice(300) }],
    [204, { conditions: many.slice(300) }],
    [206, { conditions: many.slice(300) }],
  );
  expect(first.length).toBeGreaterThan(400);
  expect(first.length).toBeLessThanOrEqual(500);
  const [again, muchLater, fewer = [], rest = [], end] = later;
  expect([again, muchLater, end]).toEqual([[], [], []]);
  const raised = (reported: readonly string[]) => reported.filter((text) => text.includes("raised")).length;
  expect(fewer.filter((text) => text.includes("cleared"))).toHaveLength(300);
  expect(raised(first) + raised(fewer) + raised(rest)).toBe(700);
});

test("the leader is reported regardless of the number of conditions", () => {
  const many = Array.from({ length: 700 }, (_, at) => `Condition${at}`);
  expect(story([0, { conditions: many, leader: leads }])[0]).toContain("site leader.acquired info");
});

test("an outage is reported once, when the number of held acts is known, and so is the next one", () => {
  const after = (number: number) => ({
    link: {
      api: {
        state: "up" as const,
        since: "2026-01-01T00:01:18Z",
        lastOutage: { number, from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:01:18Z", boardsHeld: 0, podsHeld: 2 },
        watch: { open: 4, restarts: 0 },
      },
    },
  });
  const held = { ...after(1), eviction: { queue: 0, pending: 0, held: "quarantine" } };
  expect(story([0, {}], [80, held], [140, after(1)], [142, after(1)], [500, after(2)])).toEqual([
    [],
    [],
    ["board api.outage info"],
    [],
    ["board api.outage info"],
  ]);
});
