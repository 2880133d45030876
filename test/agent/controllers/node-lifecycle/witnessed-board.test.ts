import { describe, expect, test } from "vitest";
import type { KubeletState } from "../../../../agent/judgement/lan-answer.ts";
import type { Policy } from "../../../../agent/judgement/verdict.ts";
import { toleration } from "../../../support/builders.ts";
import { SiteModel } from "../site-model.ts";

const runs: KubeletState = { is: "ok" };
const fiveMinutes = [toleration("unreachable", 300), toleration("not-ready", 300)];
const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

/** Three boards; after a minute pi-1 loses its link to the API server. It may answer on the LAN. */
async function cutOff(answer: KubeletState | undefined, policy: Policy = "evidence"): Promise<SiteModel> {
  const site = new SiteModel({ policy, ownNode: "pi-3" });
  for (const name of ["pi-1", "pi-2", "pi-3", "pi-4", "pi-5"]) site.board(name);
  site.pod("web", { on: "pi-1", tolerations: fiveMinutes });
  await site.run("1m");
  site.silence("pi-1");
  if (answer) site.answer("pi-1", answer);
  return site;
}

describe("a board that lost its link to the API server and answers on the LAN", () => {
  test.each([runs, { is: "unknown" }] as const)(
    "that its kubelet is %o becomes Unknown and gets no new pods, and its own pods are not harmed",
    async (kubelet) => {
      const site = await cutOff(kubelet);
      await site.run("2h");
      expect(site.conditions("pi-1").Ready).toBe("Unknown");
      expect(site.taints("pi-1")).toEqual(["unreachable:NoSchedule"]);
      expect(site.exists("web")).toBe(true);
      expect(site.podReady("web")).toBe("True");
    },
  );

  test("and is restarted without the link is spared for the hold, then its pods move: its kubelet cannot start them", async () => {
    const site = await cutOff(runs);
    await site.run("5m");
    site.answer("pi-1", runs, { isRebooted: true });
    await site.run("10m");
    expect([site.noExecute("pi-1"), site.exists("web")]).toEqual([[], true]);
    await site.run("1m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    expect(site.memory.boards.get("pi-1")?.verdict.rule).toContain("to start pods");
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("and is restarted after an hour without the link is not spared: nothing has run on it since", async () => {
    const site = await cutOff(runs);
    await site.run("1h");
    expect(site.noExecute("pi-1")).toEqual([]);
    site.answer("pi-1", runs, { isRebooted: true });
    await site.run("10s");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
  });

  test("until it dies is judged by its silence 30 s later, and its pods get their whole time", async () => {
    const site = await cutOff(runs);
    await site.run("1h");
    site.answer("pi-1", undefined);
    await site.run("30s");
    expect(site.noExecute("pi-1")).toEqual([]);
    await site.run("15s");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    await site.run("280s");
    expect(site.exists("web")).toBe(true);
    await site.run("30s");
    expect(site.exists("web")).toBe(false);
  });

  test("that its kubelet is down is spared for the hold, then judged by its silence", async () => {
    const site = await cutOff(undefined);
    site.answer("pi-1", { is: "down", forMs: 0 });
    await site.run("5m");
    expect(site.noExecute("pi-1")).toEqual([]);
    expect(site.memory.boards.get("pi-1")?.verdict.verdict).toBe("unmanaged");
    await site.run("5m");
    site.answer("pi-1", { is: "down", forMs: 899_999 - 5000 });
    await site.run("1s");
    expect(site.noExecute("pi-1")).toEqual([]);
    await site.run("5m");
    site.answer("pi-1", { is: "down", forMs: 900_000 });
    await site.run("30s");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    await site.run("10m");
    expect(site.exists("web")).toBe(false);
  });

  test("that its kubelet has been down since before its last heartbeat is spared for the hold, as the kubelet sent that", async () => {
    const site = await cutOff(undefined);
    // A process without root's rights took the kubelet's health port an hour ago.
    site.answer("pi-1", { is: "down", forMs: 3_600_000 });
    await site.run("13m");
    expect(site.noExecute("pi-1")).toEqual([]);
    expect(site.memory.boards.get("pi-1")?.verdict.verdict).toBe("unmanaged");
    await site.run("3m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
  });

  test.each([
    ["its kubelet is down", { is: "down", forMs: 3_600_000 }, {}],
    ["it was restarted without the link", runs, { isRebooted: true }],
  ] as const)("that %s is spared no longer if the leader changes every four minutes", async (_, kubelet, more) => {
    const site = await cutOff(undefined);
    site.answer("pi-1", kubelet, more);
    for (let index = 0; index < 3; index++) {
      await site.run("4m");
      await site.lead({ budget: site.budget });
    }
    await site.run("2m");
    expect(site.noExecute("pi-1")).toEqual([]);
    await site.run("2m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    await site.run("6m");
    expect(site.exists("web")).toBe(false);
  });

  test("that its kubelet is down, and runs again before the leader changes, is spared for a whole hold later", async () => {
    const site = await cutOff(undefined);
    site.answer("pi-1", { is: "down", forMs: 3_600_000 });
    await site.run("10m");
    site.answer("pi-1", runs);
    await site.run("10s");
    await site.lead({ budget: site.budget });
    site.answer("pi-1", { is: "down", forMs: 3_600_000 });
    await site.run("14m");
    expect(site.noExecute("pi-1")).toEqual([]);
  });

  test("is treated the same after a new leader takes over in the middle", async () => {
    const site = await cutOff(runs);
    await site.run("10m");
    await site.lead({ budget: site.budget });
    await site.run("20m");
    expect(site.noExecute("pi-1")).toEqual([]);
    expect(site.exists("web")).toBe(true);
  });

  test("keeps a pod ready that arrives on it", async () => {
    const site = await cutOff(runs);
    await site.run("5m");
    site.pod("late", { on: "pi-1", tolerations: fiveMinutes });
    await site.run("10m");
    expect(site.podReady("late")).toBe("True");
    site.answer("pi-1", undefined);
    await site.run("1m");
    expect(site.podReady("late")).toBe("False");
  });

  test("only after it was tainted loses the taint, and a later taint gives its pods their whole time", async () => {
    const site = await cutOff(undefined);
    await site.run("3m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    site.answer("pi-1", runs);
    await site.run("10s");
    expect(site.taints("pi-1")).toEqual(["unreachable:NoSchedule"]);
    await site.run("1h");
    expect(site.exists("web")).toBe(true);
    site.answer("pi-1", undefined);
    await site.run("4m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web")).toBe(true);
    await site.run("4m");
    expect(site.exists("web")).toBe(false);
  });

  describe("and whose kubelet was restarting when the link broke", () => {
    /** Its pod could have stayed for a minute more, which is long over. */
    async function restarting(): Promise<SiteModel> {
      const site = new SiteModel({ policy: "evidence", ownNode: "pi-3" });
      for (const name of ["pi-1", "pi-2", "pi-3", "pi-4", "pi-5"]) site.board(name);
      site.pod("web", { on: "pi-1", tolerations: [toleration("not-ready", 60), toleration("unreachable", 60)] });
      await site.run("1m");
      site.report("pi-1", { Ready: "False" });
      await site.run("10s");
      expect(site.noExecute("pi-1")).toEqual(["not-ready:NoExecute"]);
      site.silence("pi-1");
      site.answer("pi-1", runs);
      await site.run("1h");
      expect([site.conditions("pi-1").Ready, site.exists("web")]).toEqual(["Unknown", true]);
      return site;
    }

    test("loses the taint of that report as well", async () => {
      const site = await restarting();
      expect(site.taints("pi-1")).toEqual(["unreachable:NoSchedule"]);
    });

    test("keeps its pods if it does not answer for a minute", async () => {
      const site = await restarting();
      site.answer("pi-1", undefined);
      await site.run("1m");
      site.answer("pi-1", runs);
      await site.run("10m");
      expect([site.noExecute("pi-1"), site.exists("web")]).toEqual([[], true]);
    });

    test("keeps its pods if its kubelet first reports once more that it is not ready", async () => {
      const site = await restarting();
      site.report("pi-1", { Ready: "False" });
      await site.run("10s");
      expect([site.noExecute("pi-1"), site.exists("web")]).toEqual([["not-ready:NoExecute"], true]);
      site.revive("pi-1");
      await site.run("10m");
      expect([site.noExecute("pi-1"), site.exists("web")]).toEqual([[], true]);
    });

    test("loses them once it has not answered for their toleration time", async () => {
      const site = await restarting();
      site.answer("pi-1", undefined);
      await site.run("3m");
      expect(site.exists("web")).toBe(false);
    });
  });

  test("is treated as silent under policy kubernetes", async () => {
    const site = await cutOff(runs, "kubernetes");
    await site.run("10m");
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web")).toBe(false);
  });
});

test("a board that does not answer is evicted just as before", async () => {
  const [silent, other] = [await cutOff(undefined), await cutOff(undefined)];
  other.answer("pi-2", runs);
  for (const site of [silent, other]) await site.run("10m");
  expect(other.happenings).toEqual(silent.happenings);
  expect(silent.exists("web")).toBe(false);
});

test("records show why an act is held back, and the rule by which it is done later", async () => {
  const site = await cutOff(runs);
  await site.run("16m");
  const [, held] = site.recorded.lines;
  expect(held?.fields).toMatchObject({ act: "board-tainted", why: "verdict" });
  expect(JSON.stringify(held?.fields)).toContain("it answers on the LAN, and its kubelet is running");
  site.answer("pi-1", { is: "down", forMs: 3_600_000 });
  await site.run("1m");
  expect(JSON.stringify(site.recorded.lines.at(-1)?.fields)).toContain("its kubelet has not run for");
});

test("the leader's own board loses the taint that an earlier leader gave it", async () => {
  const site = new SiteModel({ policy: "evidence", ownNode: "pi-1" });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  site.pod("web", { on: "pi-1", tolerations: fiveMinutes });
  await site.run("1m");
  site.silence("pi-1");
  await site.run("2m");
  site.setTaints("pi-1", unreachable);
  await site.run("10s");
  expect(site.noExecute("pi-1")).toEqual([]);
  expect(site.exists("web")).toBe(true);
});
