import { expect, test } from "vitest";
import { type DueActs, HeldActs } from "../../../agent/holds/held-acts.ts";
import { RecordingLog } from "../../support/recording-log.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });
const during = (from: number, to: number) => ({ from: at(from), to: at(to) });
const due = (boards: readonly string[], pods: number): DueActs => ({ boards: new Set(boards), pods });
const nothing = due([], 0);

test("the peak of held acts is kept, and the end of the hold is logged once", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.free(nothing, log, at(0));
  held.hold(due(["pi-1"], 0), at(10));
  held.hold(due([], 4), at(20));
  held.hold(due([], 2), at(30));
  held.free(nothing, log, at(40));
  held.free(nothing, log, at(50));
  expect(held.mostDuring(during(5, 35))).toEqual({ boards: 1, pods: 4 });
  expect(log.lines).toMatchObject([
    {
      level: "info",
      message: "silent boards may be evicted again",
      fields: { heldMs: 30_000, boardsHeld: 1, podsHeld: 4 },
    },
  ]);
});

test("acts that something else held before are not counted", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.free(due(["pi-1"], 3), log, at(0));
  held.hold(due(["pi-1"], 3), at(10));
  expect(held.mostDuring(during(2, 12))).toEqual({ boards: 0, pods: 0 });
  held.endTerm();
  held.hold(due(["pi-1", "pi-2"], 5), at(20));
  held.hold(due(["pi-2"], 2), at(30));
  expect(held.mostDuring(during(2, 32))).toEqual({ boards: 1, pods: 2 });
  held.free(due([], 3), log, at(40));
  held.endTerm();
  held.hold(due([], 3), at(4000));
  expect(held.mostDuring(during(3990, 4010))).toEqual({ boards: 0, pods: 3 });
});

test("the quarantine after an outage belongs to it, even if the watches were never interrupted for long", () => {
  const held = new HeldActs();
  held.hold(due([], 2), at(105));
  expect(held.mostDuring(during(80, 100))).toEqual({ boards: 0, pods: 2 });
});

test("each hold is counted separately, so a later one does not change an earlier one", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.hold(due(["pi-1", "pi-2", "pi-3"], 9), at(10));
  held.free(nothing, log, at(20));
  expect(held.mostDuring(during(100, 110))).toEqual({ boards: 0, pods: 0 });
  held.hold(due([], 1), at(130));
  expect(held.mostDuring(during(125, 135))).toEqual({ boards: 0, pods: 1 });
  expect(held.mostDuring(during(5, 15))).toEqual({ boards: 3, pods: 9 });
});
