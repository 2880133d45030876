import { describe, expect, test } from "vitest";
import { elapsed } from "../../../agent/base/clock.ts";
import { ConfigError, type HasDisposition } from "../../../agent/base/errors.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import { TransportError } from "../../../agent/client/transport-error.ts";
import type { ElectorParts } from "../../../agent/election/leader-elector.ts";
import { budgetAnnotation } from "../../../agent/election/lease-lock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { classic, Election, edge } from "./support/election.ts";
import { LeaseLink } from "./support/lease-server.ts";

describe("a site begins", () => {
  test("LE-01: the only board creates the Lease and leads with term 0", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.clock.advance("1s");
    expect(site.leaders).toEqual(["pi-1"]);
    expect(site.server.changes.map(({ what }) => what)).toEqual(["create"]);
    expect(pi.terms).toEqual([0]);
    expect(pi.said).toEqual(["pi-1 became leader"]);
    expect(pi.elector.view()).toMatchObject({ role: "leader", term: 0, holder: pi.elector.view().identity });
    await site.end();
  });

  test("a board that may not take the Lease says once what to do about it", async () => {
    const site = new Election();
    const hint = "Give the user of this board the rights on Leases.";
    const refused = new ApiError(
      { verb: "get", target: "lease" },
      { status: 403, reason: "Forbidden", message: "", hint },
    );
    const lock = new LeaseLink({ server: site.server, clock: site.clock, by: "pi-1" });
    lock.read = () => Promise.reject(refused);
    const pi = site.join("pi-1", { lock });
    await site.clock.advance("10m");
    const told = pi.log.lines.filter(({ message }) => message === "lease not taken");
    expect(told).toMatchObject([{ level: "warn", fields: { error: refused, hint } }]);
    await site.end();
  });

  test("a board that loses the race for the Lease has no failure to report, and soon knows who leads", async () => {
    const site = new Election();
    const lock = new LeaseLink({ server: site.server, clock: site.clock, by: "pi-1" });
    const late = site.join("pi-1", {
      lock: Object.assign(lock, {
        create: () =>
          Promise.reject(
            new ApiError(
              { verb: "create", target: "lease" },
              { status: 409, reason: "AlreadyExists", message: "leases already exists" },
            ),
          ),
      }),
    });
    await site.clock.advance("1s");
    site.join("pi-2");
    for (let second = 0; second < 30; second++) {
      await site.clock.advance("1s");
      expect(late.elector.view().lastError).toBeUndefined();
    }
    expect(site.leaders).toEqual(["pi-2"]);
    expect(late.elector.view().holder).toBe(site.holder);
    expect(late.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
    await site.end();
  });

  test("of three boards one leads, the others know it", async () => {
    const site = new Election(3);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    await site.clock.advance("1h");
    expect(site.leaders).toHaveLength(1);
    for (const board of site.boards.values()) expect(board.elector.view().holder).toBe(site.holder);
    expect(new Set(site.server.changes.map(({ term }) => term))).toEqual(new Set([0]));
    await site.end();
  });

  test("settings that cannot work are refused before anything is asked", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { timing: { duration: 15_000, renewDeadline: 15_000, retry: 2000 } });
    await site.clock.advance("1s");
    expect(pi.ended?.error).toBeInstanceOf(ConfigError);
    expect(site.server.requests).toBe(0);
  });
});

describe("a leader that is gone is replaced", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("within 2 x duration + retry by followers that sleep (seed %i)", async (seed) => {
    const site = new Election(seed);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    await site.clock.advance(new SeededRandom(seed).integer(3_600_000));
    const { leader } = site;
    const started = site.clock.now().mono;
    leader.kill();
    await site.clock.until(() => site.leaders.some((name) => name !== leader.name), "10m");
    expect(site.clock.now().mono - started).toBeLessThan(2 * edge.duration + edge.retry + 1000);
    expect(site.server.lease?.transitions).toBe(1);
    expect(site.lateWrites).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("within duration + 5 s by followers that poll (seed %i)", async (seed) => {
    const site = new Election(seed);
    for (const name of ["pi-1", "pi-2"]) site.join(name, { timing: classic, followers: "poll" });
    await site.settled();
    await site.clock.advance(60_000 + new SeededRandom(seed).integer(60_000));
    const { leader } = site;
    const started = site.clock.now().mono;
    leader.kill();
    await site.clock.until(() => site.leaders.some((name) => name !== leader.name), "2m");
    expect(site.clock.now().mono - started).toBeLessThan(classic.duration + 5000);
    expect(site.lateWrites).toEqual([]);
  });

  test.each(["expiry", "poll"] as const)("soon after a Lease of an hour is corrected (%s)", async (followers) => {
    const site = new Election();
    for (const name of ["pi-1", "pi-2"]) site.join(name, { followers });
    await site.settled();
    site.server.put({ holder: "nobody", durationSeconds: 3600 });
    await site.clock.advance("5m");
    expect(site.leaders).toEqual([]);
    site.server.put({ durationSeconds: 1 });
    await site.clock.until(() => site.leaders.length === 1, edge.duration + 2 * edge.retry + 2000);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("LE-13: a leader that stops gives the Lease back, and a polling follower has it within 4.4 s", async () => {
    const site = new Election();
    for (const name of ["pi-1", "pi-2"]) site.join(name, { timing: classic, followers: "poll" });
    await site.settled();
    const { leader } = site;
    leader.stop();
    await site.clock.until(() => leader.ended !== undefined, "5s");
    expect(site.server.lease).toMatchObject({ holder: "", durationSeconds: 1, transitions: 0 });
    expect(leader.said).toEqual([`${leader.name} became leader`, `${leader.name} stopped leading`]);
    await site.clock.until(() => site.leaders.length === 1, 4500);
    expect(site.leader.terms).toEqual([1]);
    await site.end();
  });

  test("the Lease is given back only when the work of the term has ended", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { stopTakes: 3000 });
    await site.settled();
    pi.stop();
    await site.clock.advance("2900ms");
    expect(site.holder).not.toBe("");
    expect(pi.leads).toBe(false);
    await site.clock.advance("1s");
    expect(site.holder).toBe("");
    expect(pi.ended).toEqual({ error: undefined });
    expect(site.clock.timers).toBe(0);
  });

  test("a stop without a link ends soon, and leaves the Lease to run out", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "both";
    pi.stop();
    await site.clock.advance("3100ms");
    expect(pi.ended).toEqual({ error: undefined });
    expect(site.holder).toBe(pi.elector.view().identity);
  });

  test("LE-15: a Lease that went to somebody else is not released", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.server.put({ holder: "bing", transitions: 9 });
    pi.stop();
    await site.clock.advance("4s");
    expect(pi.ended).toEqual({ error: undefined });
    expect(site.server.lease).toMatchObject({ holder: "bing", transitions: 9 });
    expect(site.server.changes.map(({ what }) => what)).toEqual(["create", "touch"]);
  });

  test("a restarted process takes the Lease of its predecessor at once, as the next term", async () => {
    const site = new Election();
    const before = site.join("pi-1");
    await site.settled();
    await site.clock.advance("5m");
    before.kill();
    const { identity } = before.elector.view();
    const after = site.join("pi-1b", { formerIdentity: identity, formerTerm: 0 });
    await site.clock.advance("1s");
    expect(after.terms).toEqual([1]);
    await site.end();
  });

  test("a restarted process of a board that never led leaves a Lease alone that was deleted under its leader", async () => {
    const site = new Election();
    site.join("pi-1");
    let seen: number | undefined;
    const follower = site.join("pi-2", { remember: (term) => (seen = term) });
    await site.settled();
    await site.clock.advance("3m");
    expect(seen).toBe(0);
    follower.kill();
    site.server.put(undefined);
    const after = site.join("pi-2b", { formerTerm: seen });
    await site.clock.advance("30s");
    expect(after.terms).toEqual([]);
    await site.clock.until(() => site.leaders.length === 1, "5m");
    expect(site.leader.terms).toEqual(expect.arrayContaining([1]));
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("a follower that gets a hint looks at once, and still waits until the term is over", async () => {
    const site = new Election();
    site.join("pi-1");
    await site.settled();
    const follower = site.join("pi-2");
    await site.clock.advance("5s");
    const before = site.server.requests;
    follower.elector.look();
    await site.clock.advance("1s");
    expect(site.server.requests).toBe(before + 1);
    expect(follower.leads).toBe(false);
    await site.end();
  });
});

describe("boards that lost the API server together", () => {
  /** When a board looks at the Lease; while `isAway` nobody is there. */
  class Looks extends LeaseLink {
    readonly at: number[] = [];
    isAway = false;
    readonly #now: () => number;

    constructor(site: Election, by: string) {
      super({ server: site.server, clock: site.clock, by });
      this.#now = () => site.clock.now().mono;
    }

    get pauses(): readonly number[] {
      return this.at.slice(1).map((at, index) => (at - (this.at[index] ?? 0)) / 1000);
    }

    override read(signal: AbortSignal) {
      this.at.push(this.#now());
      return this.isAway
        ? Promise.reject(new TransportError("ConnectionRefused", "the connection was refused"))
        : super.read(signal);
    }
  }

  test.each<[ElectorParts["followers"], number, number, number, number]>([
    ["expiry", 10, 50, 30, 70],
    ["poll", 10, 22, 10, 22],
  ])("try again ever further apart (%s)", async (followers, soonest, latest, soonestAgain, latestAgain) => {
    const site = new Election(3);
    const looks = new Looks(site, "pi-1");
    looks.isAway = true;
    site.join("pi-1", { followers, lock: looks });
    await site.clock.advance("2h");
    const [first = Number.NaN, ...later] = looks.pauses;
    expect(first).toBeGreaterThanOrEqual(soonest);
    expect(first).toBeLessThanOrEqual(latest);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(soonestAgain);
    expect(Math.max(...later)).toBeLessThanOrEqual(latestAgain);
    expect(Math.max(...later) - Math.min(...later)).toBeGreaterThan((latestAgain - soonestAgain) / 2);
    await site.end();
  });

  test("and had it back within seconds do not look within the same seconds from then on", async () => {
    const site = new Election(4);
    site.join("leader");
    await site.settled();
    const followers = Array.from({ length: 8 }, (_, index) => {
      const looks = new Looks(site, `pi-${index}`);
      looks.isAway = true;
      site.join(`pi-${index}`, { lock: looks });
      return looks;
    });
    await site.clock.advance("5s");
    for (const looks of followers) {
      looks.isAway = false;
      looks.at.length = 0;
    }
    await site.clock.advance("3m");
    const nextLooks = followers.map(({ pauses: [next = Number.NaN] }) => next);
    expect(Math.max(...nextLooks)).toBeLessThanOrEqual(edge.duration / 1000);
    expect(Math.max(...nextLooks) - Math.min(...nextLooks)).toBeGreaterThan(30);
    for (const { pauses } of followers) expect(Math.min(...pauses.slice(1))).toBeGreaterThanOrEqual(59);
    await site.end();
  });
});

describe("a leader that is cut off", () => {
  test("gives up at the renew deadline, keeps running, and leads again with the same term if nobody took it", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "both";
    await site.clock.advance("29s");
    expect(pi.leads).toBe(true);
    await site.clock.advance("12s");
    expect(pi.leads).toBe(false);
    expect(pi.log.said("warn")).toContain("term ended");
    pi.link.cut = undefined;
    await site.settled();
    expect(pi.terms).toEqual([0, 0]);
    expect(pi.ended).toBeUndefined();
    expect(pi.elector.view().lastError).toBeUndefined();
    await site.end();
  });

  test("survives an outage that ends before the deadline", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "both";
    await site.clock.advance("25s");
    pi.link.cut = undefined;
    await site.clock.advance("10m");
    expect(pi.terms).toEqual([0]);
    expect(pi.elector.view().missedRenewals).toBeGreaterThan(0);
    await site.end();
  });

  test("whose renewals arrive but whose answers are lost renews again once it hears", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "answers";
    await site.clock.advance("25s");
    pi.link.cut = undefined;
    await site.clock.advance("10m");
    expect(pi.terms).toEqual([0]);
    expect(site.leaders).toEqual(["pi-1"]);
    await site.end();
  });

  test("never writes beside its successor, and follows it when the link is back", async () => {
    const site = new Election(5);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    const former = site.leader;
    former.link.cut = "both";
    await site.clock.until(() => site.leaders.length === 1 && site.leader !== former, "5m");
    former.link.cut = undefined;
    await site.clock.advance("10m");
    expect(former.elector.view()).toMatchObject({ role: "follower", holder: site.holder, term: 1 });
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });
});

describe("a leader whose process was suspended", () => {
  test.each([
    ["two lease durations", 120_000, 1],
    ["longer than its trust, shorter than the others wait", 58_000, 0],
    ["a day", 86_400_000, 1],
  ])("for %s writes nothing of its old term when it wakes up", async (_, pause, term) => {
    const site = new Election(2);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    await site.clock.advance("1m");
    const former = site.leader;
    former.suspend();
    await site.clock.advance(pause);
    const asleep = site.writes.filter(({ by }) => by === former.name).length;
    const requests = site.server.changes.filter(({ by }) => by === former.name).length;
    former.resume();
    await site.clock.settle();
    expect(former.leads).toBe(false);
    expect(site.writes.filter(({ by }) => by === former.name)).toHaveLength(asleep);
    await site.clock.advance("5s");
    if (term === 1) {
      expect(site.server.changes.filter(({ by }) => by === former.name)).toHaveLength(requests);
      expect(former.elector.view()).toMatchObject({ role: "follower", term: 1 });
    }
    await site.clock.advance("10m");
    expect(site.lateWrites).toEqual([]);
    expect(site.leaders).toHaveLength(1);
    await site.end();
  });

  test("with the answer to its renewal already on the way is not revived by it", async () => {
    const site = new Election(2);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    const former = site.leader;
    const renewals = () => site.server.changes.filter(({ what }) => what === "renew").length;
    const before = renewals();
    await site.clock.until(() => renewals() > before, "1m");
    former.suspend();
    await site.clock.advance("5m");
    former.resume();
    await site.clock.advance("1m");
    expect(former.terms).toHaveLength(1);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });
});

describe("a term that ends knows whether the API server answered to the end", () => {
  test.each<[string, boolean, (site: Election) => Promise<unknown>]>([
    ["replaced by hand", true, async (site) => site.server.put({ holder: "bing", transitions: 1 })],
    ["asked to step down", true, async (site) => site.leader.elector.stepDown("too hot", 60_000)],
    [
      "cut off",
      false,
      async (site) => {
        site.leader.link.cut = "both";
        await site.clock.advance("50s");
      },
    ],
    [
      "suspended",
      false,
      async (site) => {
        const { leader } = site;
        leader.suspend();
        await site.clock.advance("2m");
        leader.resume();
      },
    ],
    [
      "replaced while it was cut off",
      false,
      async (site) => {
        site.leader.link.cut = "both";
        await site.clock.advance("20s");
        site.server.put({ holder: "bing", transitions: 1 });
        site.leader.link.cut = undefined;
      },
    ],
    [
      "asked to step down while it is cut off",
      false,
      async (site) => {
        const { leader } = site;
        leader.link.cut = "both";
        await site.clock.advance("35s");
        leader.elector.stepDown("too hot", 60_000);
      },
    ],
  ])("%s: %s", async (_, heard, trouble) => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    await site.clock.advance("1m");
    await trouble(site);
    await site.clock.advance("15s");
    expect(pi.endings.slice(0, 1)).toEqual([expect.objectContaining({ heard })]);
    await site.end();
  });
});

describe("the Lease is touched by others", () => {
  test("LE-11: a conflict while leading is looked into at once, and the term goes on", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.server.put({ annotations: { by: "an operator" } });
    await site.clock.advance("11s");
    expect(site.server.changes.map(({ what }) => what)).toEqual(["create", "touch", "renew"]);
    expect(site.server.lease?.annotations).toEqual({ by: "an operator" });
    expect(pi.terms).toEqual([0]);
    await site.end();
  });

  test("a Lease that is deleted ends the term; the next one continues the count", async () => {
    const site = new Election(4);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    await site.clock.advance("2m");
    for (let term = 1; term <= 5; term++) {
      site.server.put(undefined);
      await site.clock.until(() => site.leaders.length === 1 && site.leader.terms.at(-1) === term, "5m");
      await site.clock.advance("2m");
      expect(site.leaders).toHaveLength(1);
    }
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("a leader that is replaced by hand stops within one retry", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.server.put({ holder: "bing", transitions: 1 });
    await site.clock.advance("11s");
    expect(pi.leads).toBe(false);
    expect(pi.elector.view()).toMatchObject({ holder: "bing", term: 1 });
    await site.clock.advance("2m");
    expect(pi.terms).toEqual([0, 2]);
    await site.end();
  });

  test("the budget rides along with renewals and is found by the next leader", async () => {
    const site = new Election(6);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    const former = site.leader;
    former.budget = '{"v":1}';
    await site.clock.advance("11s");
    expect(site.server.lease?.annotations).toEqual({ [budgetAnnotation]: '{"v":1}' });
    former.stop();
    await site.clock.until(() => site.leaders.length === 1, "5m");
    expect(site.leader.found).toEqual([{ [budgetAnnotation]: '{"v":1}' }]);
    await site.end();
  });

  test("a budget that cannot be told costs no term", async () => {
    const site = new Election();
    const pi = site.join("pi-1", {
      carried: {
        [budgetAnnotation]: () => {
          throw new Error("a bug");
        },
      },
    });
    await site.clock.advance("10m");
    expect(pi.terms).toEqual([0]);
    expect(pi.log.said("error")).toContain("an annotation of the Lease cannot be told");
    await site.end();
  });
});

describe("two processes of one name, as a copied machine has them", () => {
  const name = { identity: "pi-1_5f0c", timing: classic };

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("do not lead both for long: one sees it and says so (seed %i)", async (seed) => {
    const site = new Election(seed);
    const one = site.join("original", name);
    await site.settled();
    await site.clock.advance("1m");
    const other = site.join("copy", name);
    await site.clock.advance(new SeededRandom(seed).integer(2000) + 4 * classic.retry);
    expect(site.leaders).toHaveLength(1);
    const [leads, follows] = one.leads ? [one, other] : [other, one];
    expect(follows.elector.view()).toMatchObject({ role: "follower", namesake: true });
    expect(follows.endings).toMatchObject([{ why: "another process writes the Lease under our name" }]);
    expect(follows.log.said("error")).toEqual(["another process writes the Lease under our name"]);
    await site.clock.advance("1h");
    expect(site.leaders).toEqual([leads.name]);
    expect(leads.elector.view().namesake).toBe(false);
    await site.end();
  });

  test("the one that waited leads a term of its own when the other is gone", async () => {
    const site = new Election();
    for (const board of ["original", "copy"]) {
      site.join(board, name);
      await site.clock.advance("1s");
    }
    await site.clock.advance("1m");
    const { leader } = site;
    const waits = site.board(leader.name === "copy" ? "original" : "copy");
    leader.kill();
    const killed = site.clock.now().mono;
    await site.clock.until(() => waits.leads, "5m");
    expect(site.clock.now().mono - killed).toBeGreaterThan(classic.duration - classic.retry - 1000);
    expect(waits.terms.at(-1)).toBe(1);
    expect(waits.elector.view().namesake).toBe(false);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("and a third board that leads meanwhile ends the dispute", async () => {
    const site = new Election();
    const one = site.join("original", name);
    await site.settled();
    const write = (): void => site.server.put({ renewal: site.clock.now().wall + 0.5 }, "copy");
    for (let renewals = 0; renewals < 8; renewals++) {
      await site.clock.advance("1s");
      write();
    }
    expect(one.elector.view()).toMatchObject({ role: "follower", namesake: true });
    site.server.put({ holder: "bing", transitions: 1 });
    await site.clock.advance("20s");
    expect(one.elector.view()).toMatchObject({ namesake: false, holder: "bing" });
    await site.end();
  });
});

describe("the end of a term is told", () => {
  test.each<[string, (site: Election) => Promise<unknown> | unknown]>([
    ["went to somebody else", (site) => site.server.put({ holder: "bing", transitions: 1 })],
    ["was deleted", (site) => site.server.put(undefined)],
    [
      "could not be renewed",
      async (site) => {
        site.leader.link.cut = "both";
        await site.clock.advance("40s");
      },
    ],
  ])("when the Lease %s, as client-go does", async (_, happens) => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    await happens(site);
    await site.clock.advance("12s");
    expect(pi.said.slice(0, 2)).toEqual(["pi-1 became leader", "pi-1 stopped leading"]);
    await site.end();
  });

  test.each([
    ["not written any more where the API server named another holder", true, false],
    ["written while nobody else can lead yet", false, true],
  ])("%s", async (_, isReplaced, isSent) => {
    const told: { readonly message: string; readonly mayBeSent: boolean }[] = [];
    const site = new Election();
    const pi = site.join("pi-1", {
      announce: ({ message }, term) => {
        told.push({ message: message.replace(/_\S+/, ""), mayBeSent: term.standsAt(site.clock.now()) });
      },
    });
    await site.settled();
    if (isReplaced) site.server.put({ holder: "bing", transitions: 1 });
    else pi.link.cut = "both";
    await site.clock.until(() => told.length === 2, "1m");
    expect(told[1]).toEqual({ message: "pi-1 stopped leading", mayBeSent: isSent });
    await site.end();
  });
});

describe("who should not lead", () => {
  test("a sick board does not stand, also when nobody leads, and stands once it is well", async () => {
    const site = new Election();
    const pi = site.join("pi-1", {});
    pi.sick = "its storage is read-only";
    await site.clock.advance("5m");
    expect(site.server.changes).toEqual([]);
    expect(pi.elector.view().notStanding).toBe("its storage is read-only");
    pi.sick = undefined;
    await site.clock.advance("25s");
    expect(pi.leads).toBe(true);
    expect(pi.log.said("info").filter((line) => line === "not standing for election")).toHaveLength(1);
    await site.end();
  });

  test("a leader that is asked to step down releases the Lease and leaves it to others for a while", async () => {
    const site = new Election(8);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    const former = site.leader;
    former.elector.stepDown("an operator asked", 300_000);
    await site.clock.advance("1s");
    expect(site.holder).toBe("");
    await site.clock.advance("2m");
    expect(site.leader).not.toBe(former);
    expect(former.elector.view().notStanding).toBe("an operator asked");
    await site.clock.advance("3m");
    expect(former.elector.view().notStanding).toBeUndefined();
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("a term whose work fails is given back, and the board rests before it stands again", async () => {
    const site = new Election();
    const starts: number[] = [];
    const pi = site.join("pi-1", {
      lead: async () => {
        starts.push(site.clock.now().mono);
        throw new Error("a bug");
      },
    });
    await site.clock.advance("5m");
    expect(starts.length).toBeGreaterThan(1);
    expect(starts.length).toBeLessThan(6);
    expect(pi.log.said("error")).toContain("the work of the term failed");
    expect(site.server.changes.slice(0, 2).map(({ what }) => what)).toEqual(["create", "release"]);
    await site.end();
  });

  test("work that fails because its term is over has not failed", async () => {
    const site = new Election();
    const pi = site.join("pi-1", {
      lead: async (term) => {
        await new Promise((resolve) => term.signal.addEventListener("abort", resolve));
        throw new Error("a request was cut short");
      },
    });
    await site.settled();
    pi.link.cut = "both";
    await site.clock.advance("1m");
    pi.link.cut = undefined;
    await site.settled();
    expect(pi.log.said("error")).toEqual([]);
    await site.end();
    expect(pi.ended).toEqual({ error: undefined });
  });

  test("work that merely returns does not take and release the Lease all the time", async () => {
    const site = new Election();
    site.join("pi-1", { lead: () => Promise.resolve() });
    await site.clock.advance("10m");
    expect(site.server.changes.length).toBeLessThan(25);
    await site.end();
  });

  test("what only a person can mend ends the elector, after the Lease was given back", async () => {
    class Broken extends Error implements HasDisposition {
      readonly disposition = "exit";
    }
    const site = new Election();
    const pi = site.join("pi-1", { lead: () => Promise.reject(new Error("loop", { cause: new Broken("full") })) });
    await site.clock.advance("1s");
    expect(pi.ended?.error).toMatchObject({ message: "loop" });
    expect(site.holder).toBe("");
  });
});

test("ten sleeping followers cost a few looks an hour, the leader one small write per retry", async () => {
  const site = new Election(9);
  for (let board = 1; board <= 10; board++) site.join(`pi-${board}`);
  await site.settled();
  await site.clock.advance("10m");
  const before = site.server.requests;
  await site.clock.advance("1h");
  const perHour = site.server.requests - before;
  expect(perHour).toBeLessThan(360 + 9 * 60);
  await site.end();
});

test.each([11, 12, 13, 14, 15, 16])(
  "hours of cuts, stalls and restarts: terms never overlap (seed %i)",
  async (seed) => {
    const site = new Election(seed);
    const random = new SeededRandom(seed);
    const names = ["pi-1", "pi-2", "pi-3"];
    for (const name of names) site.join(name, { followers: random.integer(2) === 0 ? "poll" : "expiry" });
    for (let event = 0; event < 60; event++) {
      const board = site.board(names[random.integer(3)] ?? "pi-1");
      const span = random.integer(150_000);
      const kind = random.integer(5);
      if (kind === 0) board.suspend();
      if (kind === 1) board.link.cut = "both";
      if (kind === 2) board.link.cut = "answers";
      if (kind === 3) board.link.latency = random.integer(15_000);
      if (kind === 4 && random.integer(4) === 0) site.server.put(undefined);
      await site.clock.advance(span);
      if (kind === 0) board.resume();
      board.link.cut = undefined;
      board.link.latency = 20;
      await site.clock.advance(random.integer(60_000));
    }
    expect(site.lateWrites).toEqual([]);
    expect(site.writes.length).toBeGreaterThan(1000);
    await site.clock.advance("5m");
    expect(site.leaders).toHaveLength(1);
    await site.end();
    expect(site.clock.timers).toBe(0);
  },
);

describe("the attempts", () => {
  /** For how long the attempt that is due has not been made, at most, over such a time. */
  async function latest(site: Election, hours: number): Promise<number> {
    let worst = Number.NEGATIVE_INFINITY;
    for (let minute = 0; minute < hours * 60; minute++) {
      await site.clock.advance("1m");
      for (const { elector, clock } of site.boards.values()) {
        const { at } = elector.progress();
        if (at !== "idle") worst = Math.max(worst, elapsed(at, clock.now()));
      }
    }
    return worst;
  }

  test("are never late while all is well, nor while the server is away", async () => {
    const site = new Election(2);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    expect(await latest(site, 1)).toBeLessThanOrEqual(0);
    for (const board of site.boards.values()) board.link.cut = "both";
    expect(await latest(site, 2)).toBeLessThanOrEqual(0);
    await site.end();
  });

  test("are late as long as the work of a term that is over does not end", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { stopTakes: 600_000 });
    await site.settled();
    pi.elector.stepDown("somebody wants it", 1000);
    await site.clock.advance("9m");
    const { at } = pi.elector.progress();
    expect(at === "idle" ? at : elapsed(at, pi.clock.now())).toBeGreaterThan(500_000);
    await site.clock.advance("2m");
    expect(await latest(site, 1)).toBeLessThanOrEqual(0);
    await site.end();
  });
});
