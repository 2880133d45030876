import { expect, test } from "vitest";
import { UpdateWatch } from "../../../agent/companions/update-watch.ts";
import type { FleetEvent } from "../../../agent/fleet/reporting/fleet-events.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

/** A board over the starts of its agent. Its disk remembers; what a process says last lies in memory, until the next boot. */
class Board {
  readonly clock = new FakeClock("2026-11-20T12:00:00Z");
  readonly log = new RecordingLog();
  readonly kept = new Map<string, string>();
  readonly events: FleetEvent[] = [];
  writes = 0;
  isFull = false;
  #version = "";
  #boot = "boot-1";
  #lastWord: { readonly version: string; readonly ending: { readonly cause: string } } | undefined;
  #watch: UpdateWatch | undefined;
  #startedAt = this.clock.now();

  async start(version: string): Promise<void> {
    this.#version = version;
    this.#startedAt = this.clock.now();
    await this.live();
  }

  /** Another life of the same process, as after another configuration. */
  async live(): Promise<void> {
    const facts = {
      get: (area: string, key: string) => this.kept.get(`${area} ${key}`),
      set: (area: string, key: string, value: string) => {
        if (this.isFull) throw new Error("the disk is full");
        this.writes++;
        this.kept.set(`${area} ${key}`, value);
      },
    };
    this.#watch = new UpdateWatch(
      { clock: this.clock, log: this.log, random: new SeededRandom(1) },
      {
        facts,
        version: this.#version,
        bootId: this.#boot,
        process: { startedAt: this.#startedAt, previous: this.#lastWord },
        fleet: { note: (event) => void this.events.push(event) },
        statusChanged: () => {},
      },
    );
    await this.#watch.run();
  }

  /** The process ends after so long. "silent": before its first status. */
  async ends(after: string, cause: string): Promise<void> {
    await this.clock.advance(after);
    if (cause !== "silent") this.#lastWord = { version: this.#version, ending: { cause } };
  }

  async reboot(): Promise<void> {
    this.#lastWord = undefined;
    this.#boot = `${this.#boot}+`;
  }

  /** Runs, crashes and is started again by systemd, so many times. */
  async crashes(times: number, { after = "20s", cause = "unclean" } = {}): Promise<void> {
    for (let time = 0; time < times; time++) {
      await this.ends(after, cause);
      await this.start(this.#version);
    }
  }

  get problem() {
    return this.#watch?.contribution(this.clock.now()).problems?.[0];
  }
}

async function updated(): Promise<Board> {
  const board = new Board();
  await board.start("0.1.0");
  await board.ends("5h", "stop");
  await board.start("0.2.0");
  return board;
}

test("an update that crashes for the third time is reported once, with the way back", async () => {
  const board = await updated();
  await board.crashes(2);
  expect(board.problem).toBeUndefined();
  await board.crashes(1);
  expect(board.problem).toEqual({
    type: "UpdateUnhealthy",
    severity: "critical",
    message:
      "since the update from 0.1.0 to 0.2.0, the agent has crashed 3 times, the last time less than 10 minutes ago",
    hint:
      "see journalctl -u siteward for the cause; to return to the previous version: sudo apt install --allow-downgrades " +
      "/var/cache/siteward/siteward_0.1.0_*.deb (if the file is missing, copy it to the board first)",
  });
  await board.crashes(4);
  expect(board.problem).toMatchObject({ message: expect.stringContaining("crashed 7 times") });
  expect(board.events).toEqual([
    { type: "update.unhealthy", severity: "critical", detail: { version: "0.2.0", former: "0.1.0", crashes: 3 } },
  ]);
});

test.each(["watchdog", "failure", "silent"])("an end by %s is a crash", async (cause) => {
  const board = await updated();
  await board.crashes(3, { cause });
  expect(board.problem).toBeDefined();
});

test.each(["stop", "command", "memory", "storage"])("an end by %s is not a crash", async (cause) => {
  const board = await updated();
  await board.crashes(9, { cause });
  expect([board.problem, board.events]).toEqual([undefined, []]);
});

test.each([
  ["200s", true],
  ["201s", false],
])(
  "three crashes are reported if they happen within ten minutes of the first start: one every %s",
  async (after, isTold) => {
    const board = await updated();
    await board.crashes(3, { after });
    expect(board.problem !== undefined).toBe(isTold);
  },
);

test("an update counts as healthy after ten minutes, and a later restart or crash does not report it again", async () => {
  const board = await updated();
  await board.crashes(3);
  await board.clock.advance("599s");
  expect(board.problem).toBeDefined();
  await board.clock.advance("1s");
  expect(board.problem).toBeUndefined();
  await board.ends("1h", "stop");
  await board.start("0.2.0");
  await board.crashes(5);
  expect(board.problem).toBeUndefined();
  expect(board.events).toHaveLength(1);
});

test("a power cut is not a crash, and starts the count of crashes again", async () => {
  const board = await updated();
  for (let cut = 0; cut < 5; cut++) {
    await board.clock.advance("20s");
    await board.reboot();
    await board.start("0.2.0");
  }
  expect(board.events).toEqual([]);
  const crashing = await updated();
  await crashing.crashes(3);
  await crashing.reboot();
  await crashing.start("0.2.0");
  expect(crashing.problem).toBeUndefined();
  await crashing.crashes(3);
  expect(crashing.problem).toBeDefined();
});

test("neither the restored previous version nor the first version of a board is reported as a bad update", async () => {
  const board = await updated();
  await board.crashes(3);
  await board.ends("5s", "unclean");
  await board.start("0.1.0");
  expect(board.problem).toBeUndefined();
  const fresh = new Board();
  await fresh.start("0.1.0");
  await fresh.crashes(5);
  expect(fresh.problem).toBeUndefined();
});

test("a new version costs one write, and so does each crash that counts, but no other start", async () => {
  const board = await updated();
  expect(board.writes).toBe(2);
  await board.live();
  await board.crashes(4, { cause: "stop" });
  expect(board.writes).toBe(2);
  await board.crashes(1);
  await board.live();
  await board.live();
  expect(board.writes).toBe(3);
  await board.clock.advance("1h");
  await board.crashes(4);
  await board.reboot();
  await board.start("0.2.0");
  await board.reboot();
  await board.start("0.2.0");
  // The reboot after a crash, and not the next one.
  expect(board.writes).toBe(4);
});

test("an unwritable disk, or garbage on it, does not end the agent", async () => {
  const board = await updated();
  await board.crashes(2);
  board.isFull = true;
  await board.crashes(1);
  expect(board.problem).toBeDefined();
  board.isFull = false;
  for (const nonsense of ["{", "[]", '{"version":"0.2.0"}']) {
    board.kept.set("update trial", nonsense);
    await board.crashes(1);
    expect(board.problem).toBeUndefined();
  }
});
