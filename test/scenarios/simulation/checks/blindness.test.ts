import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { emptyHistory, type Listening, type NodeState, type ProcessHistory } from "../history.ts";
import { scheduleOf } from "../schedule.ts";
import type { Act } from "./acts.ts";
import { checkBlindness } from "./blindness.ts";
import { Hearing } from "./hearing.ts";

const second = 1000;
const boards = ["pi-1", "pi-2", "pi-3", "pi-4"];
/** Both watches are up for 30 s in each 45 s, from here on. */
const flapsFrom = 200 * second;
const [up, period] = [30 * second, 45 * second];
const ready: NodeState = { at: 0, version: "1", ready: "True", taints: [] };

/** Watches in which boards are heard every 10 s: until the flaps begin all, then those that `heardIn` names for each respite. */
function watches(respites: number, heardIn: (respite: number) => readonly string[]): Listening[] {
  const watch = (from: number, until: number, names: readonly string[]): Listening[] => {
    const pieces: { at: number; text: string }[] = [];
    for (let at = from + 5 * second; at < until; at += 10 * second) {
      pieces.push({ at, text: ["anyone", ...names].map((name) => `{"name":"${name}"}`).join() });
    }
    return (["nodes", "leases"] as const).map((resource) => ({ resource, from, until, pieces }));
  };
  return [
    ...watch(0, flapsFrom, boards),
    ...Array.from({ length: respites }, (_, index) => {
      const from = flapsFrom + period - up + index * period;
      return watch(from, from + up, heardIn(index));
    }).flat(),
  ];
}

/** What the check says about a mark of pi-4, silent since the flaps began, 20 s after the last outage. */
function complaints(respites: number, heardIn: (respite: number) => readonly string[]): readonly string[] {
  const { setting } = scheduleOf(1, new SeededRandom(1), { boards: 5, policy: "evidence" });
  const history = emptyHistory(setting);
  const process: ProcessHistory = {
    id: 1,
    board: "pi-1",
    startedAt: 0,
    isLost: false,
    listening: watches(respites, heardIn),
    toldTerms: [],
  };
  history.processes.set(1, process);
  for (const name of boards) history.nodes.set(name, [ready]);
  history.signs.set("pi-4", [flapsFrom - second]);
  const sentAt = flapsFrom + period - up + (respites - 1) * period + 20 * second;
  const act: Act = {
    is: "unknown",
    board: "pi-4",
    zone: "zone-1",
    pod: undefined,
    process: 1,
    sentAt,
    triedAt: sentAt,
    order: 1,
    isDone: true,
    isGone: false,
    isAnswered: true,
    isOnRunning: false,
    uid: undefined,
  };
  return checkBlindness(history, [act], [], new Map([[1, new Hearing(process, sentAt)]]));
}

describe("the marking of one of many boards 20 s after an outage", () => {
  const all = (): readonly string[] => ["pi-1", "pi-2", "pi-3"];

  test("is permitted if the board missed three grace periods of respites in which the others were heard", () => {
    expect(complaints(7, all)).toEqual([]);
  });

  test("is not permitted if the board missed fewer, although it has been silent for as long", () => {
    expect(complaints(5, all)).toEqual([expect.stringContaining("grace: ")]);
  });

  test("is not permitted if most boards were not heard in those respites", () => {
    expect(complaints(7, (respite) => (respite < 6 ? ["pi-1"] : all()))).toEqual([expect.stringContaining("grace: ")]);
  });

  test("is not permitted if most boards are not heard now", () => {
    expect(complaints(7, (respite) => (respite < 6 ? all() : ["pi-1"]))).toEqual([expect.stringContaining("grace: ")]);
  });
});
