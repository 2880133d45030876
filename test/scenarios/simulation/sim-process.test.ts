import { describe, expect, test } from "vitest";
import { BoardClock } from "./board-clock.ts";
import { SimProcess } from "./sim-process.ts";
import { VirtualTime } from "./virtual-time.ts";

describe("a process that resumes after a pause", () => {
  test.each(["timers first", "answers first"] as const)("reads its connections in order, %s", async (waking) => {
    const time = new VirtualTime();
    const clock = new BoardClock(time, { pace: 1, wall: 0 });
    const process = new SimProcess(time, { id: 1, board: "pi-1", role: "agent", clock });
    const read: string[] = [];
    // A timer that sends a request, whose answer comes at once.
    process.after(10, () => process.deliver(() => read.push("answer to the request of the timer")));
    process.suspend();
    process.deliver(() => read.push("first event during the pause"));
    process.deliver(() => read.push("second event during the pause"));
    time.at(20, () => process.resume(waking));
    await time.runUntil(30);
    expect(read).toEqual([
      "first event during the pause",
      "second event during the pause",
      "answer to the request of the timer",
    ]);
  });
});
