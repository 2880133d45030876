import { describe, expect, test } from "vitest";
import type { Standing } from "../../agent/commands/desk/controls.ts";
import type { FleetBoard } from "../support/broker/fleet-board.ts";
import { rest } from "../support/rest.ts";
import { lack, TestFleet } from "./site.ts";

const topic = "sw1/acme/plant7/_site";

/** Two boards of a site, and an operator whose commands each have a distinct effect. */
class Site {
  readonly first: FleetBoard;
  readonly second: FleetBoard;
  readonly #fleet: TestFleet;
  #sent = 0;

  constructor(fleet: TestFleet) {
    this.#fleet = fleet;
    this.first = fleet.board({ board: "pi-1" });
    this.second = fleet.board({ board: "pi-2" });
  }

  elect(term: number, leader: string | undefined): void {
    for (const board of [this.first, this.second]) board.standing = standing(board, term, leader);
  }

  async send(): Promise<string> {
    const id = `H-${++this.#sent}`;
    const more = { id, expiry: 600, envelope: { by: `ops:${id}` } };
    return await this.#fleet.command(topic, "zone.confirm-dead", { zone: id.toLowerCase(), ttl: 600 }, more);
  }

  /** The boards that executed the command. */
  effects(id: string): string {
    const has = ({ effects }: FleetBoard) => effects.filter((effect) => effect === `confirm ${id.toLowerCase()}`);
    return [this.first, this.second].flatMap((board) => has(board).map(() => board.identity.board)).join(", ");
  }

  /** The terminal answers to the command, in order. */
  answers(id: string): string {
    return this.#fleet
      .said(`${topic}/res/zone.confirm-dead/${id}`)
      .filter(({ state }) => state !== "accepted" && state !== "running")
      .map(({ board, state }) => `${board} ${state}`)
      .join(", ");
  }

  async retained(id: string): Promise<unknown> {
    const found = await this.#fleet.retained(`${topic}/res/zone.confirm-dead/${id}`);
    return found && JSON.parse(found.payload).board;
  }

  /** Waits until this board executes the site's commands. */
  async listens(board: FleetBoard): Promise<void> {
    const before = board.effects.length;
    await expect
      .poll(
        async () => {
          if (board.effects.length === before) await this.send();
          return board.effects.length;
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBeGreaterThan(before);
    await rest(0.5);
  }

  /** Leaves a session with this board's subscription at the broker, as a leader's power cut does; the broker queues for it. */
  async wasListening({ identity, files }: FleetBoard): Promise<void> {
    const name = `acme/plant7/${identity.board}`;
    const properties = { sessionExpiryInterval: 3600 };
    const session = await this.#fleet.broker.clientWith(files, { clientId: name, clean: false, properties });
    await session.subscribeAsync(`${topic}/cmd/#`, { qos: 1 });
    await session.endAsync(true);
  }

  async isOnline(board: FleetBoard): Promise<void> {
    await expect
      .poll(() => this.#fleet.last(board.topic("up")), { timeout: 10_000 })
      .toMatchObject({ state: "online", cause: "connect" });
    await rest(1);
  }
}

const standing = ({ identity: { board } }: FleetBoard, term: number, leader: string | undefined): Standing => ({
  isLeader: board === leader,
  leader,
  term,
});

/** pi-1 led and lost power; pi-2 leads since and executed this command, which the broker has queued for pi-1 too. */
async function ledMeanwhile(): Promise<{ readonly site: Site; readonly id: string }> {
  const site = new Site(await new TestFleet().start());
  await site.wasListening(site.first);
  site.elect(2, "pi-2");
  site.second.start();
  await site.listens(site.second);
  const id = await site.send();
  await expect.poll(() => site.answers(id)).toBe("pi-2 succeeded");
  return { site, id };
}

describe.skipIf(lack)("site commands during a hand-over", () => {
  test("each is executed by at most one board and answered by one", async () => {
    const site = new Site(await new TestFleet().start());
    site.elect(1, "pi-1");
    site.first.start();
    site.second.start();
    await site.listens(site.first);
    const sent = new Map<string, number>();
    const begun = performance.now();
    for (let elected = false; performance.now() - begun < 7000; await rest(0.12)) {
      if (!elected && performance.now() - begun > 1500) {
        site.elect(2, "pi-2");
        elected = true;
      }
      sent.set(await site.send(), performance.now() - begun);
    }
    await rest(2.5);
    const outcomes = [...sent].map(([id, at]) => ({ at, outcome: `${site.answers(id)} (${site.effects(id)})` }));
    const kinds = new Set(outcomes.map(({ outcome }) => outcome));
    // The last outcome: no board is subscribed, and the broker reports that to the sender.
    const expected = ["pi-1 succeeded (pi-1)", "pi-1 rejected ()", "pi-2 succeeded (pi-2)", " ()"];
    expect([...kinds].filter((kind) => !expected.includes(kind))).toEqual([]);
    expect([...kinds]).toEqual(expect.arrayContaining(["pi-1 succeeded (pi-1)", "pi-2 succeeded (pi-2)"]));
    const unheard = outcomes.filter(({ outcome }) => outcome === " ()").map(({ at }) => at);
    expect(Math.min(...unheard)).toBeGreaterThan(1500);
    expect(Math.max(...unheard)).toBeLessThan(6000);
  });

  test("a former leader that returns under another leader ignores the commands sent in between", async () => {
    const { site, id } = await ledMeanwhile();
    site.first.start();
    await site.isOnline(site.first);
    expect([site.answers(id), site.effects(id)]).toEqual(["pi-2 succeeded", "pi-2"]);
    expect(site.first.log.said("info")).toContain("a site command is ignored, because another board leads");
  });

  test("a board that leads again refuses commands from another's term, and keeps that leader's answers", async () => {
    const { site, id } = await ledMeanwhile();
    await site.second.stop();
    site.elect(3, "pi-1");
    site.first.start();
    await site.isOnline(site.first);
    await expect.poll(() => site.answers(id), { timeout: 5000 }).toBe("pi-2 succeeded, pi-1 rejected");
    expect(site.effects(id)).toBe("pi-2");
    expect(await site.retained(id)).toBe("pi-2");
    await site.listens(site.first);
  });

  test("a former leader refuses a command that no other board can have received, so that it is sent again", async () => {
    const site = new Site(await new TestFleet().start());
    await site.wasListening(site.first);
    site.elect(1, undefined);
    const id = await site.send();
    site.first.start();
    await expect.poll(() => site.answers(id), { timeout: 10_000 }).toBe("pi-1 rejected");
    expect(site.effects(id)).toBe("");
    expect(await site.retained(id)).toBeUndefined();
  });
});
