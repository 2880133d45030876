import { expect, it } from "vitest";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { emptyHistory, type History, type LeaseState } from "../history.ts";
import { scheduleOf } from "../schedule.ts";
import { isConfirmed } from "./confirmed.ts";

const second = 1000;

/** pi-2 was confirmed dead at 100 s, came back at 150 s, and a backup of 120 s was restored at 200 s. The leader is pi-1. */
function restoredSite(): History {
  const { setting } = scheduleOf(1, new SeededRandom(1), { boards: 2, policy: "kubernetes" });
  const history = emptyHistory(setting);
  const lease = (at: number, order: number): LeaseState => ({ at, order, by: undefined, lease: undefined });
  history.leases.push(lease(110 * second, 1), lease(160 * second, 5), lease(210 * second, 20));
  history.processes.set(1, {
    id: 1,
    board: "pi-1",
    startedAt: 0,
    isLost: false,
    listening: [],
    toldTerms: [{ order: 6, term: 3 }],
  });
  history.confirmations.push({ board: "pi-2", from: 100 * second, doneAt: 101 * second });
  history.signs.set("pi-2", [150 * second]);
  history.restores.push(200 * second);
  history.undone.push({ from: 120 * second, until: 200 * second });
  return history;
}

const act = { board: "pi-2", process: 1, sentAt: 260 * second };

it("a leader that read what the restore undid knows that the confirmed board came back", () => {
  expect(isConfirmed(restoredSite(), act)).toBe(false);
});

it("a leader whose power was cut before that was on its card does not know it", () => {
  const history = restoredSite();
  history.forgotten.set("pi-1", [{ from: 4, until: 10 }]);
  expect(isConfirmed(history, act)).toBe(true);
});

it("a power cut before it read that excuses nothing", () => {
  const history = restoredSite();
  history.forgotten.set("pi-1", [{ from: 0, until: 5 }]);
  expect(isConfirmed(history, act)).toBe(false);
});
