import { describe, expect, test } from "vitest";
import type { Taint, Toleration } from "../../../../agent/api/core.ts";
import { nodes, pods } from "../../../../agent/api/resources.ts";
import { taintEviction } from "../../../../agent/controllers/taint-eviction/controller.ts";
import type { Action } from "../../../../agent/execution/actions.ts";
import { node, pod, toleration } from "../../../support/builders.ts";
import { countedSite } from "../counted-site.ts";
import { defaults, SiteModel, type TermOptions } from "../site-model.ts";

const a: Taint = { key: "testTaint1", value: "test1", effect: "NoExecute", timeAdded: "T1" };
const b: Taint = { key: "testTaint2", value: "test2", effect: "NoExecute", timeAdded: "T1" };
const forA = (seconds?: number): Toleration => toleration("testTaint1", seconds);
const forB = (seconds?: number): Toleration => toleration("testTaint2", seconds);

/** A board that carries `taints` from the beginning, and one pod on it. */
function siteWith(taints: readonly Taint[], ...tolerations: readonly Toleration[]): SiteModel {
  const site = new SiteModel();
  site.board("pi", { taints });
  site.pod("web", { on: "pi", tolerations });
  return site;
}

const deletions = (site: SiteModel): readonly number[] => site.times(/^deleted/);
const podReads = ({ fetched }: SiteModel): readonly string[] => fetched.filter((one) => one.startsWith("pods "));

/** The rules of a toleration window stand as cases in test/cases/TE and are not repeated here. */

describe("pods leave tainted boards (TE)", () => {
  test("a terminating pod gets its Event and condition when its time has passed, and is not deleted again", async () => {
    const site = new SiteModel();
    site.board("pi", { taints: [a] });
    site.pod("web", { on: "pi", deletionTimestamp: "2026-01-01T00:00:00Z", tolerations: [forA(100)] });
    await site.run("1h");
    expect(deletions(site)).toEqual([]);
    expect(site.times(/web/)).toEqual([100, 100]);
    expect(site.times("TaintManagerEviction web")).toEqual([100]);
    expect(site.times("web DisruptionTarget=True")).toEqual([100]);
  });

  test("a board that is not ready, then silent, then not ready counts as lost throughout, so its pods have one window", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi");
    site.pod("web", { on: "pi", tolerations: [toleration("not-ready", 300), toleration("unreachable", 300)] });
    await site.run("1s");
    site.report("pi", { Ready: "False" });
    site.silence("pi");
    await site.run("99s");
    expect(site.noExecute("pi")).toEqual(["unreachable:NoExecute"]);
    site.report("pi", { Ready: "False" });
    await site.run("10s");
    expect(site.noExecute("pi")).toEqual(["not-ready:NoExecute"]);
    await site.run("1h");
    expect(deletions(site)).toEqual([305]);
  });

  test.each([
    { ready: "Unknown", own: "unreachable", other: "not-ready" },
    { ready: "False", own: "not-ready", other: "unreachable" },
  ])(
    "$other, which a person adds alongside $own, does not begin a new window, and neither does its removal",
    async ({ ready, own, other }) => {
      const site = new SiteModel();
      site.board("other");
      site.board("pi", { conditions: { Ready: ready }, silent: ready === "Unknown" });
      site.pod("web", { on: "pi", tolerations: [toleration("not-ready", 300), toleration("unreachable", 300)] });
      await site.run("102s");
      site.setTaints("pi", ...(site.node("pi").spec?.taints ?? []), {
        key: `node.kubernetes.io/${other}`,
        effect: "NoExecute",
      });
      await site.run("10s");
      expect(site.noExecute("pi")).toEqual([`${own}:NoExecute`]);
      await site.run("1h");
      expect(deletions(site)).toEqual([300.1]);
    },
  );
});

describe("the deletion", () => {
  test("writes the reason first, and requires only the pod's uid", async () => {
    const seen: Action[] = [];
    const site = new SiteModel();
    site.refuse = (action) => {
      if (action.do === "delete" || (action.do === "patch" && action.target.name === "web")) seen.push(action);
      return undefined;
    };
    site.board("pi", { taints: [a] });
    site.pod("web", { on: "pi", generation: 3 });
    await site.run("0s");
    const target = expect.objectContaining({ name: "web", namespace: "default", uid: "uid-web" });
    expect(seen).toEqual([
      {
        do: "patch",
        target,
        type: "strategic",
        subresource: "status",
        patch: {
          status: {
            conditions: [
              {
                type: "DisruptionTarget",
                status: "True",
                reason: "DeletionByTaintManager",
                message: "Taint manager: deleting due to NoExecute taint",
                lastTransitionTime: "2026-01-01T00:00:00Z",
                observedGeneration: 3,
              },
            ],
          },
        },
      },
      {
        do: "delete",
        target,
        grounds: expect.objectContaining({
          act: "pod-evicted",
          board: "pi",
          because: expect.objectContaining({ kind: "taints", taints: ["testTaint1"], toleratedMs: 0, ranMs: 0 }),
        }),
      },
    ]);
    expect(seen.map((action) => (action.do === "delete" ? action.target.resourceVersion : undefined))).toEqual([
      undefined,
      undefined,
    ]);
    expect(site.times("TaintManagerEviction web")).toEqual([0]);
  });

  test("that fails is retried until it succeeds", async () => {
    const site = siteWith([a]);
    let failures = 0;
    site.refuse = (action) => (action.do === "delete" && failures++ < 7 ? "retry" : undefined);
    await site.run("60s");
    expect(deletions(site)).toEqual([0.635]);
  });

  test("that is refused permanently is retried with backoff, and gets one Event", async () => {
    const site = siteWith([a]);
    const tries: number[] = [];
    site.refuse = (action) => {
      if (action.do !== "delete") return undefined;
      tries.push(site.now.mono);
      return site.seconds < 100 ? "drop" : undefined;
    };
    await site.run("1h");
    const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    expect(pauses.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 320, 640]);
    expect(deletions(site)).toHaveLength(1);
    expect(deletions(site)[0]).toBeLessThan(200);
    expect(site.times("TaintManagerEviction web")).toEqual([0]);
  });

  test("that is refused at first still has the full time-out for its answer", async () => {
    const site = siteWith([a]);
    let refused = 0;
    const seen: number[] = [];
    site.refuse = (action) => {
      if (action.do !== "delete") return undefined;
      seen.push(site.seconds);
      return refused++ < 3 ? "drop" : undefined;
    };
    await site.run("10s");
    expect([refused, deletions(site)]).toEqual([4, [0.035]]);
    await site.run("1h");
    expect(seen).toHaveLength(4);
  });

  test("is given up when its reason no longer applies", async () => {
    const site = siteWith([a]);
    site.refuse = ({ do: what }) => (what === "delete" ? "retry" : undefined);
    await site.run("5s");
    site.setTaints("pi");
    site.refuse = () => undefined;
    await site.run("1h");
    expect(site.exists("web")).toBe(true);
  });

  test("carries a cause only if our verdict is the reason", async () => {
    const causes: unknown[] = [];
    const site = new SiteModel({ evictionRate: 100 });
    site.refuse = (action) => {
      if (action.do === "delete") causes.push([action.target.name, action.cause?.board]);
      return undefined;
    };
    for (const name of ["x", "y", "z"]) site.board(name);
    site.board("by-hand", { taints: [a] });
    site.board("own-word", { conditions: { Ready: "False" } });
    site.board("silent", { conditions: { Ready: "Unknown" } });
    site.board("both", { conditions: { Ready: "Unknown" }, taints: [a] });
    for (const name of ["by-hand", "own-word", "silent", "both"]) site.pod(`on-${name}`, { on: name });
    await site.run("1s");
    expect(causes.sort()).toEqual([
      ["on-both", undefined],
      ["on-by-hand", undefined],
      ["on-own-word", undefined],
      ["on-silent", "silent"],
    ]);
  });
});

describe("a pod that another client changes", () => {
  const unreachable: Taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "T1" };

  /** A lost board, and a pod there that tolerates it for 100 s. */
  function lost(...taints: readonly Taint[]): SiteModel {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["x", "y", "z"]) site.board(name);
    site.board("pi", { conditions: { Ready: "Unknown" }, taints: [unreachable, ...taints], silent: true });
    site.pod("web", { on: "pi", tolerations: [toleration("unreachable", 100)] });
    return site;
  }

  const overwrite = (site: SiteModel): void => {
    const pod = site.api.find(pods, "default/web");
    const annotations = { after: pod?.metadata.resourceVersion };
    if (pod) site.api.put(pods, { ...pod, metadata: { ...pod.metadata, annotations } });
  };

  /** Another client is faster than each of our first `times` writes of a kind to the pod. */
  function race(site: SiteModel, what: Action["do"], times: number): { readonly sent: (string | undefined)[] } {
    const race = { sent: [] as (string | undefined)[] };
    site.refuse = (action) => {
      if (action.do !== what || !("target" in action) || action.target.name !== "web" || site.seconds < 99)
        return undefined;
      race.sent.push(action.target.resourceVersion);
      if (race.sent.length <= times) overwrite(site);
      return undefined;
    };
    return race;
  }

  test("is deleted in the version that was read, or in the one that our own mark produced", async () => {
    const site = lost();
    const versions: unknown[] = [];
    site.refuse = (action) => {
      if (!("target" in action) || action.target.name !== "web" || site.seconds < 99) return undefined;
      versions.push([
        action.do,
        action.target.resourceVersion === site.api.find(pods, "default/web")?.metadata.resourceVersion,
      ]);
      return undefined;
    };
    await site.run("101s");
    expect(versions).toEqual([
      ["patch", true],
      ["delete", true],
    ]);
    expect(deletions(site)).toEqual([100]);
  });

  test.each(["patch", "delete"] as const)(
    "is decided again within moments after a conflict of the %s",
    async (what) => {
      const site = lost();
      race(site, what, 1);
      await site.run("99s");
      site.fetched.length = 0;
      await site.run("10s");
      expect(deletions(site)).toEqual([100.02]);
      expect(podReads(site)).toEqual(["pods default/web"]);
      expect(site.times("TaintManagerEviction web")).toEqual([100]);
    },
  );

  test("is read from the API if the cache is behind", async () => {
    const site = lost();
    await site.run("99s");
    // What is written from now on does not come.
    site.link = "half-open";
    overwrite(site);
    await site.run("2s");
    expect(deletions(site)).toEqual([100.02]);
  });

  test("is not read while the watches are broken, in which nothing is decided about it", async () => {
    const site = lost();
    await site.run("99s");
    site.fetched.length = 0;
    let conflicts = 0;
    site.refuse = (action) => {
      if (action.do !== "delete" || action.target.name !== "web" || conflicts++ > 0) return undefined;
      site.breakWatches();
      return "refresh";
    };
    await site.run("1m");
    expect([conflicts, site.exists("web"), site.heldFor, podReads(site)]).toEqual([1, true, ["not-live"], []]);
    site.restore();
    await site.run("10m");
    expect(deletions(site)).toHaveLength(1);
  });

  test("constantly is retried with backoff, gets one Event, and is deleted in the first gap", async () => {
    const site = lost();
    const { sent } = race(site, "delete", 20);
    await site.run("10m");
    expect(sent).toHaveLength(21);
    expect(deletions(site)[0]).toBeLessThan(100 + 80);
    expect(site.times("TaintManagerEviction web")).toHaveLength(2);
  });

  test("is kept once its board is back", async () => {
    const site = lost();
    const { sent } = race(site, "delete", 3);
    await site.run("100s");
    expect(sent).toHaveLength(1);
    site.revive("pi");
    await site.run("1h");
    expect(site.exists("web")).toBe(true);
  });

  test("is kept if its board is back, although no watch has shown that yet", async () => {
    const site = lost();
    await site.run("99s");
    site.link = "half-open";
    site.revive("pi");
    overwrite(site);
    await site.run("20s");
    expect(deletions(site)).toEqual([]);
    expect(site.fetched).toContain("nodes pi");
  });

  test("is evicted in any state for a taint that a person set", async () => {
    const site = lost(a);
    const { sent } = race(site, "delete", 100);
    site.tolerate("web", toleration("unreachable", 1000), forA(100));
    await site.run("101s");
    // What was just read is named once.
    expect(sent).toEqual([expect.any(String), undefined]);
    expect(deletions(site)).toEqual([100.02]);
  });
});

describe("when a Node is gone", () => {
  const unreachable: Taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "T1" };

  test.each([
    ["its pods' timers continue once the API confirms its deletion", (site: SiteModel) => site.remove("pi"), [100]],
    ["because it left the site, its pods have left too", (site: SiteModel) => site.api.show(nodes, "pi", false), []],
  ])("%s", async (_name, leave, times) => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" }, taints: [unreachable], silent: true });
    site.pod("web", { on: "pi", tolerations: [toleration("unreachable", 100)] });
    await site.run("50s");
    leave(site);
    await site.run("1h");
    expect(deletions(site)).toEqual(times);
  });
});

describe("the Event about a cancelled deletion", () => {
  const cancelled = "TaintManagerEviction web cancelled";

  test("is not sent when the pod left the site with its board", async () => {
    const site = siteWith([a], forA(100));
    await site.run("50s");
    site.api.show(nodes, "pi", false);
    site.api.show(pods, "default/web", false);
    await site.run("1h");
    expect([deletions(site), site.times(cancelled)]).toEqual([[], []]);
  });

  test("is sent when the pod of a deleted board is deleted", async () => {
    const site = siteWith([a], forA(100));
    await site.run("50s");
    site.remove("pi");
    site.api.remove(pods, "default/web");
    await site.run("1h");
    expect([deletions(site), site.times(cancelled)]).toEqual([[], [50]]);
  });

  test("is sent when the board is deleted and returns without its taint", async () => {
    const site = siteWith([a], forA(100));
    await site.run("50s");
    site.remove("pi");
    await site.run("20s");
    site.board("pi", { uid: "another" });
    await site.run("1h");
    expect([deletions(site), site.times(cancelled)]).toEqual([[], [75]]);
  });
});

describe("a timer that outlives its process", () => {
  const unreachable: Taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "T1" };

  function lostBoard(): SiteModel {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" }, taints: [unreachable], silent: true });
    site.pod("web", { on: "pi", tolerations: [toleration("unreachable", 300)] });
    return site;
  }

  test("continues exactly after a restart", async () => {
    const site = lostBoard();
    await site.run("100s");
    await site.lead({ kept: site.kept });
    await site.run("199s");
    expect(deletions(site)).toEqual([]);
    await site.run("1s");
    expect(deletions(site)).toEqual([300]);
  });

  test("counts the running time of the taint on another board", async () => {
    const site = lostBoard();
    await site.run("100s");
    await site.lead({ budget: site.budget });
    await site.run("1h");
    expect(deletions(site)).toEqual([300]);
  });

  test("starts again without stored state", async () => {
    const site = lostBoard();
    await site.run("100s");
    await site.lead();
    await site.run("1h");
    expect(deletions(site)).toEqual([400]);
  });

  test("continues after a reboot from the stored time or from the Lease's, whichever is longer", async () => {
    const site = lostBoard();
    await site.run("100s");
    await site.lead({ reboot: true, kept: site.kept, budget: site.budget });
    await site.run("1h");
    expect(deletions(site)).toEqual([300]);
  });

  test("continues after a reboot from the stored time if the Lease has none", async () => {
    const site = lostBoard();
    await site.run("100s");
    site.tolerate("web", toleration("unreachable", 350));
    await site.run("1s");
    await site.lead({ reboot: true, kept: site.kept });
    await site.run("1h");
    expect(deletions(site)).toEqual([351]);
  });

  test("starts again if the taint has been replaced", async () => {
    const site = lostBoard();
    await site.run("100s");
    const { kept, budget } = site;
    site.cut();
    site.setTaints("pi", { ...unreachable, timeAdded: "T2" });
    site.restore();
    await site.lead({ kept, budget });
    await site.run("1h");
    expect(deletions(site)).toEqual([400]);
  });

  test("starts again for our other taint too, because the time in between is unknown", async () => {
    const site = lostBoard();
    await site.run("100s");
    const { kept } = site;
    site.cut();
    site.report("pi", { Ready: "False" });
    site.setTaints("pi", { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: "T2" });
    site.tolerate("web", toleration("not-ready", 300), toleration("unreachable", 300));
    site.restore();
    await site.lead({ kept });
    await site.run("1h");
    expect(deletions(site)).toEqual([400]);
  });

  test.each([
    ["continues in the next term if the taint has a time", "T1", 300],
    [
      "starts again in the next term if the taint has no time, because it may have been removed and set again",
      undefined,
      400,
    ],
  ])("of a person's taint %s", async (_name, timeAdded, goneAt) => {
    const site = new SiteModel();
    site.board("pi");
    site.setTaints("pi", { key: "repair", effect: "NoExecute", ...(timeAdded && { timeAdded }) });
    site.pod("web", { on: "pi", tolerations: [{ key: "repair", operator: "Exists", tolerationSeconds: 300 }] });
    await site.run("100s");
    await site.lead({ kept: site.kept });
    await site.run("1h");
    expect(deletions(site)).toEqual([goneAt]);
  });

  test("is cancelled if the taint has been removed", async () => {
    const site = lostBoard();
    await site.run("100s");
    const { kept } = site;
    site.revive("pi");
    await site.run("6s");
    await site.lead({ kept });
    await site.run("1h");
    expect(deletions(site)).toEqual([]);
  });

  describe.each(["evidence", "kubernetes"] as const)("under policy %s", (policy) => {
    const what = { unreachable: "Unknown", "not-ready": "False" } as const;

    /** The time of the former term expires while no board leads. The next leader's first passes cannot remove the taint. */
    async function nextTerm(
      key: keyof typeof what,
      left: (site: SiteModel) => TermOptions,
      between: (site: SiteModel) => void,
    ): Promise<{ readonly site: SiteModel; mend(): void }> {
      const site = new SiteModel({ policy });
      site.board("other");
      const taint: Taint = { key: `node.kubernetes.io/${key}`, effect: "NoExecute", timeAdded: "T1" };
      site.board("pi", { conditions: { Ready: what[key] }, taints: [taint], silent: key === "unreachable" });
      site.pod("web", { on: "pi", tolerations: [toleration(key, 300)] });
      await site.run("100s");
      site.skip("250s");
      let isBroken = true;
      site.refuse = ({ do: what, ...action }) =>
        isBroken && what === "patch" && "target" in action && action.target.resource.kind === "Node"
          ? "retry"
          : undefined;
      between(site);
      await site.lead(left(site));
      return {
        site,
        mend: () => {
          isBroken = false;
        },
      };
    }

    const leaves = [
      { by: "the Lease", left: ({ budget }: SiteModel): TermOptions => ({ budget }) },
      { by: "the disk", left: ({ kept }: SiteModel): TermOptions => ({ kept }) },
      {
        by: "both after a reboot",
        left: ({ kept, budget }: SiteModel): TermOptions => ({ reboot: true, kept, budget }),
      },
    ];
    const stories = leaves.flatMap((leave) =>
      (["unreachable", "not-ready"] as const).map((key) => ({ ...leave, key })),
    );

    test.each(stories)(
      "a time of $key from $by is not a reason to evict once the board is back",
      async ({ key, left }) => {
        const { site, mend } = await nextTerm(key, left, (site) => site.revive("pi"));
        await site.run("1m");
        expect(site.noExecute("pi")).toEqual([`${key}:NoExecute`]);
        expect(deletions(site)).toEqual([]);
        mend();
        await site.run("1h");
        expect([site.noExecute("pi"), deletions(site)]).toEqual([[], []]);
        expect(site.times("TaintManagerEviction web cancelled")).toHaveLength(1);
      },
    );

    test.each(leaves)("the time from $by counts if the board remains lost", async ({ left }) => {
      const { site } = await nextTerm("unreachable", left, () => undefined);
      await site.run("1m");
      expect(deletions(site)).toHaveLength(1);
    });

    test("a board that returns for a moment, and falls silent under its taint, counts as lost throughout", async () => {
      const { site } = await nextTerm(
        "unreachable",
        ({ budget }) => ({ budget }),
        (site) => site.revive("pi"),
      );
      site.silence("pi");
      await site.run("35s");
      expect(deletions(site)).toEqual([]);
      await site.run("20s");
      expect(deletions(site)).toHaveLength(1);
    });
  });

  test("a pod that arrives later has its whole time, regardless of what the previous leader stored", async () => {
    const site = lostBoard();
    await site.run("100s");
    await site.lead({ budget: site.budget });
    await site.run("61s");
    site.pod("late", { on: "pi", tolerations: [toleration("unreachable", 300)] });
    await site.run("1h");
    expect(site.times("deleted late")).toEqual([461]);
  });

  test("equal timers are stored as equal texts, so an unchanged timer is not written", async () => {
    const site = lostBoard();
    await site.run("10s");
    const { kept } = site;
    await site.run("100s");
    site.setTaints("pi", unreachable, { key: "other", effect: "NoSchedule" });
    await site.run("1s");
    expect(site.kept).toEqual(kept);
  });
});

describe("a person's taint that may be gone while the watches are broken or the cache cannot be written", () => {
  const broken = async (): Promise<SiteModel> => {
    const site = siteWith([a], forA(100));
    await site.run("50s");
    site.breakWatches();
    return site;
  };

  test("does not evict a pod once it is gone", async () => {
    const site = await broken();
    site.setTaints("pi");
    await site.run("5m");
    site.restore();
    await site.run("5m");
    expect(deletions(site)).toEqual([]);
  });

  test("does not evict a pod while the watches catch up", async () => {
    const site = await broken();
    site.setTaints("pi");
    await site.run("49s");
    site.restore("behind");
    await site.run("2s");
    site.restore();
    await site.run("5m");
    expect(deletions(site)).toEqual([]);
  });

  test("does not evict a pod that has since been given a longer toleration", async () => {
    const site = await broken();
    site.tolerate("web", forA(500));
    await site.run("5m");
    expect(deletions(site)).toEqual([]);
  });

  test("evicts the pod in time if the API still has it", async () => {
    const site = await broken();
    await site.run("5m");
    expect(deletions(site)).toEqual([100]);
  });

  test("is read from the API once; while the watches deliver, it is not read for a pod that has to leave immediately", async () => {
    const site = await broken();
    await site.run("100s");
    expect(site.fetched).toEqual(["nodes pi", "pods default/web"]);
    const other = siteWith([a]);
    await other.run("5m");
    expect([deletions(other), other.fetched]).toEqual([[0], []]);
  });
});

describe("a board that its kubelet reports as not ready, before its pods are evicted", () => {
  async function notReady(names: readonly string[]): Promise<SiteModel> {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["a", "b", "pi"]) site.board(name);
    for (const name of names) site.pod(name, { on: "pi", tolerations: [toleration("not-ready", 60)] });
    await site.run("10s");
    site.report("pi", { Ready: "False" });
    while (site.noExecute("pi").length === 0) await site.run("1s");
    return site;
  }

  test("is read from the API: it keeps them if it is ready again, though its watch is late by then", async () => {
    const site = await notReady(["web"]);
    await site.run("30s");
    site.delay("Node");
    site.report("pi", { Ready: "True" });
    await site.run("40s");
    expect([site.exists("web"), site.heldFor]).toEqual([true, ["verdict"]]);
  });

  test("is read once for all pods that are due at the same time", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `web-${index}`);
    const site = await notReady(names);
    await site.run("65s");
    expect(names.filter((name) => site.exists(name))).toEqual([]);
    expect(site.fetched.filter((what) => what === "nodes pi")).toHaveLength(1);
  });

  test("is read again if the cache is newer than what was read a moment ago", async () => {
    const site = await notReady(["web"]);
    await site.run("45s");
    site.pod("first", { on: "pi" });
    await site.run("100ms");
    expect(site.exists("first")).toBe(false);
    site.report("pi", { Ready: "False" });
    site.pod("second", { on: "pi" });
    await site.run("100ms");
    expect(site.exists("second")).toBe(false);
    expect(site.fetched.filter((what) => what === "nodes pi")).toHaveLength(2);
  });
});

describe("a taint set by a person while one watch is live but minutes late", () => {
  const read = ["nodes pi", "pods default/web"];

  function lateWatch(kind: "Node" | "Pod", taints: readonly Taint[] = [], ...tolerations: Toleration[]): SiteModel {
    const site = siteWith(taints, ...tolerations);
    site.delay(kind);
    return site;
  }

  test("does not evict a pod that was given a toleration before it", async () => {
    const site = lateWatch("Pod");
    await site.run("10s");
    site.tolerate("web", forA());
    site.setTaints("pi", a);
    await site.run("5m");
    expect([deletions(site), site.fetched]).toEqual([[], read]);
  });

  test("evicts the pod that does not tolerate it, in the version that was read", async () => {
    const site = lateWatch("Pod");
    const versions: unknown[] = [];
    site.refuse = (action) => {
      if (action.do === "patch" || action.do === "delete") versions.push(action.target.resourceVersion);
      return undefined;
    };
    await site.run("10s");
    site.setTaints("pi", a);
    await site.run("30s");
    expect([deletions(site), site.fetched]).toEqual([[10], read]);
    expect(versions).toEqual([expect.any(String), expect.any(String)]);
  });

  test("is read once a minute while the cache still shows the pod that it evicted, and nothing is sent", async () => {
    const site = lateWatch("Pod");
    const sent: string[] = [];
    site.refuse = ({ do: what }) => {
      sent.push(what);
      return undefined;
    };
    site.setTaints("pi", a);
    await site.run("5m30s");
    expect(sent).toEqual(["patch", "delete"]);
    expect(site.fetched).toHaveLength(2 * 6);
  });

  test("does not evict a pod that gets a toleration between the read and the deletion", async () => {
    const site = lateWatch("Pod");
    await site.run("10s");
    site.setTaints("pi", a);
    site.refuse = ({ do: what }) => {
      if (what === "patch") site.tolerate("web", forA());
      return undefined;
    };
    await site.run("5m");
    expect(deletions(site)).toEqual([]);
  });

  test("does not evict a pod that was created after the taint was removed", async () => {
    const site = siteWith([a], forA());
    site.delay("Node");
    await site.run("10s");
    site.setTaints("pi");
    site.pod("new", { on: "pi" });
    await site.run("5m");
    expect([deletions(site), site.fetched]).toEqual([[], ["nodes pi", "pods default/new"]]);
  });

  test.each([
    ["has been given more time", (site: SiteModel) => site.tolerate("web", forA(500)), "Pod"],
    ["is no longer tainted by then", (site: SiteModel) => site.setTaints("pi"), "Node"],
  ] as const)("does not evict a pod at the end of its time that %s", async (_name, change, kind) => {
    const site = siteWith([a], forA(100));
    await site.run("50s");
    site.delay(kind);
    change(site);
    await site.run("5m");
    expect([deletions(site), site.fetched]).toEqual([[], read]);
  });

  test("is read again before a deletion that failed is repeated", async () => {
    const site = siteWith([a]);
    site.refuse = ({ do: what }) => (what === "delete" ? "retry" : undefined);
    await site.run("500ms");
    site.delay("Pod");
    site.tolerate("web", forA());
    site.refuse = () => undefined;
    await site.run("5m");
    expect(deletions(site)).toEqual([]);
    expect(site.fetched.slice(-2)).toEqual(read);
    // The backoff goes on: half a second has room for a few attempts.
    expect(site.fetched.length).toBeLessThan(20);
  });
});

describe("a taint that the API server still shows although its store was restored to an earlier time", () => {
  /** The watches deliver nothing but bookmarks of the former history. */
  const outdated = async (taint: Taint, tolerated: Toleration): Promise<SiteModel> => {
    const site = siteWith([taint], tolerated);
    await site.run("50s");
    site.link = "half-open";
    site.wasRestored = true;
    return site;
  };
  const ofOurs: Taint = { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: "T1" };

  test.each([
    ["set by a person", a, forA(100)],
    ["of the lifecycle", ofOurs, toleration("not-ready", 100)],
  ])("does not evict a pod if it is one %s", async (_, taint, tolerated) => {
    const site = await outdated(taint, tolerated);
    site.setTaints("pi");
    await site.run("85s");
    expect(deletions(site)).toEqual([]);
  });

  test("evicts the pod in time if the restored store has it too", async () => {
    const site = await outdated(a, forA(100));
    await site.run("85s");
    expect(deletions(site)).toEqual([100]);
    expect(site.fetched).toEqual(expect.arrayContaining(["nodes pi", "pods default/web"]));
  });
});

test("a pass holds little of a large waiting pod, and does not miss any toleration that matters", async () => {
  const tolerations = [...Array.from({ length: 5000 }, (_, i) => toleration(`k${i}`)), forB(), forA(30), forA(60)];
  const { site } = countedSite([
    [nodes, [node("pi", { taints: [a, b] })]],
    [pods, [pod("web", { on: "pi", tolerations, generation: 3 })]],
  ]);
  const controller = taintEviction({
    settings: defaults,
    boot: "b",
    inherited: () => undefined,
    recordOf: () => "no judge",
  });
  const state = await controller.observe("default/web", site, undefined);
  expect(state).toMatchObject({ pod: { metadata: { generation: 3 }, spec: { tolerations: [forB(), forA(30)] } } });
  expect(JSON.stringify(state).length).toBeLessThan(3000);
});

test("a taint enqueues the pods of its board without reading them", () => {
  const tainted = node("pi", { taints: [a] });
  const { site, reads } = countedSite([
    [nodes, [tainted]],
    [pods, [pod("web", { on: "pi" }), pod("cron", { on: "pi" }), pod("other", { on: "pi-2" })]],
  ]);
  const controller = taintEviction({
    settings: defaults,
    boot: "b",
    inherited: () => undefined,
    recordOf: () => "no judge",
  });
  const change = { key: "pi", before: node("pi"), after: tainted };
  const keys = controller.mappings.filter(({ on }) => on === nodes).flatMap((wake) => [...wake.keys(change, site)]);
  expect([keys.sort(), reads.count]).toEqual([["default/cron", "default/web"], 0]);
});
