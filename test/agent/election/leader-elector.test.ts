import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import type { Resource } from "../../../agent/api/resources.ts";
import { elapsed } from "../../../agent/base/clock.ts";
import { ConfigError, type HasDisposition } from "../../../agent/base/errors.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import { TransportError } from "../../../agent/client/transport/transport-error.ts";
import { budgetAnnotation } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import type { ElectorDeps } from "../../../agent/election/leader-elector.ts";
import { StorageError } from "../../../storage/errors.ts";
import { LeaseLink } from "../../support/lease-server.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { classic, Election, edge, linkTo, lockOver, usualLatency } from "./support/election.ts";

const evenly = (latency: number): LeaseLink["latency"] => ({ request: latency, answer: latency });

/** Another program takes the Lease. */
const bing = { spec: { holderIdentity: "bing", leaseTransitions: 1 } };

describe("when a site starts", () => {
  test("a board without permission to write the Lease logs once what to do about it", async () => {
    const site = new Election();
    const hint = "Give the user of this board the rights on Leases.";
    const refused = new ApiError(
      { verb: "get", target: "lease" },
      { status: 403, reason: "Forbidden", message: "", hint },
    );
    const lock = lockOver(linkTo(site, "pi-1", site.clock));
    lock.read = () => Promise.reject(refused);
    const pi = site.join("pi-1", { lock });
    await site.clock.advance("10m");
    const logged = pi.log.lines.filter(({ message }) => message === "lease not acquired");
    expect(logged).toMatchObject([{ level: "warn", fields: { error: refused, hint } }]);
    await site.end();
  });

  test("a board that loses the race for the Lease does not report a failure, and soon knows the leader", async () => {
    const site = new Election();
    const lock = lockOver(linkTo(site, "pi-1", site.clock));
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

  test("one of three boards leads, and the others know which one", async () => {
    const site = new Election(3);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    await site.clock.advance("1h");
    expect(site.leaders).toHaveLength(1);
    for (const board of site.boards.values()) expect(board.elector.view().holder).toBe(site.holder);
    expect(new Set(site.server.changes.map(({ term }) => term))).toEqual(new Set([0]));
    await site.end();
  });

  test("unusable settings are refused before any request", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { timing: { duration: 15_000, renewDeadline: 15_000, retry: 2000 } });
    await site.clock.advance("1s");
    expect(pi.ended?.error).toBeInstanceOf(ConfigError);
    expect(site.server.requests).toEqual([]);
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
    expect(site.server.lease?.term).toBe(1);
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

  test.each(["expiry", "poll"] as const)("soon after its Lease of an hour was corrected (%s)", async (followers) => {
    const site = new Election();
    for (const name of ["pi-1", "pi-2"]) site.join(name, { followers });
    await site.settled();
    site.server.write({ spec: { holderIdentity: "unknown", leaseDurationSeconds: 3600 } });
    await site.clock.advance("5m");
    expect(site.leaders).toEqual([]);
    site.server.write({ spec: { leaseDurationSeconds: 1 } });
    await site.clock.until(() => site.leaders.length === 1, edge.duration + 2 * edge.retry + 2000);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("within 4.4 s by a polling follower if it released the Lease at a clean stop", async () => {
    const site = new Election();
    for (const name of ["pi-1", "pi-2"]) site.join(name, { timing: classic, followers: "poll" });
    await site.settled();
    const { leader } = site;
    leader.stop();
    await site.clock.until(() => leader.ended !== undefined, "5s");
    expect(site.server.lease).toMatchObject({ holder: undefined, durationSeconds: 1, term: 0 });
    expect(leader.said).toEqual([`${leader.name} became leader`, `${leader.name} stopped leading`]);
    await site.clock.until(() => site.leaders.length === 1, 4500);
    expect(site.leader.terms).toEqual([1]);
    await site.end();
  });

  test("the Lease is released only when the work of the term has ended", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { stopTakes: 3000 });
    await site.settled();
    pi.stop();
    await site.clock.advance("2900ms");
    expect(site.holder).toBeDefined();
    expect(pi.leads).toBe(false);
    await site.clock.advance("1s");
    expect(site.holder).toBeUndefined();
    expect(pi.ended).toEqual({ error: undefined });
    expect(site.clock.timers).toBe(0);
  });

  test("a stop without a link ends soon, and leaves the Lease to expire", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "both";
    pi.stop();
    await site.clock.advance("3100ms");
    expect(pi.ended).toEqual({ error: undefined });
    expect(site.holder).toBe(pi.elector.view().identity);
  });

  test("a restarted process takes the Lease of its predecessor immediately, as the next term", async () => {
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

  test("a restarted process of a board that never led does not take a Lease that was deleted under its leader", async () => {
    const site = new Election();
    site.join("pi-1");
    let seen: number | undefined;
    const follower = site.join("pi-2", { rememberTerm: (term) => (seen = term) });
    await site.settled();
    await site.clock.advance("3m");
    expect(seen).toBe(0);
    follower.kill();
    site.server.remove();
    let wentBack = 0;
    const after = site.join("pi-2b", { formerTerm: seen, termWentBack: () => wentBack++ });
    await site.clock.advance("30s");
    expect(after.terms).toEqual([]);
    // A backup may have been restored that is older than the Lease.
    expect(wentBack).toBe(1);
    await site.clock.until(() => site.leaders.length === 1, "5m");
    expect(site.leader.terms).toEqual(expect.arrayContaining([1]));
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test.each([
    [0, 0],
    [1, 1],
  ])(
    "a process whose predecessor saw term %i finds that term 0 of the Lease went back, %i times",
    async (formerTerm, times) => {
      const site = new Election();
      site.join("pi-1");
      await site.settled();
      let wentBack = 0;
      site.join("pi-2", { formerTerm, termWentBack: () => wentBack++ });
      await site.clock.advance("3m");
      expect(wentBack).toBe(times);
      await site.end();
    },
  );

  test("a term that another part of the process has read counts, whether or not the election has read it", async () => {
    const site = new Election();
    const before = site.join("pi-1");
    await site.settled();
    const stored: number[] = [];
    before.kill();
    site.server.remove();
    const other = site.join("pi-2", { shownTerm: () => 4, rememberTerm: (term) => stored.push(term) });
    await site.clock.advance("30s");
    expect(other.terms).toEqual([]);
    await site.clock.until(() => other.terms.length > 0, "5m");
    expect(other.terms).toEqual([5]);
    expect(stored).toEqual([4, 5]);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("a follower that gets a hint reads immediately, and still waits until the term has ended", async () => {
    const site = new Election();
    site.join("pi-1");
    await site.settled();
    const follower = site.join("pi-2");
    await site.clock.advance("5s");
    const before = site.server.requests.length;
    follower.elector.readNow();
    await site.clock.advance("1s");
    expect(site.server.requests).toHaveLength(before + 1);
    expect(follower.leads).toBe(false);
    await site.end();
  });
});

describe("boards that lost the API server at the same moment", () => {
  /** When a board reads the Lease; while `isAway` it does not run. */
  class Looks extends LeaseLink {
    readonly at: number[] = [];
    isAway = false;
    readonly #now: () => number;

    constructor(site: Election, by: string) {
      super({ server: site.server, clock: site.clock, by, latency: usualLatency });
      this.#now = () => site.clock.now().mono;
    }

    get pauses(): readonly number[] {
      return this.at.slice(1).map((at, index) => (at - (this.at[index] ?? 0)) / 1000);
    }

    override get<T extends KubeObject>(resource: Resource<T>, at: object, signal: AbortSignal): Promise<T> {
      this.at.push(this.#now());
      return this.isAway
        ? Promise.reject(new TransportError("ConnectionRefused", "the connection was refused"))
        : super.get(resource, at, signal);
    }
  }

  test.each<[ElectorDeps["followers"], number, number, number, number]>([
    ["expiry", 10, 50, 30, 70],
    ["poll", 10, 22, 10, 22],
  ])("retry at growing intervals (%s)", async (followers, soonest, latest, soonestAgain, latestAgain) => {
    const site = new Election(3);
    const looks = new Looks(site, "pi-1");
    looks.isAway = true;
    site.join("pi-1", { followers, lock: lockOver(looks) });
    await site.clock.advance("2h");
    const [first = Number.NaN, ...later] = looks.pauses;
    expect(first).toBeGreaterThanOrEqual(soonest);
    expect(first).toBeLessThanOrEqual(latest);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(soonestAgain);
    expect(Math.max(...later)).toBeLessThanOrEqual(latestAgain);
    expect(Math.max(...later) - Math.min(...later)).toBeGreaterThan((latestAgain - soonestAgain) / 2);
    await site.end();
  });

  test("and reached it again within seconds do not all keep reading it within the same seconds from then on", async () => {
    const site = new Election(4);
    site.join("leader");
    await site.settled();
    const followers = Array.from({ length: 8 }, (_, index) => {
      const looks = new Looks(site, `pi-${index}`);
      looks.isAway = true;
      site.join(`pi-${index}`, { lock: lockOver(looks) });
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
  test("gives up at the renew deadline, keeps running, and leads again in the same term if no other board took the Lease", async () => {
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

  test("whose renewals arrive but whose answers are lost renews again with the next answer", async () => {
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

  test("for so long that its term ends knows of the outage when it leads again", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    pi.link.cut = "both";
    await site.clock.advance("5m");
    expect([site.leaders, pi.elector.writes.restoredAt]).toEqual([[], undefined]);
    pi.link.cut = undefined;
    await site.clock.until(() => pi.leads, "10m");
    expect(pi.elector.writes.restoredAt?.mono).toBeGreaterThan(pi.clock.now().mono - 1000);
    await site.end();
  });

  test("and that leads again after another board begins as if there had been no outage: that board could write", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    const other = site.join("pi-2");
    pi.link.cut = "both";
    await site.clock.until(() => other.leads, "10m");
    pi.link.cut = undefined;
    other.link.cut = "both";
    await site.clock.until(() => pi.leads, "10m");
    expect(pi.elector.writes.restoredAt).toBeUndefined();
    await site.end();
  });

  test("never writes alongside its successor, and follows it when the link is back", async () => {
    const site = new Election(5);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    const former = site.leader;
    former.link.cut = "both";
    await site.clock.until(() => site.leaders.length === 1 && site.leader !== former, "5m");
    former.link.cut = undefined;
    await site.clock.advance("10m");
    expect(former.elector.view()).toMatchObject({ role: "follower", holder: site.holder, term: 1 });
    expect(site.leader.elector.view().formerHolder).toBe(former.elector.view().identity);
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });
});

describe("a leader whose process was suspended", () => {
  test.each([
    ["two lease durations", 120_000, 1],
    ["longer than its own term, but shorter than the wait of the others", 58_000, 0],
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

  test("that waited for the answer to its renewal is not revived by that answer", async () => {
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

describe("a term that ends knows whether the API server answered until the end", () => {
  test.each<[string, boolean, (site: Election) => Promise<unknown>]>([
    ["replaced by hand", true, async (site) => site.server.write(bing)],
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
        site.server.write(bing);
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
  ])("%s: %s", async (_, hasAnswer, trouble) => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    await site.clock.advance("1m");
    await trouble(site);
    await site.clock.advance("15s");
    expect(pi.endings.slice(0, 1)).toEqual([expect.objectContaining({ serverAnswered: hasAnswer })]);
    await site.end();
  });
});

describe("when others change the Lease", () => {
  test("after a conflict a leader reads the Lease immediately, and the term continues", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.server.write({ metadata: { annotations: { by: "an operator" } } });
    await site.clock.advance("11s");
    expect(site.server.changes.map(({ what }) => what)).toEqual(["create", "touch", "renew"]);
    expect(site.server.lease?.annotations).toEqual({ by: "an operator" });
    expect(pi.terms).toEqual([0]);
    await site.end();
  });

  test("a Lease that is deleted ends the term, and the next term continues the count", async () => {
    const site = new Election(4);
    for (const name of ["pi-1", "pi-2", "pi-3"]) site.join(name);
    await site.settled();
    await site.clock.advance("2m");
    for (let term = 1; term <= 5; term++) {
      site.server.remove();
      await site.clock.until(() => site.leaders.length === 1 && site.leader.terms.at(-1) === term, "5m");
      await site.clock.advance("2m");
      expect(site.leaders).toHaveLength(1);
    }
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("a leader that is replaced by a person stops within one retry", async () => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    site.server.write(bing);
    await site.clock.advance("11s");
    expect(pi.leads).toBe(false);
    expect(pi.elector.view()).toMatchObject({ holder: "bing", term: 1 });
    await site.clock.advance("2m");
    expect(pi.terms).toEqual([0, 2]);
    await site.end();
  });

  test("the budget is written with renewals and read by the next leader", async () => {
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

  test("an annotation whose text cannot be built does not end the term", async () => {
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
    expect(pi.log.said("error")).toContain("the content of a Lease annotation cannot be built");
    await site.end();
  });
});

describe("two processes with one name, as on a copied card,", () => {
  const name = { identity: "pi-1_5f0c", timing: classic };

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "do not both lead for long: one notices the other and logs it (seed %i)",
    async (seed) => {
      const site = new Election(seed);
      const one = site.join("original", name);
      await site.settled();
      await site.clock.advance("1m");
      const other = site.join("copy", name);
      await site.clock.advance(new SeededRandom(seed).integer(2000) + 4 * classic.retry);
      expect(site.leaders).toHaveLength(1);
      const [leads, follows] = one.leads ? [one, other] : [other, one];
      expect(follows.elector.view()).toMatchObject({ role: "follower", namesake: true });
      expect(follows.endings).toMatchObject([
        { ending: { is: "lost", why: "another process writes the Lease under this agent's identity" } },
      ]);
      expect(follows.log.said("error")).toEqual(["another process writes the Lease under this agent's identity"]);
      await site.clock.advance("1h");
      expect(site.leaders).toEqual([leads.name]);
      expect(leads.elector.view().namesake).toBe(false);
      await site.end();
    },
  );

  test("lead one after the other, each in its own term", async () => {
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

  test("stop competing when a third board begins to lead", async () => {
    const site = new Election();
    const one = site.join("original", name);
    await site.settled();
    const write = (): void => {
      const renewTime = new Date(site.clock.now().wall + 1).toISOString();
      site.server.write({ spec: { renewTime } }, "copy");
    };
    for (let renewals = 0; renewals < 8; renewals++) {
      await site.clock.advance("1s");
      write();
    }
    expect(one.elector.view()).toMatchObject({ role: "follower", namesake: true });
    site.server.write(bing);
    await site.clock.advance("20s");
    expect(one.elector.view()).toMatchObject({ namesake: false, holder: "bing" });
    await site.end();
  });
});

describe("the announcement that a term ends", () => {
  test.each<[string, (site: Election) => Promise<unknown> | unknown]>([
    ["went to another board", (site) => site.server.write(bing)],
    ["was deleted", (site) => site.server.remove()],
    [
      "could not be renewed",
      async (site) => {
        site.leader.link.cut = "both";
        await site.clock.advance("40s");
      },
    ],
  ])("when the Lease %s, as in client-go", async (_, happens) => {
    const site = new Election();
    const pi = site.join("pi-1");
    await site.settled();
    await happens(site);
    await site.clock.advance("12s");
    expect(pi.said.slice(0, 2)).toEqual(["pi-1 became leader", "pi-1 stopped leading"]);
    await site.end();
  });

  test.each([
    ["is no longer written if the API server named another holder", true, false],
    ["is written while no other board can lead yet", false, true],
  ])("%s", async (_, isReplaced, isSent) => {
    const logged: { readonly message: string; readonly mayBeSent: boolean }[] = [];
    const site = new Election();
    const pi = site.join("pi-1", {
      announce: ({ message }, term) => {
        logged.push({ message: message.replace(/_\S+/, ""), mayBeSent: term.standsAt(site.clock.now()) });
      },
    });
    await site.settled();
    if (isReplaced) site.server.write(bing);
    else pi.link.cut = "both";
    await site.clock.until(() => logged.length === 2, "1m");
    expect(logged[1]).toEqual({ message: "pi-1 stopped leading", mayBeSent: isSent });
    await site.end();
  });
});

describe("when a board should not lead", () => {
  test("a sick board is not a candidate, even without a leader, and becomes one once it is well", async () => {
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
    expect(site.holder).toBeUndefined();
    await site.clock.advance("2m");
    expect(site.leader).not.toBe(former);
    expect(former.elector.view().notStanding).toBe("an operator asked");
    await site.clock.advance("3m");
    expect(former.elector.view().notStanding).toBeUndefined();
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });

  test("after a term whose work fails the Lease is released, and the board rests before it is a candidate again", async () => {
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
    expect(pi.log.said("error")).toContain("the controllers of this term failed");
    expect(site.server.changes.slice(0, 2).map(({ what }) => what)).toEqual(["create", "release"]);
    await site.end();
  });

  test("work that fails because its term has ended is not a failure", async () => {
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

  test("work that returns does not cause the Lease to be taken and released in a loop", async () => {
    const site = new Election();
    site.join("pi-1", { lead: () => Promise.resolve() });
    await site.clock.advance("10m");
    expect(site.server.changes.length).toBeLessThan(25);
    await site.end();
  });

  test("an error that only a person can fix ends the elector once the Lease is released", async () => {
    class Broken extends Error implements HasDisposition {
      readonly disposition = "exit";
    }
    const site = new Election();
    const pi = site.join("pi-1", { lead: () => Promise.reject(new Error("loop", { cause: new Broken("full") })) });
    await site.clock.advance("1s");
    expect(pi.ended?.error).toMatchObject({ message: "loop" });
    expect(site.holder).toBeUndefined();
  });
});

describe("an attempt to acquire the Lease that fails", () => {
  const failing = (error: () => Error) => ({
    onRead: () => {
      throw error();
    },
  });

  test.each([
    ["a property of undefined", () => new TypeError("cannot read properties of undefined")],
    ["a name that does not exist", () => new ReferenceError("x is not defined")],
  ])("because of a bug (%s) ends the elector with its error, as in other loops", async (_, error) => {
    const site = new Election();
    site.join("pi-1");
    await site.settled();
    const other = site.join("pi-2", failing(error));
    await site.clock.advance("1m");
    expect(other.ended?.error).toEqual(error());
    expect(site.leaders).toEqual(["pi-1"]);
    await site.end();
  });

  test("because its term cannot be stored is retried and reported in the status", async () => {
    const site = new Election();
    site.join("pi-1");
    await site.settled();
    const full = () => new StorageError("full", { file: "/var/lib/siteward/state.db" });
    const other = site.join("pi-2", failing(full));
    await site.clock.advance("1m");
    expect(other.ended).toBeUndefined();
    expect(other.elector.view().lastError?.message).toContain("state.db");
    await site.end();
  });
});

test("ten sleeping followers cost a few reads an hour, the leader one small write per retry", async () => {
  const site = new Election(9);
  for (let board = 1; board <= 10; board++) site.join(`pi-${board}`);
  await site.settled();
  await site.clock.advance("10m");
  const before = site.server.requests.length;
  await site.clock.advance("1h");
  const perHour = site.server.requests.length - before;
  expect(perHour).toBeLessThan(360 + 9 * 60);
  await site.end();
});

test.each([11, 12, 13, 14, 15, 16])(
  "terms never overlap in hours of cuts, stalls and restarts (seed %i)",
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
      if (kind === 3) board.link.latency = evenly(random.integer(15_000));
      if (kind === 4 && random.integer(4) === 0) site.server.remove();
      await site.clock.advance(span);
      if (kind === 0) board.resume();
      board.link.cut = undefined;
      board.link.latency = usualLatency;
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

describe("attempts to renew or acquire", () => {
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

  test("are never late in normal operation, nor while the server is away", async () => {
    const site = new Election(2);
    for (const name of ["pi-1", "pi-2"]) site.join(name);
    await site.settled();
    expect(await latest(site, 1)).toBeLessThanOrEqual(0);
    for (const board of site.boards.values()) board.link.cut = "both";
    expect(await latest(site, 2)).toBeLessThanOrEqual(0);
    await site.end();
  });

  test("are late while the work of an ended term does not end", async () => {
    const site = new Election();
    const pi = site.join("pi-1", { stopTakes: 600_000 });
    await site.settled();
    pi.elector.stepDown("an operator wants it", 1000);
    await site.clock.advance("9m");
    const { at } = pi.elector.progress();
    expect(at === "idle" ? at : elapsed(at, pi.clock.now())).toBeGreaterThan(500_000);
    await site.clock.advance("2m");
    expect(await latest(site, 1)).toBeLessThanOrEqual(0);
    await site.end();
  });
});
