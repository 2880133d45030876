import { describe, expect, test } from "vitest";
import { boardLeaseKey, leases } from "../../../../agent/api/resources.ts";
import { lastSignOf } from "../../../../agent/controllers/node-lifecycle/health.ts";
import { takeOutOfService } from "../../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import type { KubeletState } from "../../../../agent/judgement/lan-answer.ts";
import { noneCounted, type Unanswered } from "../../../../agent/judgement/lan-silence.ts";
import type { Policy } from "../../../../agent/judgement/verdict.ts";
import { lease, toleration } from "../../../support/builders.ts";
import { SiteModel } from "../site-model.ts";

const counted = { questions: 7, overMs: 30_000, at: undefined };
const gone = { counted };
const unheard = { isCalibrated: false, counted };
const minute = [toleration("unreachable", 60), toleration("not-ready", 60)];

/** Five boards; after a minute pi-1 falls silent, and this is known from asking it on the LAN. */
async function silent(found: Partial<Unanswered> | undefined, policy: Policy = "evidence"): Promise<SiteModel> {
  const site = new SiteModel({ policy, ownNode: "pi-3" });
  for (const name of ["pi-1", "pi-2", "pi-3", "pi-4", "pi-5"]) site.board(name);
  site.pod("web", { on: "pi-1", tolerations: minute });
  await site.run("1m");
  site.silence("pi-1");
  site.unanswered("pi-1", found);
  return site;
}

const verdictOn = (site: SiteModel) => site.memory.boards.get("pi-1")?.verdict.verdict;

describe("a silent board that does not answer on the LAN", () => {
  test("where it could be heard is lost, as soon as it would be without the LAN", async () => {
    const times = await Promise.all(
      [gone, undefined].map(async (found) => {
        const site = await silent(found);
        await site.run("10m");
        expect(site.exists("web")).toBe(false);
        return site.times(/\+unreachable:NoExecute/);
      }),
    );
    expect(times[0]).toEqual(times[1]);
  });

  test("where it was never heard is held for 15 minutes after its grace period, and then judged by its silence", async () => {
    const site = await silent(unheard);
    await site.run("15m");
    expect([verdictOn(site), site.noExecute("pi-1")]).toEqual(["unproven", []]);
    expect(site.conditions("pi-1").Ready).toBe("Unknown");
    expect(site.exists("web")).toBe(true);
    await site.run("1m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    await site.run("2m");
    expect(site.exists("web")).toBe(false);
  });

  test("while the leader hears nobody is held as long, and not harmed if the leader hears others again", async () => {
    const site = await silent({ counted, alone: counted });
    await site.run("10m");
    expect([verdictOn(site), site.noExecute("pi-1")]).toEqual(["self-isolated", []]);
    site.answer("pi-1", { is: "ok" });
    site.unanswered("pi-1", undefined);
    await site.run("1h");
    expect([verdictOn(site), site.exists("web")]).toEqual(["cut-off", true]);
  });

  test.each([
    ["the leader hears nobody any more", { counted: { questions: 0, overMs: 0, at: undefined }, alone: counted }],
    ["nobody answers in the same rounds", { counted: { questions: 0, overMs: 0, at: undefined } }],
  ])("after answering for an hour without its link is held from its last answer on, if %s", async (_, found) => {
    const site = await silent(undefined);
    site.answer("pi-1", { is: "ok" });
    await site.run("1h");
    expect([verdictOn(site), site.exists("web")]).toEqual(["cut-off", true]);
    site.answer("pi-1", undefined);
    site.unanswered("pi-1", found);
    await site.run("14m");
    expect([site.noExecute("pi-1"), site.exists("web")]).toEqual([[], true]);
    // Another leader does not begin anew, and does not take the hour for time that was held.
    await site.lead({ budget: site.budget });
    await site.run("50s");
    expect(site.noExecute("pi-1")).toEqual([]);
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("is held no longer once an operator confirms its zone dead", async () => {
    const site = await silent(unheard);
    await site.run("5m");
    const lease = site.view.lister(leases).get(boardLeaseKey("pi-1"));
    const sign = { by: "ops:jo", reason: undefined, foreign: {} };
    const end = { mono: site.now.mono + 3_600_000, wall: 0 };
    site.hold((holds) => ({
      ...holds,
      confirmed: new Map([
        [
          "default",
          { ...sign, end, lastSigns: new Set([lastSignOf(site.node("pi-1"), lease?.metadata.resourceVersion)]) },
        ],
      ]),
    }));
    await site.run("2m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["dead", false]);
  });

  test("is held no longer once an operator confirms it dead, and is tainted like any lost board", async () => {
    const site = await silent(unheard);
    await site.run("5m");
    const version = site.view.lister(leases).get(boardLeaseKey("pi-1"))?.metadata.resourceVersion ?? "";
    await site.execute(takeOutOfService(site.node("pi-1"), lease("pi-1", version), { by: "ops:jo" }, site.now));
    await site.run("30s");
    expect([verdictOn(site), site.exists("web")]).toEqual(["dead", false]);
    expect(site.noExecute("pi-1")).toContain("unreachable:NoExecute");
    expect(site.heldFor).toEqual([]);
  });

  test("but answered after it was confirmed dead is not dead until 24 questions count, or the hold is over, also for the next leader", async () => {
    const confirmed = async (): Promise<SiteModel> => {
      const site = await silent(gone);
      site.answer("pi-1", { is: "ok" });
      await site.run("1m");
      const version = site.view.lister(leases).get(boardLeaseKey("pi-1"))?.metadata.resourceVersion ?? "";
      await site.execute(takeOutOfService(site.node("pi-1"), lease("pi-1", version), { by: "ops:jo" }, site.now));
      await site.run("30s");
      site.answer("pi-1", undefined);
      return site;
    };
    const site = await confirmed();
    await site.run("5m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["unproven", true]);
    site.unanswered("pi-1", { counted: { ...counted, questions: 24 } });
    await site.run("5s");
    expect([verdictOn(site), site.exists("web")]).toEqual(["dead", false]);

    const next = await confirmed();
    await next.lead({ budget: next.budget });
    next.unanswered("pi-1", { counted: noneCounted, alone: counted });
    await next.run("14m");
    expect([verdictOn(next), next.exists("web")]).toEqual(["self-isolated", true]);
    await next.run("3m");
    expect([verdictOn(next), next.exists("web")]).toEqual(["dead", false]);
  });

  test("is judged by its silence alone under policy kubernetes", async () => {
    const site = await silent(unheard, "kubernetes");
    await site.run("3m");
    expect(site.exists("web")).toBe(false);
  });

  test("is evicted after its hold even if the leader changes every five minutes", async () => {
    const site = await silent(unheard);
    for (let index = 0; index < 5; index++) {
      await site.run("5m");
      await site.lead({ budget: site.budget });
    }
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("is held anew by a new leader if it has given a sign of life since", async () => {
    const site = await silent(unheard);
    await site.run("14m");
    const { budget } = site;
    site.renew("pi-1");
    await site.lead({ budget });
    await site.run("14m");
    expect([verdictOn(site), site.noExecute("pi-1")]).toEqual(["unproven", []]);
  });

  test("and was found lost is lost for the next leader, which has never heard it", async () => {
    const site = await silent(gone);
    await site.run("50s");
    expect(verdictOn(site)).toBe("lost");
    site.unanswered("pi-1", unheard);
    await site.lead({ budget: site.budget });
    await site.run("4m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["lost", false]);
  });
});

describe("while leaders follow each other", () => {
  test("a board that was found lost stays lost, even if one of them ends within the grace period", async () => {
    const site = await silent(gone);
    await site.run("50s");
    expect(verdictOn(site)).toBe("lost");
    site.unanswered("pi-1", unheard);
    await site.lead({ budget: site.budget });
    await site.run("30s");
    await site.lead({ budget: site.budget });
    await site.run("4m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["lost", false]);
  });

  test("a hold does not begin again because a leader ends within the grace period, or nobody answers it yet", async () => {
    const site = await silent(unheard);
    await site.run("12m");
    await site.lead({ budget: site.budget });
    site.unanswered("pi-1", undefined);
    await site.run("30s");
    site.unanswered("pi-1", unheard);
    await site.lead({ budget: site.budget });
    await site.run("6m");
    expect(site.exists("web")).toBe(false);
  });

  test("a board that answered one of them is lost for the next one only after 24 questions", async () => {
    const site = await silent(undefined);
    site.answer("pi-1", { is: "ok" });
    await site.run("1h");
    site.answer("pi-1", undefined);
    await site.lead({ budget: site.budget });
    site.unanswered("pi-1", { counted: { questions: 23, overMs: 110_000, at: undefined } });
    await site.run("10m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["unproven", true]);
    site.unanswered("pi-1", { counted: { questions: 24, overMs: 115_000, at: undefined } });
    await site.run("2m");
    expect([verdictOn(site), site.exists("web")]).toEqual(["lost", false]);
  });

  describe("a board that one of them found lost, and that answers the next one on the LAN", () => {
    /** The second leader has heard the board; its Lease says so. */
    async function answered(kubelet: KubeletState, { isRebooted }: { readonly isRebooted?: true } = {}) {
      const site = await silent(gone);
      await site.run("50s");
      expect(verdictOn(site)).toBe("lost");
      await site.lead({ budget: site.budget });
      site.unanswered("pi-1", { counted: { ...counted, questions: 4, overMs: 20_000 }, isCalibrated: false });
      await site.run("55s");
      expect(site.budget).toContain('"lost":true');
      site.answer("pi-1", kubelet, { ...(isRebooted && { isRebooted }) });
      await site.run("5s");
      expect(site.noExecute("pi-1")).toEqual([]);
      return site;
    }

    /** Another leader, which cannot hear the board. */
    async function followed(site: SiteModel): Promise<void> {
      site.answer("pi-1", undefined);
      site.unanswered("pi-1", unheard);
      await site.lead({ budget: site.budget });
    }

    test.each([{ is: "ok" }, { is: "unknown" }] as const)(
      "that its kubelet is %o keeps its pods for a whole hold if a third one cannot hear it",
      async (kubelet) => {
        const site = await answered(kubelet);
        expect(site.budget).toContain('"silent":{"pi-1":{"sign":');
        expect(site.budget).toContain('"s":0,"answered":true');
        await followed(site);
        await site.run("15m");
        expect([verdictOn(site), site.noExecute("pi-1"), site.exists("web")]).toEqual(["unproven", [], true]);
        await site.run("4m");
        expect(site.exists("web")).toBe(false);
      },
    );

    test("and then gets another key is not lost for the same leader because of what the first one found", async () => {
      const site = await answered({ is: "ok" });
      site.answer("pi-1", undefined);
      site.unanswered("pi-1", { isCalibrated: false, counted: { ...counted, questions: 0, overMs: 0 } });
      await site.run("1m");
      site.unanswered("pi-1", unheard);
      await site.run("13m");
      expect([verdictOn(site), site.exists("web")]).toEqual(["unproven", true]);
    });

    test.each([
      ["its kubelet has just gone down", { is: "down", forMs: 0 }, {}],
      ["its kubelet has been down for long", { is: "down", forMs: 900_000 }, {}],
      ["it was restarted without its kubelet", { is: "unknown" }, { isRebooted: true }],
    ] as const)("that %s is no longer lost for a third one, but its silence goes on", async (_, kubelet, more) => {
      const site = await silent(gone);
      await site.run("5m");
      site.pod("later", { on: "pi-1", tolerations: minute });
      await site.lead({ budget: site.budget });
      site.answer("pi-1", kubelet, more);
      await site.run("5s");
      expect(site.budget).toContain("silent");
      expect(site.budget).not.toContain('"lost"');
      await followed(site);
      await site.run("9m");
      expect([verdictOn(site), site.exists("later")]).toEqual(["unproven", true]);
      await site.run("5m");
      expect(site.exists("later")).toBe(false);
    });

    test("and died since is found lost by the leader that heard it, like any other board", async () => {
      const site = await answered({ is: "ok" });
      site.answer("pi-1", undefined);
      site.unanswered("pi-1", { counted: { ...counted, questions: 24 } });
      await site.run("130s");
      expect(verdictOn(site)).toBe("lost");
      await followed(site);
      await site.run("4m");
      expect([verdictOn(site), site.exists("web")]).toEqual(["lost", false]);
    });
  });

  test("a process that leads again and again counts no time twice", async () => {
    const site = await silent(unheard);
    let seconds = 0;
    while (site.noExecute("pi-1").length === 0 && seconds < 2000) {
      await site.run("100s");
      seconds += 100;
      await site.lead({ budget: site.budget, recalled: site.recollection });
    }
    expect(seconds).toBeGreaterThanOrEqual(900);
    expect(seconds).toBeLessThanOrEqual(1700);
  });
});

describe("two boards of a zone that are lost together", () => {
  async function lost(settings: { readonly zoneHold?: number } = {}): Promise<SiteModel> {
    const site = new SiteModel({ policy: "evidence", ownNode: "pi-3", ...settings });
    for (const name of ["pi-1", "pi-2"]) site.board(name, { zone: "hall" });
    for (const name of ["pi-3", "pi-4"]) site.board(name, { zone: "office" });
    site.pod("web", { on: "pi-1", tolerations: minute });
    await site.run("1m");
    for (const name of ["pi-1", "pi-2"]) {
      site.silence(name);
      site.unanswered(name, gone);
    }
    return site;
  }

  test("keep their pods for 15 minutes, and the record says why", async () => {
    const site = await lost();
    await site.run("15m");
    expect([verdictOn(site), site.noExecute("pi-1"), site.noExecute("pi-2")]).toEqual(["lost", [], []]);
    expect(JSON.stringify(site.recorded.lines)).toContain("judgement.zoneHold");
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("do not keep them for longer because the leader changes", async () => {
    const site = await lost();
    for (let index = 0; index < 4; index++) {
      await site.run("4m");
      await site.lead({ budget: site.budget });
    }
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("do not keep them once one of the two is back", async () => {
    const site = await lost();
    await site.run("3m");
    site.revive("pi-2");
    site.unanswered("pi-2", undefined);
    await site.run("3m");
    expect([site.exists("web"), site.noExecute("pi-2")]).toEqual([false, []]);
  });

  test("are evicted at once with zoneHold: 0s", async () => {
    const site = await lost({ zoneHold: 0 });
    await site.run("4m");
    expect(site.exists("web")).toBe(false);
  });
});
