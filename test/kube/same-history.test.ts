import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority } from "../agent/client/certificates.ts";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { LaggingFront } from "../support/kube/lagging-front.ts";
import { fill, touch } from "../support/load.ts";
import { differences } from "../support/mirrored.ts";
import { rest } from "../support/rest.ts";

const config = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
  link: { blip: "2s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "60s" },
};
const lag = 30_000;

describe.skipIf(missingAssets())("a server that was not restored is not mistaken for a restored one", () => {
  const site = new KubeSite();
  const { cluster } = site;
  const authority = new Authority();
  let front: LaggingFront;
  let churn: NodeJS.Timeout;

  beforeAll(async () => {
    await site.start();
    await fill(cluster, { nodes: 3, pods: 6, seed: 1 });
    site.beat(0, 1, 2);
    front = new LaggingFront(cluster.server, authority.issue("front"), { lag, revision: () => cluster.revision() });
    const through = path.join(cluster.dir, "through-front");
    writeFileSync(through, cluster.kubeconfigFor(await front.listen(), undefined, authority.ca), { mode: 0o600 });
    site.agent("pi-1", config);
    await until("the agent leads", () => site.leader?.isReady === true, 60);
    let round = 0;
    churn = setInterval(() => void touch(cluster, round++ % 5, `${round}`).catch(() => undefined), 500);
  });
  afterAll(async () => {
    clearInterval(churn);
    await front.close();
    authority.remove();
    await site.stop();
  });

  const lists = (agent: AgentProcess): number =>
    site.requestsOf(agent).filter(({ verb, objectRef }) => verb === "list" && objectRef?.resource === "pods").length;
  const isSaid = (agent: AgentProcess): boolean => agent.log().includes("the API server was restored");
  const only = (): AgentProcess => {
    const [agent] = site.agents;
    if (!agent) throw new Error("no agent");
    return agent;
  };

  test("after a start with an empty watch cache it is listed at most once", async () => {
    const before = lists(only());
    await cluster.killApi();
    await cluster.startApi();
    await until("the agent's caches are current again", () => only().isReady, 60);
    await rest(3);
    expect(isSaid(only())).toBe(false);
    expect(lists(only()) - before).toBeLessThanOrEqual(1);
  });

  test("after a move of its etcd to a higher revision with a compacted history it is listed once", async () => {
    const before = lists(only());
    await cluster.move(1000);
    await until("the agent's caches are current again", () => only().isReady, 60);
    await rest(3);
    expect(isSaid(only())).toBe(false);
    expect(lists(only()) - before).toBe(1);
    clearInterval(churn);
    site.silence(0, 1, 2);
    await rest(2);
    await only().stop();
    expect(await differences(cluster, path.join(only().dir, "state/cache.db"))).toEqual([]);
    site.beat(0, 1, 2);
  });

  test("if a second server behind the same address lags by half a minute, nothing is listed again", async () => {
    let round = 0;
    churn = setInterval(() => void touch(cluster, round++ % 5, `${round}`).catch(() => undefined), 500);
    const agent = site.agent("pi-2", config, path.join(cluster.dir, "through-front"));
    await until("the agent leads", () => agent.isReady, 90);
    await rest(3);
    const before = lists(agent);
    front.reset();
    await until("the lagging server has the watches", () => front.laggingWatches > 0, 30);
    await rest(40);
    front.reset();
    await rest(5);
    expect(isSaid(agent)).toBe(false);
    expect(lists(agent)).toBe(before);
    expect(front.laggingWatches).toBeGreaterThan(2);
    await until("the agent's caches are current", () => agent.isReady, 60);
  });
});
