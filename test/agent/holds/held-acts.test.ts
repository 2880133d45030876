import { expect, test } from "vitest";
import { HeldActs } from "../../../agent/holds/held-acts.ts";
import { RecordingLog } from "../../support/recording-log.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

test("the most that was held at one time is kept, and the end of the hold is logged once", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.look(undefined, log, at(0));
  held.look({ boards: 1, pods: 0 }, log, at(10));
  held.look({ boards: 0, pods: 4 }, log, at(20));
  held.look({ boards: 0, pods: 2 }, log, at(30));
  held.look(undefined, log, at(40));
  held.look(undefined, log, at(50));
  expect(held.mostSince(at(5))).toEqual({ boards: 1, pods: 4 });
  expect(log.lines).toMatchObject([
    {
      level: "info",
      message: "silent boards may be evicted again",
      fields: { heldMs: 30_000, boardsHeld: 1, podsHeld: 4 },
    },
  ]);
});

test("what an earlier outage held is not told of a later one, in which this board did not lead", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.look({ boards: 3, pods: 9 }, log, at(10));
  held.look(undefined, log, at(20));
  expect(held.mostSince(at(100))).toEqual({ boards: 0, pods: 0 });
});

test("another hold counts for itself", () => {
  const held = new HeldActs();
  const log = new RecordingLog();
  held.look({ boards: 3, pods: 9 }, log, at(10));
  held.look(undefined, log, at(20));
  held.look({ boards: 0, pods: 1 }, log, at(30));
  expect(held.mostSince(at(25))).toEqual({ boards: 0, pods: 1 });
});
