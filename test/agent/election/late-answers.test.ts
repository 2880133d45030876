import { describe, expect, test } from "vitest";
import { elapsed } from "../../../agent/base/clock.ts";
import type { CandidacyBackoff } from "../../../agent/election/candidacy.ts";
import { classic, Election, edge } from "./support/election.ts";

/*
 * A link on which requests arrive, and answers come late: each claim is written, keeps the other boards from leading, and
 * is worth nothing to its sender.
 */

const quickly = { request: 20, answer: 20 };
const late = (answer: number) => ({ request: 20, answer });
const rest = 2 * (edge.duration + edge.retry);

/** How long the site had no leader, at most, in so many minutes. */
async function longestGap(site: Election, minutes: number): Promise<number> {
  let [gap, longest] = [0, 0];
  for (let second = 0; second < minutes * 60; second++) {
    await site.clock.advance("1s");
    gap = site.leaders.length === 0 ? gap + 1 : 0;
    longest = Math.max(longest, gap);
  }
  return longest;
}

describe("a board whose link needs twelve seconds for each request and its answer", () => {
  test("leads, because the read does not take time from the claim, and its term continues", async () => {
    const site = new Election();
    const far = site.join("far");
    far.link.latency = { request: 6000, answer: 6000 };
    far.sick = "its first read was still quick";
    await site.clock.advance("1s");
    far.sick = undefined;
    await site.clock.until(() => far.leads, "46s");
    await site.clock.advance("1h");
    expect([far.terms, far.elector.view().missedRenewals]).toEqual([[0], 0]);
    await site.end();
  });

  test("takes over from a leader that has gone", async () => {
    const site = new Election();
    const former = site.join("near");
    await site.settled();
    const far = site.join("far");
    far.link.latency = { request: 6000, answer: 6000 };
    await site.clock.advance("2m");
    former.kill();
    await site.clock.until(() => far.leads, "4m");
    await site.clock.advance("30m");
    expect(far.terms).toEqual([1]);
    expect(site.lateWrites).toEqual([]);
  });
});

describe("a claim", () => {
  test.each([
    ["29 s late wins a term that continues", edge, 29_000, [0]],
    ["31 s late, when no retry period of the term would be left, does not win one", edge, 31_000, []],
    ["7.9 s late wins one with shorter settings", classic, 7900, [0]],
    ["8.1 s late does not win one with them", classic, 8100, []],
  ])("that is answered %s", async (_, timing, answer, terms) => {
    const site = new Election();
    const pi = site.join("pi-1", { timing });
    pi.link.latencyOfWrites = late(answer);
    await site.clock.advance(answer + 100);
    expect(pi.terms).toEqual(terms);
    pi.link.latencyOfWrites = undefined;
    await site.clock.advance("10m");
    expect(pi.terms).toEqual([0]);
    await site.end();
  });
});

describe("a leader whose writes of the Lease are answered too late", () => {
  test.each([
    ["the answers take 25 s", late(25_000)],
    ["the answers take 35 s", late(35_000)],
    ["the requests and the answers take 25 s each", { request: 25_000, answer: 25_000 }],
    ["the answers never arrive", late(3_600_000)],
  ])("leaves the Lease to another board, which leads from then on (%s)", async (_, latency) => {
    for (const seed of [1, 2, 3, 4]) {
      const site = new Election(seed);
      const pi = site.join("pi-1");
      await site.settled();
      const other = site.join("pi-2");
      await site.clock.advance("2m");
      pi.link.latencyOfWrites = latency;
      await site.clock.until(() => other.leads, "4m");
      expect(await longestGap(site, 30)).toBe(0);
      expect(other.terms).toEqual([1]);
      expect(site.lateWrites).toEqual([]);
      await site.end();
    }
  });

  test("reports first that it does not lead, then that it is not a candidate", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    await site.clock.advance("1m");
    pi.link.latencyOfWrites = late(35_000);
    const why = "its claims reach the Lease, but the answers arrive too late for it to lead";
    await site.clock.until(() => pi.elector.view().fruitless === why, "3m");
    expect(pi.elector.view().notStanding).toBeUndefined();
    await site.clock.until(() => pi.elector.view().notStanding === why, "5m");
    expect(pi.elector.view().fruitless).toBeUndefined();
    const { length } = site.server.changes;
    await site.clock.advance(rest - 1000);
    expect(site.server.changes).toHaveLength(length);
    await site.end();
  });

  test("on a single-board site leads again within one rest once the answers are in time", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.latencyOfWrites = late(35_000);
    await site.clock.advance("1h");
    expect(pi.leads).toBe(false);
    pi.link.latencyOfWrites = undefined;
    await site.clock.until(() => pi.leads, rest + 2 * edge.retry);
    expect([pi.elector.view().fruitless, pi.elector.view().notStanding]).toEqual([undefined, undefined]);
    expect(await longestGap(site, 30)).toBe(0);
    await site.end();
  });

  test("rests briefly once no other board used a whole rest, and fully again after three brief ones", async () => {
    const site = new Election();
    const rests: number[] = [];
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.latencyOfWrites = late(35_000);
    let [was, began] = [false, site.clock.now()];
    while (rests.length < 6) {
      await site.clock.advance("1s");
      const is = pi.elector.view().notStanding !== undefined;
      if (is && !was) began = site.clock.now();
      if (was && !is) rests.push(Math.round(elapsed(began, site.clock.now()) / 10_000) * 10_000);
      was = is;
    }
    const brief = 2 * edge.retry;
    expect(rests).toEqual([rest, brief, brief, brief, rest, brief]);
    const other = site.join("pi-2");
    await site.clock.until(() => other.leads, 4 * (edge.duration + edge.renewDeadline + brief) + rest);
    expect(await longestGap(site, 10)).toBe(0);
    await site.end();
  });

  test("rests even after a restart", async () => {
    const site = new Election();
    let stored: CandidacyBackoff | undefined;
    const before = site.join("pi-1", { rememberRest: (one) => (stored = one) });
    await site.settled();
    before.link.latencyOfWrites = late(35_000);
    await site.clock.until(() => stored !== undefined, "10m");
    before.kill();
    const { identity } = before.elector.view();
    const after = site.join("pi-1b", { formerIdentity: identity, formerTerm: 0, formerRest: stored });
    const other = site.join("pi-2");
    await site.clock.until(() => other.leads, rest);
    expect(after.terms).toEqual([]);
    await site.end();
  });

  test("leaves the Lease to another board even if each of its terms lasts a minute before it ends for that reason", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    const other = site.join("pi-2");
    for (let round = 0; round < 4 && !other.leads; round++) {
      pi.link.latencyOfWrites = late(25_000);
      await site.clock.advance("45s");
      pi.link.latencyOfWrites = quickly;
      await site.clock.advance("1m");
    }
    await site.clock.until(() => other.leads, "1m");
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("keeps the Lease if every third answer is in time, because its terms then continue", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.join("pi-2");
    for (let round = 0; round < 20; round++) {
      pi.link.latencyOfWrites = late(25_000);
      await site.clock.advance("15s");
      pi.link.latencyOfWrites = quickly;
      await site.clock.advance("25s");
    }
    expect(site.leaders).toEqual(["pi-1"]);
    expect(pi.elector.view().fruitless).toBeUndefined();
    await site.end();
  });
});

test("a board that wins the Lease on a link that is cut each time does not rest, because its claims are not written", async () => {
  const site = new Election();
  const pi = site.join("pi-1");
  await site.settled();
  for (let round = 0; round < 10; round++) {
    site.server.break({ by: "pi-1", verb: "update", answer: "silence" });
    await site.clock.advance("3m");
    expect(pi.elector.view().notStanding).toBeUndefined();
    site.server.heal();
    await site.clock.until(() => pi.leads, "2m");
    await site.clock.advance("1m");
  }
  await site.end();
});
