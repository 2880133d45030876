import { describe, expect, test } from "vitest";
import { elapsed, shifted } from "../../../agent/base/clock.ts";
import type { CandidacyBackoff } from "../../../agent/election/candidacy.ts";
import type { ElectorDeps } from "../../../agent/election/leader-elector.ts";
import { LeaderMemo } from "../../../agent/election/leader-memo.ts";
import { type Board, classic, Election, edge } from "./support/election.ts";

const names = ["pi-1", "pi-2", "pi-3", "pi-4", "pi-5"];

async function settled(seed: number, deps: Partial<ElectorDeps> = {}): Promise<Election> {
  const site = new Election(seed);
  for (const name of names) site.join(name, { board: name, ...deps });
  await site.settled();
  await site.clock.advance("3m");
  return site;
}

describe.each([
  ["expiry", edge],
  ["poll", classic],
] as const)("a leader that hands the Lease over (followers: %s)", (followers, timing) => {
  test.each([1, 2, 3, 4, 5, 6])("is followed by the named board (seed %i)", async (seed) => {
    const site = await settled(seed, { followers, timing });
    const { leader } = site;
    const to = names.find((name) => name !== leader.name) ?? "";
    const handing = leader.elector.handOver("ordered", { rest: timing.duration, to, message: "" });
    await site.clock.advance("1s");
    expect(await handing).toBe(true);
    expect(site.leaders.filter((name) => name !== to)).toEqual([]);
    await site.clock.until(() => site.leaders.length === 1, timing.duration + 2 * timing.retry);
    expect(site.leader.name).toBe(to);
    expect(site.server.lease?.successor).toBeUndefined();
    await site.end();
    expect(site.lateWrites).toEqual([]);
  });

  test("is followed by another board if the named one died at that moment", async () => {
    const site = await settled(7, { followers, timing });
    const { leader } = site;
    const to = names.find((name) => name !== leader.name) ?? "";
    void leader.elector.handOver("ordered", { rest: 5 * timing.duration, to, message: "" });
    site.board(to).clock.suspend();
    await site.clock.until(() => site.leaders.length === 1, 3 * timing.duration + 3 * timing.retry);
    expect([to, leader.name]).not.toContain(site.leader.name);
    await site.end();
  });

  test("is followed as soon by another board if another client keeps editing the released Lease", async () => {
    const site = await settled(7, { followers, timing });
    const { leader } = site;
    const to = names.find((name) => name !== leader.name) ?? "";
    void leader.elector.handOver("ordered", { rest: 5 * timing.duration, to, message: "" });
    site.board(to).clock.suspend();
    for (let waited = 0; site.leaders.length !== 1 && waited < 3 * (timing.duration + timing.retry); waited += 1000) {
      await site.clock.advance("1s");
      if (site.holder === undefined) site.server.write({ metadata: { labels: { edited: String(waited) } } });
    }
    expect([to, leader.name]).not.toContain(site.leader.name);
    await site.end();
  });
});

describe("a board that was ordered to step down", () => {
  /** The lease durations and retries that another board may need to take over. */
  const takeover = 2 * (edge.duration + edge.retry);

  function leftFor({ elector, clock }: Board): number | undefined {
    const { orderedUntil } = elector.view();
    return orderedUntil && elapsed(clock.now(), orderedUntil);
  }

  test("is a candidate again after its rest, while another board leads", async () => {
    const site = await settled(3);
    const pi = site.leader;
    void pi.elector.handOver("ordered", { rest: 600_000, to: undefined, message: "" });
    await site.clock.advance("9m");
    expect(site.leader.name).not.toBe(pi.name);
    expect([pi.elector.view().notStanding, leftFor(pi)]).toEqual(["ordered", 60_000]);
    expect(pi.elector.view().isLeaderless).toBe(false);
    await site.clock.advance("1m");
    await site.clock.advance("2m");
    expect(pi.elector.view()).toMatchObject({ notStanding: undefined, orderedUntil: undefined });
    await site.end();
  });

  test("leads again once no other board has taken the Lease for the length of a takeover", async () => {
    const site = new Election(3);
    const noted: (CandidacyBackoff | undefined)[] = [];
    const pi = site.join("pi-1", { board: "pi-1", rememberRest: (rest) => noted.push(rest) });
    await site.clock.advance("3m");
    void pi.elector.handOver("ordered", { rest: 3_600_000, to: undefined, message: "" });
    await site.clock.advance(takeover - 20_000);
    expect(site.leaders).toEqual([]);
    expect(pi.elector.view()).toMatchObject({ notStanding: "ordered", isLeaderless: true });
    const left = leftFor(pi) ?? 0;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(20_000 + edge.retry);
    await site.clock.advance(20_000 + 3 * edge.retry);
    expect(site.leaders).toEqual(["pi-1"]);
    expect(pi.elector.view()).toMatchObject({ orderedUntil: undefined, isLeaderless: false });
    // The next process does not rest either.
    expect(noted.map((rest) => rest?.why)).toEqual(["ordered", undefined]);
    await site.end();
  });

  test("leaves the site with a leader, even if every board was ordered to step down in turn", async () => {
    const site = await settled(5);
    const asked = new Set<string>();
    while (asked.size < names.length) {
      const { leader } = site;
      asked.add(leader.name);
      void leader.elector.handOver("ordered", { rest: 3_600_000, to: undefined, message: "" });
      await site.clock.advance("1s");
      if (asked.size < names.length) await site.clock.until(() => site.leaders.length === 1, takeover);
    }
    await site.clock.advance(takeover - 20_000);
    expect(site.leaders).toEqual([]);
    await site.clock.until(() => site.leaders.length === 1, "1m");
    // The others rest as ordered: there is a leader.
    const { leader } = site;
    await site.clock.advance("10m");
    expect(site.leader).toBe(leader);
    for (const board of site.boards.values()) if (board !== leader) expect(leftFor(board)).toBeGreaterThan(takeover);
    await site.end();
    expect(site.lateWrites).toEqual([]);
  });

  test("does not count the time of an outage, in which no board can take the Lease", async () => {
    const site = await settled(7);
    const { leader } = site;
    void leader.elector.handOver("ordered", { rest: 3_600_000, to: undefined, message: "" });
    await site.clock.advance("1s");
    for (const { link } of site.boards.values()) link.cut = "both";
    await site.clock.advance("10m");
    expect(site.leaders).toEqual([]);
    leader.link.cut = undefined;
    await site.clock.advance(takeover - 20_000);
    expect(site.leaders).toEqual([]);
    for (const { link } of site.boards.values()) link.cut = undefined;
    await site.clock.until(() => site.leaders.length === 1, takeover);
    expect(site.leader).not.toBe(leader);
    await site.end();
  });
});

test("a board whose term has ended does not release a Lease", async () => {
  const site = await settled(11);
  const { leader } = site;
  const release = () => leader.elector.handOver("maintenance", { rest: 600_000, to: undefined, message: "" });
  const first = release();
  await site.clock.advance("1s");
  expect(await first).toBe(true);
  await site.clock.until(() => site.leaders.length === 1, "5m");
  expect(await release()).toBe(false);
  await site.end();
});

test("a failed release is reported, and no board leads before the Lease expires", async () => {
  const site = await settled(9);
  const { leader } = site;
  leader.link.cut = "both";
  const handing = leader.elector.handOver("ordered", { rest: 60_000, to: undefined, message: "" });
  await site.clock.advance("5s");
  expect(await handing).toBe(false);
  await site.clock.until(() => site.leaders.length === 1, "5m");
  await site.end();
  expect(site.lateWrites).toEqual([]);
});

describe("the next process of a board that stepped down", () => {
  class Folder {
    readonly #facts = new Map<string, string>();
    readonly memo = new LeaderMemo({
      place: "here",
      lease: "kube-system/siteward-default",
      facts: {
        get: (area, key) => this.#facts.get(`${area}/${key}`),
        set: (area, key, value) => void this.#facts.set(`${area}/${key}`, value),
      },
    });
  }

  const start = { mono: 1_000_000, wall: 0 };
  const ordered: CandidacyBackoff = { until: shifted(start, 60_000), why: "ordered", isOrdered: true };

  test.each<[string, string, number, number | undefined]>([
    ["rests for the remaining time", "boot-1", 20_000, 40_000],
    ["no longer rests once the time has passed", "boot-1", 60_000, undefined],
    ["counts from the start after a reboot, since the time without power is unknown", "boot-2", -900_000, 60_000],
  ])("%s", (_, boot, later, left) => {
    const folder = new Folder();
    folder.memo.rememberRest(ordered, "boot-1", start);
    const now = shifted(start, later);
    const rest = folder.memo.formerRest(boot, now);
    expect(rest && rest.until.mono - now.mono).toBe(left);
    expect(rest?.isOrdered).toBe(left && true);
  });

  test.each(["{", "null", "{}", '{"boot":"b","until":"x","left":1,"why":"y"}'])(
    "ignores the unreadable stored text %s",
    (text) => {
      const facts = { get: () => text, set: () => {} };
      expect(
        new LeaderMemo({ facts, place: "here", lease: "kube-system/siteward-default" }).formerRest("b", start),
      ).toBeUndefined();
    },
  );

  test("does not mistake a rest that began by itself for an operator's order", () => {
    const folder = new Folder();
    folder.memo.rememberRest({ ...ordered, isOrdered: undefined }, "boot-1", start);
    expect(folder.memo.formerRest("boot-1", start)).toEqual({ until: ordered.until, why: "ordered" });
  });

  test("rests once, and not again after each later reboot", () => {
    const folder = new Folder();
    folder.memo.rememberRest(ordered, "boot-1", start);
    expect(folder.memo.formerRest("boot-1", shifted(start, 60_000))).toBeUndefined();
    expect(folder.memo.formerRest("boot-2", shifted(start, -900_000))).toBeUndefined();
  });

  test("does not take a free Lease before its rest has ended", async () => {
    const site = new Election(4);
    const until = shifted(site.clock.now(), 300_000);
    site.join("pi-1", { formerRest: { until, why: "ordered" } });
    await site.clock.advance("290s");
    expect(site.leaders).toEqual([]);
    await site.clock.advance("30s");
    expect(site.leaders).toEqual(["pi-1"]);
    await site.end();
  });
});

test("an unwell board lets others go first, and leads if no other board does", async () => {
  const patient = (leaderlessFor: number) => (leaderlessFor < 120_000 ? "undervolted" : undefined);
  const site = new Election(5);
  site.join("pi-1", { whyNotToStand: patient });
  await site.clock.advance("119s");
  expect(site.leaders).toEqual([]);
  await site.clock.advance("20s");
  expect(site.leaders).toEqual(["pi-1"]);
  await site.end();

  const two = new Election(6);
  two.join("pi-1", { whyNotToStand: patient });
  two.join("pi-2");
  await two.clock.advance("5m");
  expect(two.leaders).toEqual(["pi-2"]);
  await two.end();
});
