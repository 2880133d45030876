import { expect, test } from "vitest";
import {
  deafProblem,
  isolatedProblem,
  lagProblems,
  lateProblem,
  pausedProblems,
  postponedProblems,
  shadowProblems,
  unableProblem,
} from "../../../agent/status/judge-problems.ts";
import type { JudgementPart } from "../../../agent/status/parts.ts";
import { at, healthy } from "../../support/site-status.ts";

const usual: JudgementPart = {
  at: at(3600),
  period: 5000,
  isPaused: false,
  unwritten: 0,
  behindSince: undefined,
  qps: 20,
};
const said = (changes: Partial<JudgementPart>, seconds = 3604): readonly string[] =>
  lagProblems(healthy({ judgement: { ...usual, ...changes } }, at(seconds))).map(
    ({ severity, type, message, hint }) => `${severity} ${type}: ${message} (${hint})`,
  );

const hint =
  "raise client.qps (now 20 per second) if the API server can take more; the most important boards are marked first";

test("a site that is judged on time has no problems, nor has a site that is not judged", () => {
  expect(said({})).toEqual([]);
  expect(said({ at: undefined })).toEqual([]);
  expect(lagProblems(healthy())).toEqual([]);
});

test("boards whose conditions wait for more than a period are counted, with a hint", () => {
  expect(said({ unwritten: 4311, behindSince: at(3600) })).toEqual([]);
  expect(said({ unwritten: 4311, behindSince: at(3599) })).toEqual([
    `warning NodeLifecycleBehind: more than 2000 silent boards are not marked in the API yet (${hint})`,
  ]);
});

test("in shadow mode nothing waits to be written, so the request limit is not the cause", () => {
  expect(said({ unwritten: 7, behindSince: at(3599), isShadowed: true }, 3640)).toEqual([
    "warning NodeLifecycleBehind: more than 5 silent boards are not decided on yet; boards and zones were last judged at 2026-11-20 13:00 UTC (check the load of this board: nothing is sent in shadow mode, so client.qps is not the cause)",
  ]);
});

test("the text does not change with every board, because it is sent to the fleet", () => {
  const texts = new Set(Array.from({ length: 5000 }, (_, i) => said({ unwritten: i + 1, behindSince: at(0) })[0]));
  expect(texts.size).toBe(12);
  expect([1, 2, 7].map((unwritten) => said({ unwritten, behindSince: at(0) })[0])).toEqual([
    expect.stringContaining(": 1 silent board is not marked"),
    expect.stringContaining(": more than 1 silent board is not marked"),
    expect.stringContaining(": more than 5 silent boards are not marked"),
  ]);
});

test("numbers older than three periods are a problem", () => {
  expect(said({}, 3615)).toEqual([]);
  expect(said({}, 3640)).toEqual([
    `warning NodeLifecycleBehind: boards and zones were last judged at 2026-11-20 13:00 UTC (${hint})`,
  ]);
});

test("an operator's pause is not a lag, and an API that does not answer is a separate problem", () => {
  expect(said({ isPaused: true }, 3700)).toEqual([]);
  const down = { state: "down", since: at(3600), error: undefined } as const;
  expect(lagProblems(healthy({ judgement: usual, api: down }, at(3700)))).toEqual([]);
});

test("a pause is a problem of its own: no leader judges the boards, since the last judgement or in all of this term", () => {
  const said = (changes: Partial<JudgementPart>) =>
    pausedProblems(healthy({ judgement: { ...usual, ...changes } }, at(7200))).map(
      ({ severity, type, message }) => `${severity} ${type}: ${message}`,
    );
  const rest = "boards that have fallen silent or returned meanwhile are not noticed, and taints stay as they are";
  expect(said({})).toEqual([]);
  expect(pausedProblems(healthy())).toEqual([]);
  expect(said({ isPaused: true })).toEqual([
    `warning BoardsNotJudged: node-lifecycle is paused: no board has been judged since 2026-11-20 13:00 UTC; ${rest}`,
  ]);
  expect(said({ isPaused: true, at: undefined })).toEqual([
    `warning BoardsNotJudged: node-lifecycle is paused: no board has been judged in this term; ${rest}`,
  ]);
});

test("boards whose judgement a flapping link postpones are named, with times and no durations", () => {
  const boards = { count: 4, some: ["pi-3", "pi-4", "pi-5"].map((name) => ({ name, since: at(3000) })) };
  const said = (judgement: Partial<JudgementPart>) =>
    postponedProblems(healthy({ judgement: { ...usual, ...judgement } }, at(3604)));
  expect(said({})).toEqual([]);
  expect(said({ postponed: { since: at(3060), boards }, isPaused: true })).toEqual([]);
  expect(said({ postponed: { since: at(3060), boards } })).toMatchObject([
    {
      type: "JudgementPostponed",
      severity: "warning",
      message:
        "heartbeats have been interrupted again and again since 2026-11-20 12:51 UTC: 4 boards keep their pods, because they could not be judged for long enough in between; silent since: pi-3 (2026-11-20 12:50 UTC), pi-4 (2026-11-20 12:50 UTC), pi-5 (2026-11-20 12:50 UTC), and 1 more",
    },
  ]);
});

test("a deaf leader is critical, and reported with the time at which it became deaf", () => {
  expect(deafProblem(at(3600), at(3700))).toMatchObject({
    type: "LeaderDeaf",
    severity: "critical",
    message: expect.stringContaining(
      "have delivered nothing new since 2026-11-20 13:00 UTC, although the API server responds",
    ),
  });
});

test("a leader that cannot act is degraded, and reported with the requests that fail, since when and why", () => {
  const error = new Error("delete pod default/web: HTTP 500");
  expect(unableProblem({ kind: "delete pods", since: at(3600), error }, at(3700))).toMatchObject({
    type: "LeaderUnable",
    severity: "warning",
    message:
      "this board leads, and none of its requests to delete pods has succeeded since 2026-11-20 13:00 UTC: delete pod default/web: HTTP 500",
  });
});

test("a leader that hears nobody on the LAN is degraded, and reported with its interface", () => {
  expect(isolatedProblem({ path: "eth0", since: at(3600) }, at(3700))).toMatchObject({
    type: "LeaderIsolated",
    severity: "warning",
    message: expect.stringContaining("answered it on the LAN via eth0 before has done so since 2026-11-20 13:00 UTC"),
  });
});

test("controllers that wait for their caches long after the beginning of a term are named with what is behind", () => {
  const loops = [
    { names: ["taint-eviction", "pod-gc"], waitFor: ["pods"] },
    { names: ["daemonset"], waitFor: ["pods", "daemonsets.apps"] },
  ];
  expect(lateProblem({ since: at(3600), loops }, at(3700))).toMatchObject({
    type: "ControllersNotStarted",
    severity: "warning",
    message:
      "this board has led since 2026-11-20 13:00 UTC, but some of its controllers have not started yet: taint-eviction, pod-gc (waiting for pods); daemonset (waiting for pods, daemonsets.apps)",
  });
});

test("controllers in shadow mode are named, as information about the site", () => {
  expect(shadowProblems([])).toEqual([]);
  const [problem] = shadowProblems(["node-lifecycle", "pod-gc"]);
  expect(problem).toMatchObject({ type: "ControllerShadowed", severity: "info", isOfSite: true });
  expect(problem?.message).toMatch(/^node-lifecycle, pod-gc run in shadow mode: .* nothing is written/);
  expect(shadowProblems(["pod-gc"])[0]?.message).toMatch(/^pod-gc runs in shadow mode/);
});
