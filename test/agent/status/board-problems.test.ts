import { expect, test } from "vitest";
import { boardProblems } from "../../../agent/status/board-problems.ts";
import type { BoardsPart, Parts } from "../../../agent/status/parts.ts";
import { at, healthy } from "../../support/site-status.ts";

const none = { count: 0, some: [] };
const said = (changes: Partial<BoardsPart>, more: Partial<Parts> = {}): readonly string[] =>
  boardProblems(healthy({ boards: { lost: none, off: none, notReady: none, tainted: 0, ...changes }, ...more })).map(
    ({ severity, type, message }) => `${severity} ${type}: ${message}`,
  );

const away = (...names: string[]) => names.map((name) => ({ name, since: at(3000) }));

test("a site whose boards are all present has no problems", () => {
  expect(said({})).toEqual([]);
  expect(boardProblems(healthy())).toEqual([]);
});

test("one lost board is named, with the time of its last heartbeat", () => {
  expect(said({ lost: { count: 1, some: away("pi-3") } })).toEqual([
    "warning BoardsLost: pi-3 is lost: it has been silent since 2026-11-20 12:50 UTC",
  ]);
});

test("a board that an operator confirmed dead is reported with the operator, and needs no further decision", () => {
  const [dead] = away("pi-3").map((board) => ({ ...board, confirmedBy: "ops:alice" }));
  const some = dead ? [dead, ...away("pi-4")] : [];
  expect(said({ lost: { count: 1, some: some.slice(0, 1) } })).toEqual([
    "warning BoardsLost: pi-3 is lost: it has been silent since 2026-11-20 12:50 UTC; ops:alice confirmed that it is dead",
  ]);
  expect(said({ lost: { count: 2, some } })[0]).toContain(
    "pi-3 (2026-11-20 12:50 UTC, confirmed dead by ops:alice), pi-4 (2026-11-20 12:50 UTC)",
  );
  const hintOf = (from: number) => {
    const lost = { count: 2 - from, some: some.slice(from) };
    return boardProblems(healthy({ boards: { lost, off: none, notReady: none, tainted: 0 } }))[0]?.hint;
  };
  expect(hintOf(0)).toContain(`siteward cmd board.confirm-dead '{"board":"pi-4"}' --reason TEXT`);
  expect(hintOf(1)).toContain(`siteward cmd board.confirm-dead '{"board":"pi-4"}' --reason TEXT`);
  const lost = { count: 1, some: some.slice(0, 1) };
  const [only] = boardProblems(healthy({ boards: { lost, off: none, notReady: none, tainted: 0 } }));
  expect(only?.hint).toMatch(/^the pods of confirmed boards are deleted by force, .* kubectl delete node NODE$/);
});

test("a silent board that is known to run is not lost: the text says how that is known, and that its pods stay", () => {
  const cut = (...witnesses: readonly ("lan" | "lan, no kubelet" | "leader")[]) => {
    const some = witnesses.map((witness, index) => ({ name: `pi-${index + 3}`, since: at(3000), witness }));
    return said({ cutOff: { count: witnesses.length, some: some.slice(0, 3) } });
  };
  const time = "2026-11-20 12:50 UTC";
  expect(cut("lan")).toEqual([
    `warning BoardsCutOff: pi-3 has not reached the API since ${time}, but answers on the LAN: its pods stay`,
  ]);
  expect(cut("lan, no kubelet")[0]).toMatch(
    /answers on the LAN, but its kubelet is not running; its pods stay for now$/,
  );
  expect(cut("leader")[0]).toMatch(/but leads the site, so it runs: its pods stay$/);
  expect(cut("lan", "lan, no kubelet", "leader", "lan")).toEqual([
    `warning BoardsCutOff: 4 boards cannot reach the API but are running, so their pods stay: pi-3 (${time}, answers on the LAN), ` +
      `pi-4 (${time}, answers on the LAN, but its kubelet is not running), pi-5 (${time}, leads the site), and 1 more`,
  ]);
});

test("for a board without a heartbeat in this term, the silence is reported as older than the term", () => {
  const some = [{ name: "pi-3", since: at(3000), neverHeard: true }, ...away("pi-4")];
  expect(said({ lost: { count: 1, some: some.slice(0, 1) } })).toEqual([
    "warning BoardsLost: pi-3 is lost: it has been silent since before 2026-11-20 12:50 UTC",
  ]);
  const unjudged = some.map((board) => ({ ...board, unjudged: true }));
  expect(said({ lost: { count: 1, some: unjudged.slice(0, 1) } })).toEqual([
    "warning BoardsLost: pi-3 is lost: it has been silent since before 2026-11-20 12:50 UTC; its new grace period has not ended",
  ]);
  expect(said({ lost: { count: 2, some: unjudged } })[0]).toContain(
    "pi-4 (2026-11-20 12:50 UTC, not judged again yet)",
  );
  expect(said({ lost: { count: 2, some } })).toEqual([
    "warning BoardsLost: 2 boards are lost: they have been silent since: pi-3 (before 2026-11-20 12:50 UTC), " +
      "pi-4 (2026-11-20 12:50 UTC)",
  ]);
});

test("the first few of many lost boards are named and the rest are counted, on one line", () => {
  expect(said({ lost: { count: 200, some: away("pi-3", "pi-4", "pi-5") } })).toEqual([
    "warning BoardsLost: 200 boards are lost: they have been silent since: pi-3 (2026-11-20 12:50 UTC), " +
      "pi-4 (2026-11-20 12:50 UTC), pi-5 (2026-11-20 12:50 UTC), and 197 more",
  ]);
});

test("boards that are not ready are listed separately; silent boards that are cordoned are not a fault", () => {
  expect(said({ notReady: { count: 1, some: away("pi-4") }, off: { count: 1, some: away("pi-5") } })).toEqual([
    "warning BoardsNotReady: pi-4 sends heartbeats but is not ready, since 2026-11-20 12:50 UTC",
    "info BoardsOff: pi-5 is cordoned, and has been silent since 2026-11-20 12:50 UTC",
  ]);
});

test("while the judgement is paused, boards are described as they were at the last one", () => {
  const judgement = { at: at(3100), period: 5000, isPaused: true, unwritten: 0, behindSince: undefined, qps: 20 };
  const one = (name: string) => ({ count: 1, some: away(name) });
  const undrained = [{ name: "pi-5", staying: 2, evicted: 0 }];
  expect(said({ lost: one("pi-3"), notReady: one("pi-4"), off: one("pi-5"), undrained }, { judgement })).toEqual([
    "warning BoardsLost: pi-3 was lost at the last judgement: it had been silent since 2026-11-20 12:50 UTC",
    "warning BoardsNotReady: pi-4 sent heartbeats at the last judgement but was not ready, since 2026-11-20 12:50 UTC",
    "info BoardsOff: pi-5 was cordoned at the last judgement, and had been silent since 2026-11-20 12:50 UTC",
    "warning CordonedNotDrained: pi-5 is cordoned and silent; 2 of its pods will be evicted (by the last judgement)",
  ]);
});

test("the next step for a board that was turned off on purpose says what is shown while it has pods", () => {
  const [problem] = boardProblems(
    healthy({ boards: { lost: { count: 1, some: away("pi-3") }, off: none, notReady: none, tainted: 1 } }),
  );
  expect(problem?.hint).toMatch(
    /kubectl cordon NODE, after which it is listed as BoardsOff, and as CordonedNotDrained as long as it has pods$/,
  );
});

test("a cordoned silent board with pods is a warning that says what becomes of them", () => {
  const off = { count: 5, some: away("pi-4", "pi-5", "pi-6") };
  const texts = said({
    off,
    undrained: [
      { name: "pi-4", staying: 3, evicted: 0 },
      { name: "pi-5", staying: 0, evicted: 2 },
      { name: "pi-6", staying: 1, evicted: 4 },
    ],
  });
  expect(texts[1]).toBe(
    "warning CordonedNotDrained: pi-4 is cordoned and silent; 3 of its pods will be evicted; " +
      "pi-5 is cordoned and silent; 2 of its pods have been evicted; " +
      "pi-6 is cordoned and silent; 4 of its pods have been evicted, and 1 will be",
  );
  const many = ["pi-4", "pi-5", "pi-6", "pi-7"].map((name) => ({ name, staying: 1, evicted: 0 }));
  expect(said({ off, undrained: many })[1]).toMatch(/pi-6 is cordoned and silent; 1 of its pods .*; and 1 more board$/);
});

test("the text stays the same while the board is away, so the fleet gets it once", () => {
  const boards = { lost: { count: 1, some: away("pi-3") }, off: none, notReady: none, tainted: 1 };
  const [now] = boardProblems(healthy({ boards }));
  const [later] = boardProblems(healthy({ boards }, at(7200)));
  expect(later?.message).toBe(now?.message);
});

test("in shadow mode nothing is promised or ordered that siteward would have to do", () => {
  const [held] = away("pi-3").map((board) => ({ ...board, heldUntil: at(7200) }));
  const lost = { count: 1, some: held ? [held] : [] };
  const cutOff = { count: 1, some: away("pi-4").map((board) => ({ ...board, witness: "lan" as const })) };
  const times = { at: at(3600), period: 5000, isPaused: false, unwritten: 0, behindSince: undefined, qps: 20 };
  const problems = boardProblems(
    healthy({
      boards: { lost, cutOff, off: none, notReady: none, tainted: 0 },
      judgement: { ...times, isShadowed: true },
    }),
  );
  expect(problems.map(({ message }) => message)).toEqual([
    "pi-3 is lost: it has been silent since 2026-11-20 12:50 UTC",
    "pi-4 has not reached the API since 2026-11-20 12:50 UTC, but answers on the LAN: its pods stay, as far as siteward would decide; in shadow mode another program does",
  ]);
  expect(problems[0]?.hint).toBe(
    "check power, network and kubelet; siteward why node/pi-3 says what siteward would have done (shadow mode)",
  );
});
