import { expect, onTestFinished, test } from "vitest";
import { SeededRandom } from "../../support/seeded-random.ts";
import type { Edge } from "./edge.ts";
import { scheduleOf } from "./schedule.ts";
import { Site } from "./site.ts";
import type { VirtualTime } from "./virtual-time.ts";

const latency = 3;

/** The path of a board's agent to the API server. */
function cable(): { readonly time: VirtualTime; readonly edge: Edge } {
  const { setting, ...rest } = scheduleOf(1, new SeededRandom(1), { boards: 1 });
  const boards = setting.boards.map((plate) => ({ ...plate, latency }));
  const site = new Site({ ...rest, setting: { ...setting, boards } }, { everything: false });
  onTestFinished(() => site.close());
  const [board] = site.boards;
  if (board === undefined) throw new Error("the site has a board");
  return { time: site.time, edge: board.agentEdge };
}

test("data that a silence held back arrives before data still in transit when the silence ends", async () => {
  const { time, edge } = cable();
  const read: string[] = [];
  const heal = edge.impair({ is: "silent" }, "late");
  edge.travel("back", () => read.push("due during the silence"));
  time.at(8, () => edge.travel("back", () => read.push("on its way at its end")));
  time.at(10, heal);
  time.at(10, () => edge.travel("back", () => read.push("sent after it")));
  await time.runUntil(60);
  expect(read).toEqual(["due during the silence", "on its way at its end", "sent after it"]);
});

test("data queued behind data that a silence holds is lost with it in a reset, and does not block later data", async () => {
  const { time, edge } = cable();
  const read: string[] = [];
  const heal = edge.impair({ is: "silent" }, "late");
  edge.travel("back", () => read.push("due during the silence"));
  time.at(8, () => edge.travel("back", () => read.push("on its way at its end")));
  time.at(10, heal);
  time.at(12, () => {
    const again = edge.impair({ is: "silent" }, "reset");
    time.at(20, again);
  });
  time.at(20, () => edge.travel("back", () => read.push("sent on the next connection")));
  await time.runUntil(60);
  expect(read).toEqual(["sent on the next connection"]);
});
