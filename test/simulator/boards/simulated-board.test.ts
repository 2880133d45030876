import { afterEach, beforeEach, expect, test } from "vitest";
import { noopLogger } from "../../../agent/base/logger.ts";
import type { LinkState } from "../../../simulator/boards/relay.ts";
import { type BoardAgent, SimulatedBoard } from "../../../simulator/boards/simulated-board.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

let clock: FakeClock;
let story: string[];
let board: SimulatedBoard;
let site: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  clock = new FakeClock();
  story = [];
  const log = (what: string): number => story.push(what);
  const alive = async (who: string, signal: AbortSignal): Promise<void> => {
    log(`${who} starts`);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    log(`${who} ends`);
  };
  const agent: BoardAgent = {
    state: "running",
    run: (signal) => alive("agent", signal),
    kill: () => log("agent killed"),
    suspend: () => log("agent suspended"),
    resume: () => log("agent resumed"),
    memory: () => undefined,
  };
  board = new SimulatedBoard(
    { clock, random: new SeededRandom(), log: noopLogger },
    {
      plate: { name: "pi-1", zone: "zone-a", number: 1 },
      agent,
      boot: (signal) => alive("kubelet", signal),
      relay: { set: (state) => log(`link ${inWords(state)}`), reset: () => log("link reset") },
    },
  );
  site = new AbortController();
  running = board.run(site.signal);
  await clock.settle();
  story.length = 0;
});

afterEach(async () => {
  site.abort();
  await running;
  expect(clock.timers).toBe(0);
});

const inWords = (state: LinkState): string => (state.is === "up" && state.delay > 0 ? `+${state.delay}ms` : state.is);

test("without power the link goes silent before the agent is killed, and no goodbye is sent", async () => {
  board.powerOff();
  await clock.settle();
  expect(story).toEqual(["link silent", "agent killed", "kubelet ends", "agent ends"]);
  expect(board.power).toBe("off");
});

test("after a power cut the connections of the previous boot are gone, and both parts start again", async () => {
  board.powerOff();
  await clock.settle();
  story.length = 0;
  board.powerOn();
  expect(story).toEqual(["link reset", "kubelet starts", "agent starts", "link up"]);
  board.powerOn();
  expect(story).toHaveLength(4);
});

test("an unplugged cable stays unplugged through a power cut", async () => {
  board.cut("silent");
  board.powerOff();
  await clock.settle();
  story.length = 0;
  board.powerOn();
  expect(story.at(-1)).toBe("link silent");
  expect(board.link).toBe("cut");
  board.restore();
  expect(story.at(-1)).toBe("link up");
});

test("a link that is restored while there is no power stays silent", () => {
  board.powerOff();
  board.restore();
  expect(story.at(-1)).toBe("link silent");
});

test("a flapping link goes up and down until its next order", async () => {
  board.flap(2000, 3000);
  expect(board.link).toBe("flapping");
  await clock.advance("10s");
  expect(story).toEqual(["link silent", "link up", "link silent", "link up", "link silent"]);
  board.slow(400);
  expect(board.link).toBe("slow");
  await clock.advance("1m");
  expect(story.at(-1)).toBe("link +400ms");
  expect(clock.timers).toBe(0);
});

test("a restart lets the agent say goodbye over its link, and takes the given time", async () => {
  const done = board.restart(3000, site.signal);
  await clock.settle();
  expect(story).toEqual(["kubelet ends", "agent ends", "link silent"]);
  expect(board.power).toBe("off");
  await clock.advance("3s");
  await done;
  expect(story.slice(3)).toEqual(["link reset", "kubelet starts", "agent starts", "link up"]);
});

test("at the end of the site even a cut board gets its link back, to say goodbye", async () => {
  board.cut("refused");
  site.abort();
  await running;
  expect(story).toEqual(["link refused", "link up", "kubelet ends", "agent ends", "link silent"]);
});
