import { afterEach, describe, expect, test } from "vitest";
import { statusRows } from "../../agent/cli/commands/status/status-rows.ts";
import { problems } from "../../agent/status/health.ts";
import type { Parts } from "../../agent/status/parts.ts";
import { snapshot } from "../../agent/status/snapshot.ts";
import { healthy } from "../support/site-status.ts";
import { realWall } from "./simulation/schedule.ts";
import type { SimBoard } from "./simulation/sim-board.ts";
import { Site } from "./simulation/site.ts";
import { type UnlimitedControls, unlimited } from "./unlimited-controls.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const alice = { by: "ops:alice", reason: "radio maintenance CHG-1182" };

/** Five boards in two zones: real agents on virtual time. Each board runs a pod that tolerates a lost board for a while. */
class Story {
  readonly site: Site;

  constructor({ lan }: { readonly lan: "none" | "apart" }) {
    const boards = Array.from({ length: 5 }, (_, index) => ({
      name: `pi-${index + 1}`,
      number: index + 1,
      zone: index < 3 ? "a" : "b",
      pace: 1,
      wall: realWall,
      latency: 3,
      pings: true,
    }));
    const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
    const setting = {
      policy: "evidence",
      standby: "cold",
      followers: "expiry",
      evictionRate: 0.1,
      maxHarm: undefined,
      selects: false,
      pins: false,
      lan,
      timing,
      boards,
    } as const;
    this.site = new Site({ setting, seed: 7, faults: [], calmAt: 0 }, { everything: false });
  }

  async begin(): Promise<this> {
    for (const board of this.site.boards) this.site.time.at(0, () => board.powerOn(realWall));
    this.site.keeper.start();
    await this.run(3 * minute);
    return this;
  }

  run(length: number): Promise<void> {
    return this.site.time.runUntil(this.site.time.now + length);
  }

  /** The controls of the leader, for orders without a time limit. */
  get operator(): UnlimitedControls | undefined {
    const { agent } = this.leader;
    return agent && unlimited(agent.agent.siteControls);
  }

  get leader(): SimBoard {
    const { leader } = this.site;
    if (!leader?.agent) throw new Error("there is no leader");
    return leader;
  }

  follower(zone: string): SimBoard {
    const found = this.site.boards.find((board) => board.plate.zone === zone && board !== this.site.leader);
    if (!found) throw new Error(`there is no follower in zone ${zone}`);
    return found;
  }

  parts(board = this.leader): Parts {
    const { agent, process } = board.agent ?? {};
    if (!agent || !process) throw new Error("no agent");
    const now = process.now();
    const { process: own, identity } = healthy({}, now);
    const { name } = board.plate;
    return {
      now,
      process: own,
      identity: { ...identity, board: name, node: name },
      ...agent.parts(now),
    };
  }

  problems(board?: SimBoard): readonly string[] {
    return problems(this.parts(board)).map(({ severity, type, message }) => `${severity} ${type}: ${message}`);
  }

  rows(board?: SimBoard): readonly string[] {
    return statusRows(snapshot(this.parts(board), undefined), 1000);
  }

  row(label: string, board?: SimBoard): string {
    return (
      this.rows(board)
        .find((row) => row.startsWith(`${label} `))
        ?.slice(12) ?? ""
    );
  }
}

let story: Story | undefined;

const begun = async (lan: "none" | "apart" = "none"): Promise<Story> => {
  story = await new Story({ lan }).begin();
  return story;
};

afterEach(() => {
  const complaints = story?.site.recorder.history.complaints;
  story?.site.close();
  story = undefined;
  expect(complaints ?? []).toEqual([]);
});

describe("a board that dies", () => {
  test("is reported by name, its pods wait and are then evicted, and all counts are correct", async () => {
    const site = await begun();
    expect(site.row("Eviction")).toBe(
      "0 boards tainted, 0 boards queued, 0 pods waiting, 0 pods evicted by this board in the last hour, not held",
    );
    const victim = site.follower("a");
    victim.powerOff("none");
    await site.run(75 * second);
    expect(site.problems()).toEqual([expect.stringMatching(lostAt(victim))]);
    expect(site.row("Eviction")).toBe(
      "1 board tainted, 0 boards queued, 1 pod waiting, 2 pods evicted by this board in the last hour, " +
        "3 of 10 harmful acts this hour, not held",
    );
    await site.run(minute);
    expect(site.row("Eviction")).toBe(
      "1 board tainted, 0 boards queued, 0 pods waiting, 3 pods evicted by this board in the last hour, " +
        "4 of 10 harmful acts this hour, not held",
    );
    const { acts = [] } = site.parts().eviction ?? {};
    expect(Object.fromEntries(acts.map(({ act, total }) => [act, total]))).toMatchObject({
      "board-marked": 1,
      "board-tainted": 1,
      "pod-marked": 4,
      "pod-evicted": 3,
    });
    victim.powerOn();
    await site.run(3 * minute);
    expect(site.problems()).toEqual([]);
    expect(site.row("Eviction")).toMatch(
      /^0 boards tainted, .* 3 pods evicted by this board in the last hour, 4 of 10 harmful acts this hour, not held$/,
    );
  });

  test("is not a fault if an operator cordoned it before, but its remaining pods are reported", async () => {
    const site = await begun();
    const victim = site.follower("a");
    const path = `/api/v1/nodes/${victim.plate.name}`;
    const signal = new AbortController().signal;
    const headers = { "content-type": "application/merge-patch+json" };
    const body = JSON.stringify({ spec: { unschedulable: true } });
    expect(site.site.api.handle({ method: "PATCH", path, headers, body, signal }).status).toBe(200);
    await site.run(10 * second);
    victim.powerOff("none");
    await site.run(75 * second);
    const { name } = victim.plate;
    const off = expect.stringMatching(`^info BoardsOff: ${name} is cordoned, and has been silent since`);
    const undrained = `warning CordonedNotDrained: ${name} is cordoned and silent`;
    expect(site.problems()).toEqual([`${undrained}; 2 of its pods have been evicted, and 1 will be`, off]);
    await site.run(minute);
    expect(site.problems()).toEqual([`${undrained}; 3 of its pods have been evicted`, off]);
  });
});

test("while a site is frozen no eviction rate is shown, and held boards and pods are counted", async () => {
  const site = await begun();
  const [first, second_] = site.site.boards.filter(({ plate }) => plate.zone === "a" && plate !== site.leader.plate);
  first?.powerOff("none");
  await site.run(80 * second);
  const order = site.operator?.freeze({ scope: "site" }, hour, alice, false);
  second_?.powerOff("none");
  await site.run(2 * minute);
  expect(await order).toMatchObject({ outcome: "done" });
  expect(site.row("Eviction")).toMatch(
    /^1 board tainted, 1 board queued \(1 held\), oldest \w+, 0 pods waiting, 1 pod held, 2 pods evicted by this board in the last hour, 3 of 10 harmful acts this hour, FROZEN: site until .*, 2 acts held \(freeze 2\)$/,
  );
  expect(site.row("Zones")).toMatch(/ 0\/s {3}FROZEN until/);
  expect(site.problems().join("\n")).not.toContain("/s");
  expect(site.problems()).toContainEqual(expect.stringMatching(/^warning ZoneDisrupted: a: .*, evicting nothing$/));
});

test("after a thaw the zones say until when they evict slowly, and the freeze did not expire", async () => {
  const site = await begun();
  const controls = () => site.leader.agent && unlimited(site.leader.agent.agent.siteControls);
  const frozen = controls()?.freeze({ scope: "site" }, hour, alice, false);
  await site.run(10 * second);
  const thawed = controls()?.thaw({ scope: "site" }, alice, false);
  await site.run(20 * second);
  expect(await frozen).toMatchObject({ outcome: "done" });
  expect(await thawed).toMatchObject({ outcome: "done" });
  expect(site.row("Zones")).toMatch(/ 0\.02\/s {2}slow until \d\d:\d\d \(freeze\)$/);
  await site.run(hour);
  expect(site.row("Zones")).toMatch(/ 0\.1\/s$/);
  const reasons = site.site.api.all("events/").map((text) => JSON.parse(text).reason);
  expect(reasons).toContain("EvictionThawed");
  expect(reasons).not.toContain("HoldOver");
});

test("a board that does not reach the API but answers on the LAN is not called lost, and its pods are held", async () => {
  const site = await begun("apart");
  const victim = site.follower("a");
  const { name } = victim.plate;
  const mends = [victim.agentEdge, victim.kubeletEdge].map((edge) => edge.impair({ is: "silent" }, "late"));
  await site.run(4 * minute);
  expect(site.problems()).toEqual([
    expect.stringMatching(
      `^warning BoardsCutOff: ${name} has not reached the API since .* UTC, but answers on the LAN: its pods stay$`,
    ),
  ]);
  expect(site.row("Eviction")).toMatch(/ 0 pods evicted by this board in the last hour, 1 act held \(verdict 1\)$/);
  const { agent } = site.leader.agent ?? {};
  const order = agent && unlimited(agent.siteControls).confirmBoardDead(name, alice, false);
  await site.run(2 * second);
  expect(await order).toMatchObject({ error: "board-alive", message: `not dead: ${name} answers on the LAN` });
  for (const mend of mends) mend();
  await site.run(2 * minute);
  expect(site.problems()).toEqual([]);
  expect(site.row("Eviction")).toMatch(/, not held$/);
});

describe("while the judgement of boards is paused", () => {
  const paused = async (site: Story): Promise<void> => {
    const order = site.operator?.pause("node-lifecycle", 2 * hour, alice, false);
    await site.run(2 * second);
    expect(await order).toMatchObject({ outcome: "done" });
  };
  const notJudged = expect.stringMatching(
    /^warning BoardsNotJudged: node-lifecycle is paused: no board has been judged since \d{4}-\d\d-\d\d \d\d:\d\d UTC;/,
  );

  test("the status does not pass off a board that fell silent since then as ready", async () => {
    const site = await begun();
    await paused(site);
    site.follower("a").powerOff("none");
    await site.run(20 * minute);
    expect(site.problems()).toEqual([notJudged, expect.stringMatching(/^info ControllerPaused: node-lifecycle/)]);
    expect(site.rows()).toContainEqual(expect.stringMatching(/ NOT JUDGED for 20m\d*s? \(node-lifecycle is paused\)$/));
    expect(site.row("Eviction")).toMatch(/ HELD: node-lifecycle is paused$/);
    void site.operator?.resume("node-lifecycle", alice, false);
    await site.run(2 * minute);
    expect(site.problems()).toContainEqual(expect.stringMatching(/^warning BoardsLost/));
    expect(site.rows().join()).not.toContain("NOT JUDGED");
  });

  test("the verdicts on lost boards are those of the last judgement, also once a board is back", async () => {
    const site = await begun();
    const victim = site.follower("a");
    victim.powerOff("none");
    await site.run(2 * minute);
    await paused(site);
    victim.powerOn(realWall);
    await site.run(20 * minute);
    expect(site.problems()).toEqual([
      notJudged,
      expect.stringMatching(
        `^warning BoardsLost: ${victim.plate.name} was lost at the last judgement: it had been silent since `,
      ),
      expect.stringMatching(/^info ControllerPaused: node-lifecycle/),
    ]);
    expect(site.row("Zones")).toContain(" 0/s");
  });

  test("a new leader says that it has judged no board", async () => {
    const site = await begun();
    await paused(site);
    const before = site.leader;
    before.powerOff("none");
    await site.run(5 * minute);
    expect(site.leader).not.toBe(before);
    expect(site.problems()).toContainEqual(
      expect.stringMatching(
        /^warning BoardsNotJudged: node-lifecycle is paused: no board has been judged in this term;/,
      ),
    );
  });
});

const lostAt = ({ plate }: SimBoard, before: "before " | "" = ""): RegExp =>
  new RegExp(
    `^warning BoardsLost: ${plate.name} is lost: it has been silent since ${before}\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC$`,
  );

describe("an outage of a whole site", () => {
  const cut = ({ site }: Story): (() => void) => {
    const edges = site.boards.flatMap(({ agentEdge, kubeletEdge }) => [agentEdge, kubeletEdge]);
    const mends = edges.map((edge) => edge.impair({ is: "silent" }, "late"));
    return () => {
      for (const mend of mends) mend();
    };
  };

  test("is reported while it lasts: no evictions, running pods, and the end of the leader's term", async () => {
    const site = await begun();
    const { leader } = site;
    cut(site);
    await site.run(2 * minute);
    expect(site.problems(leader)).toEqual([
      expect.stringMatching(
        /^warning ApiUnreachable: .* \(for \w+\); while the link is down, this board evicts nothing, and pods keep running$/,
      ),
    ]);
    expect(site.row("Leader", leader)).toMatch(
      /^unknown, because the API cannot be used; lease of 1m, read \w+ ago; the term of this board ended at \d\d:\d\d \(\w+ ago\): no renewal for 40s$/,
    );
    expect(site.row("Leader", site.follower("b"))).toMatch(/^unknown, because .*; this board is standby$/);
  });

  test("is counted and shown too if no request fails, because the leader alone did not run", async () => {
    const site = await begun();
    const { leader } = site;
    expect(site.row("Last outage", leader)).toBe("");
    leader.agent?.process.suspend();
    await site.run(15 * second);
    leader.agent?.process.resume("answers first");
    await site.run(5 * second);
    expect(site.row("Links", leader)).toContain(" 0 of ");
    expect(site.row("Last outage", leader)).toMatch(
      /^\d\d:\d\d to \d\d:\d\d \(1\ds\): no heartbeats from the API server,/,
    );
  });

  test("leaves its duration and held acts in the status; the attempt that failed during it is not a problem", async () => {
    const site = await begun();
    const victim = site.follower("a");
    victim.powerOff("none");
    await site.run(62 * second);
    expect(site.problems()).toEqual([expect.stringMatching(lostAt(victim))]);
    const { leader } = site;
    const mend = cut(site);
    await site.run(80 * second);
    mend();
    // As soon as the link is back, before the next attempt to acquire or renew the Lease.
    const boards = site.site.boards.filter(({ agent }) => agent !== undefined);
    for (let s = 0; s < 90; s++) {
      await site.run(second);
      for (const board of boards) expect(site.problems(board).join()).not.toContain("ElectionFailing");
    }
    expect(site.row("Last outage", leader)).toMatch(
      /^\d\d:\d\d to \d\d:\d\d \(1m\w+\): no response from the API server; 2 pods held, nothing evicted/,
    );
    expect(site.row("Last outage", site.follower("b"))).toMatch(/: no response from the API server$/);
    await site.run(2 * minute);
    expect(site.row("Eviction", leader)).toMatch(
      / 3 pods evicted by this board in the last hour, 4 of 10 harmful acts this hour, not held$/,
    );
    // In a new term no heartbeat of the board is known, so only a minimum duration of the silence is.
    expect(site.problems()).toEqual([expect.stringMatching(lostAt(victim, "before "))]);
  });
});

test("a board that renews its Lease but reports no status is listed while it is not ready", async () => {
  const site = await begun();
  const victim = site.follower("a");
  const { name } = victim.plate;
  victim.powerOff("none");
  await site.run(75 * second);
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
  const signal = new AbortController().signal;
  for (let renewal = 0; renewal < 6; renewal++) {
    const body = JSON.stringify({ spec: { renewTime: `2026-03-01T12:30:0${renewal}.000000Z` } });
    const headers = { "content-type": "application/merge-patch+json" };
    expect(site.site.api.handle({ method: "PATCH", path, headers, body, signal }).status).toBe(200);
    await site.run(10 * second);
    expect(site.problems()).toEqual([
      expect.stringMatching(`^warning BoardsNotReady: ${name} sends heartbeats but is not ready, since`),
    ]);
  }
});
