import { afterEach, beforeEach, expect, test } from "vitest";
import { silent } from "../../agent/base/logger.ts";
import type { LinkState } from "../../simulator/relay.ts";
import { type BoardAgent, SimulatedBoard } from "../../simulator/simulated-board.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { SeededRandom } from "../support/seeded-random.ts";

let clock: FakeClock;
let story: string[];
let board: SimulatedBoard;
let site: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  clock = new FakeClock();
  story = [];
  const tell = (what: string): number => story.push(what);
  const alive = async (who: string, signal: AbortSignal): Promise<void> => {
    tell(`${who} starts`);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    tell(`${who} ends`);
  };
  const agent: BoardAgent = {
    state: "running",
    run: (signal) => alive("agent", signal),
    kill: () => tell("agent killed"),
    suspend: () => tell("agent suspended"),
    resume: () => tell("agent resumed"),
    memory: () => undefined,
  };
  board = new SimulatedBoard(
    { clock, random: new SeededRandom(), log: silent },
    {
      plate: { name: "pi-1", zone: "zone-a", number: 1 },
      agent,
      boot: (signal) => alive("kubelet", signal),
      relay: { set: (state) => tell(`link ${inWords(state)}`), reset: () => tell("link reset") },
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

test("without power the link falls silent before the agent is killed: nobody is told", async () => {
  board.powerOff();
  await clock.settle();
  expect(story).toEqual(["link silent", "agent killed", "kubelet ends", "agent ends"]);
  expect(board.power).toBe("off");
});

test("with power again connections of the boot before are gone, and both start anew", async () => {
  board.powerOff();
  await clock.settle();
  story.length = 0;
  board.powerOn();
  expect(story).toEqual(["link reset", "kubelet starts", "agent starts", "link up"]);
  board.powerOn();
  expect(story).toHaveLength(4);
});

test("a cable that was pulled stays pulled through a power cut", async () => {
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

test("a link is restored in vain while there is no power", () => {
  board.powerOff();
  board.restore();
  expect(story.at(-1)).toBe("link silent");
});

test("a flapping link goes up and down by turns until it is told something else", async () => {
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

test("a restart lets the agent say goodbye over its link, and takes its time", async () => {
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
