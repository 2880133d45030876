import { afterEach, expect, test } from "vitest";
import { nodes } from "../../agent/api/resources.ts";
import { realWall, type Setting } from "./simulation/schedule.ts";
import { Site } from "./simulation/site.ts";

/*
 * A kubelet restarts: it renews its Lease and reports its board as not ready. Then the uplink of the whole site fails, and
 * comes back when the toleration times have ended. If the kubelet was restarted once more in the outage, it first says again
 * that it is not ready. Real agents on virtual time.
 */

const second = 1000;
const board = "pi-3";
let site: Site | undefined;

afterEach(() => {
  site?.close();
  site = undefined;
});

async function begun(policy: Setting["policy"]): Promise<Site> {
  const boards = Array.from({ length: 4 }, (_, index) => ({
    name: `pi-${index + 1}`,
    number: index + 1,
    zone: "a",
    pace: 1,
    wall: realWall,
    latency: 3,
    pings: true,
  }));
  const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
  const rest = {
    followers: "expiry",
    evictionRate: 0.1,
    maxHarm: undefined,
    selects: false,
    pins: false,
    lan: "none",
  } as const;
  const setting: Setting = { policy, standby: "warm", ...rest, timing, boards };
  site = new Site({ setting, seed: 7, faults: [], calmAt: 0 }, { everything: false });
  const { time, keeper } = site;
  for (const one of site.boards) time.at(0, () => one.powerOn(realWall));
  keeper.start();
  await time.runUntil(180 * second);
  return site;
}

test.each([
  ["evidence", 25, "ready"],
  ["evidence", 90, "ready"],
  ["evidence", 25, "not ready"],
  ["evidence", 90, "not ready"],
  ["kubernetes", 25, "ready"],
  ["kubernetes", 90, "ready"],
  ["kubernetes", 25, "not ready"],
  ["kubernetes", 90, "not ready"],
] as const)(
  "policy %s: after an outage of %i s a board keeps its pods whose kubelet first reports %s, and is ready soon",
  async (policy, length, first) => {
    const { time, api, boards, leader } = await begun(policy);
    const run = (ms: number): Promise<void> => time.runUntil(time.now + ms);
    const restarting = boards.find(({ plate }) => plate.name === board);
    if (!restarting || !leader?.agent || leader === restarting) throw new Error("the story needs another leader");
    const podsOfBoard = (): readonly string[] =>
      api
        .all("pods/")
        .map((text) => JSON.parse(text))
        .filter(({ metadata, spec }) => spec.nodeName === board && /^(short|long)-/.test(metadata.name))
        .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.deletionTimestamp ?? "lives"}`);
    const before = podsOfBoard();
    expect(before).toHaveLength(2);
    const ready = restarting.kubeletEdge.impair(
      { is: "requests refused", method: "PATCH", path: "/api/v1/nodes/", status: 500 },
      "reset",
    );
    const saysNotReady = (): void => {
      const lastHeartbeatTime = new Date(time.now).toISOString();
      const conditions = [{ type: "Ready", status: "False", reason: "KubeletNotReady", lastHeartbeatTime }];
      void leader.agent?.agent.client.patch(
        nodes,
        { name: board, subresource: "status" },
        "strategic",
        { status: { conditions } },
        { signal: new AbortController().signal },
      );
    };
    saysNotReady();
    while (!/not-ready","[^}]*NoExecute/.test(api.stored(`nodes/${board}`) ?? "")) await run(100);
    const agents = boards.map(({ agentEdge }) => agentEdge.impair({ is: "refused" }, "reset"));
    const kubelets = boards.map(({ kubeletEdge }) => kubeletEdge.impair({ is: "refused" }, "reset"));
    await run(length * second);
    for (const mend of agents) mend();
    await run(10 * second);
    for (const mend of kubelets) mend();
    if (first === "not ready") {
      saysNotReady();
      await run(10 * second);
    }
    ready();
    await run(180 * second);
    expect(podsOfBoard()).toEqual(before);
    expect(JSON.parse(api.stored(`nodes/${board}`) ?? "{}").spec.taints ?? []).toEqual([]);
  },
);
