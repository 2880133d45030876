import { expect, test } from "vitest";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { emptyHistory, type History, type Trouble, type Write } from "../history.ts";
import { scheduleOf } from "../schedule.ts";
import { harmOf } from "./harm.ts";
import { tallyOf } from "./harm-tally.ts";

const second = 1000;
const healthy = { version: "1", ready: "True", taints: [] };

/** A site of two boards whose leader runs on pi-2, and what its agents wrote. */
function historyWith(troubles: readonly Trouble[], writes: readonly Partial<Write>[]): History {
  const history = emptyHistory(scheduleOf(1, new SeededRandom(1), { boards: 2 }).setting);
  history.nodes.set("pi-1", [{ at: 0, ...healthy }]);
  history.troubles.set("pi-1", [...troubles]);
  history.processes.set(7, { id: 7, board: "pi-2", startedAt: 0, isLost: false, listening: [], toldTerms: [] });
  for (const [order, write] of writes.entries()) {
    history.writes.push({
      process: 7,
      board: "pi-2",
      method: "DELETE",
      path: "",
      body: "{}",
      sentAt: 0,
      order,
      effect: undefined,
      isAnswered: true,
      ...write,
    });
  }
  return history;
}

const effect = (at: number, status = 200): Write["effect"] => ({
  at: at * second,
  order: 0,
  status,
  before: undefined,
});
const eviction = (at: number, kind = "brief", status = 200): Partial<Write> => ({
  path: `/api/v1/namespaces/default/pods/${kind}-pi-1`,
  effect: effect(at, status),
});
const taint = (at: number): Partial<Write> => ({
  method: "PATCH",
  path: "/api/v1/nodes/pi-1",
  body: JSON.stringify({ spec: { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }] } }),
  effect: effect(at),
});
const trouble = (what: Trouble["what"], from: number, until?: number): Trouble => ({
  what,
  from: from * second,
  until: until && until * second,
});

test.each([
  ["whose link works", [], "nothing"],
  ["whose cable is cut", [trouble("the whole link, silent", 100, 300)], "the whole link, silent"],
  [
    "whose kubelet alone is cut off, and whose link is slow",
    [trouble("only the kubelet's link", 100), trouble("the whole link, slow or refusing", 150)],
    "the whole link, slow or refusing",
  ],
  ["that had power again for a minute", [trouble("no power", 100, 140)], "just back from a power cut"],
  [
    "that has long had power again",
    [trouble("no power", 10, 20), trouble("only the kubelet's link", 100)],
    "only the kubelet's link",
  ],
] as const)("an eviction from a board %s is a false act", (_, troubles, circumstance) => {
  const { falseActs } = harmOf(historyWith(troubles, [eviction(200)]));
  expect(falseActs).toEqual([{ is: "evict", circumstance, own: false }]);
});

test.each([
  ["has not been heard since", [], "the whole link, silent"],
  ["was heard too late for the pass that judged it", [197], "the whole link, silent"],
  ["was heard in time", [191], "nothing"],
] as const)("the circumstance of an act on a board that was plugged in again and %s", (_, signs, circumstance) => {
  const history = historyWith([trouble("the whole link, silent", 100, 190)], [eviction(200)]);
  history.signs.set(
    "pi-1",
    signs.map((at) => at * second),
  );
  expect(harmOf(history).falseActs).toMatchObject([{ circumstance }]);
});

test("an act against the board that the leader runs on is marked as such", () => {
  const history = historyWith([], [eviction(200)]);
  history.processes.set(7, { id: 7, board: "pi-1", startedAt: 0, isLost: false, listening: [], toldTerms: [] });
  expect(harmOf(history).falseActs).toMatchObject([{ own: true }]);
});

test("an act that was refused, or met a board without power, does not harm any living board", () => {
  expect(harmOf(historyWith([], [eviction(200, "brief", 409)])).falseActs).toEqual([]);
  expect(harmOf(historyWith([trouble("no power", 100)], [eviction(200)])).falseActs).toEqual([]);
});

test("a board that lost power permanently was tainted and emptied after some time", () => {
  const acts = [taint(160), eviction(161), eviction(180, "short"), eviction(220, "long")];
  expect(harmOf(historyWith([trouble("no power", 100)], acts)).deaths).toEqual([
    { taintedAfter: 60 * second, emptiedAfter: 120 * second },
  ]);
});

test("a dead board that still has a pod was not emptied, and one without an act against it was not tainted", () => {
  expect(harmOf(historyWith([trouble("no power", 100)], [taint(160), eviction(161)])).deaths).toEqual([
    { taintedAfter: 60 * second, emptiedAfter: undefined },
  ]);
  expect(harmOf(historyWith([trouble("no power", 100)], [])).deaths).toEqual([
    { taintedAfter: undefined, emptiedAfter: undefined },
  ]);
});

test("boards that returned, or were already considered lost, do not count as deaths", () => {
  expect(harmOf(historyWith([trouble("no power", 100, 200)], [])).deaths).toEqual([]);
  const history = historyWith([trouble("no power", 100)], []);
  history.nodes.get("pi-1")?.push({ at: 90 * second, version: "2", ready: "Unknown", taints: [] });
  expect(harmOf(history).deaths).toEqual([]);
});

test("the tally names the schedules with false acts, what was wrong, and how long the dead boards waited", () => {
  const cut = harmOf(historyWith([trouble("the whole link, silent", 100)], [taint(150), eviction(200)]));
  const dead = harmOf(historyWith([trouble("no power", 100)], [taint(160)]));
  const none = harmOf(historyWith([], []));
  expect(tallyOf([cut, dead, none, none])).toEqual([
    "1 of 4 schedules harm a living board (25.0 %)",
    `  ${"the whole link, silent".padEnd(42)} 1 schedules: taint 1, evict 1, unready 0`,
    "1 healthy boards lost power for good",
    "  tainted                1; median 60 s, p99 60 s, most 60 s",
    "  limited pods all gone  0",
  ]);
});
