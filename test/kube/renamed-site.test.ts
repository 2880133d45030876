import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube-cluster.ts";
import { KubeSite } from "../support/kube-site.ts";
import { fillBoards } from "../support/load.ts";

if (missingAssets())
  console.log("renamed-site.test.ts is left out: it needs the servers that KUBEBUILDER_ASSETS names");

interface SiteLease {
  readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions?: number };
}

/** With the timing that boards have in earnest: who waits for a Lease that nobody holds waits for a minute. */
describe.skipIf(missingAssets())("a board whose configuration names another site", () => {
  const site = new KubeSite();
  let agent: AgentProcess;

  const lease = (name: string): Promise<SiteLease> =>
    site.cluster.request("GET", `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-${name}`);

  /** As `systemctl reload siteward` does. */
  function rename(from: string, to: string): void {
    const file = path.join(agent.dir, "siteward.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace(`name: ${from}\n`, `name: ${to}\n`));
    process.kill(agent.pid, "SIGHUP");
  }

  const leads = async (name: string, seconds: number): Promise<number> =>
    until(
      `it leads ${name}`,
      async () => agent.leads && (await lease(name)).spec.holderIdentity?.startsWith(agent.board) === true,
      seconds,
      () => agent.log().slice(-3000),
    );

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 1, pods: 0, seed: 1 });
    site.beat(0);
    agent = site.agent("pi-0", { site: { name: "plant7" } });
    await until("it leads", () => agent.leads, 30);
  });
  afterAll(() => site.stop());

  test("leads the new one at once, under terms of its own, and gives the old one back", async () => {
    const { pid } = agent;
    // So that the old site's count is not the new one's by chance.
    for (const round of [1, 2]) {
      await agent.stop();
      agent.start();
      await until(`it leads again, ${round}`, () => agent.leads, 30);
    }
    expect((await lease("plant7")).spec.leaseTransitions).toBeGreaterThan(1);
    expect(agent.pid).not.toBe(pid);
    const before = agent.pid;
    rename("plant7", "plant8");
    await until("the other Lease is there", () => lease("plant8").then(Boolean, () => false), 15);
    await leads("plant8", 10);
    expect(agent.pid).toBe(before);
    expect((await lease("plant8")).spec.leaseTransitions).toBe(0);
    expect((await lease("plant7")).spec.holderIdentity ?? "").toBe("");
  });

  test("leads the old one at once when it is named again, and counts on there", async () => {
    const { leaseTransitions: last = 0 } = (await lease("plant7")).spec;
    rename("plant8", "plant7");
    await leads("plant7", 15);
    expect((await lease("plant7")).spec.leaseTransitions).toBeGreaterThan(last);
    expect((await lease("plant8")).spec.holderIdentity ?? "").toBe("");
  });
});
