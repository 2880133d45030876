import { expect, test } from "vitest";
import { HeldActs } from "../../../agent/holds/held-acts.ts";
import { RecordingLog } from "../../support/recording-log.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

test("the peak of held acts is kept, and the end of the hold is logged once", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.record(undefined, log, at(0));
  held.record({ boards: 1, pods: 0 }, log, at(10));
  held.record({ boards: 0, pods: 4 }, log, at(20));
  held.record({ boards: 0, pods: 2 }, log, at(30));
  held.record(undefined, log, at(40));
  held.record(undefined, log, at(50));
  expect(held.mostSince(at(5))).toEqual({ boards: 1, pods: 4 });
  expect(log.lines).toMatchObject([
    {
      level: "info",
      message: "silent boards may be evicted again",
      fields: { heldMs: 30_000, boardsHeld: 1, podsHeld: 4 },
    },
  ]);
});

test("the peak of an earlier outage does not count for a later one in which this board did not lead", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.record({ boards: 3, pods: 9 }, log, at(10));
  held.record(undefined, log, at(20));
  expect(held.mostSince(at(100))).toEqual({ boards: 0, pods: 0 });
});

test("another hold is counted separately", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.record({ boards: 3, pods: 9 }, log, at(10));
  held.record(undefined, log, at(20));
  held.record({ boards: 0, pods: 1 }, log, at(30));
  expect(held.mostSince(at(25))).toEqual({ boards: 0, pods: 1 });
});
