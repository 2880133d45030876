import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fillBoards } from "../support/load.ts";

if (missingAssets()) console.log("renamed-site.test.ts is skipped: it needs the servers that KUBEBUILDER_ASSETS names");

interface SiteLease {
  readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions?: number };
}

/** With the shipped timing: a wait for an expired Lease takes a minute. */
describe.skipIf(missingAssets())("a board whose configuration names another site", () => {
  const site = new KubeSite();
  let agent: AgentProcess;

  const lease = (name: string): Promise<SiteLease> =>
    site.cluster.request("GET", `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-${name}`);

  /** Acts like `systemctl reload siteward`. */
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

  test("leads the new site immediately, with its own count of terms, and releases the old site's Lease", async () => {
    const { pid } = agent;
    // So that the counts of the two sites differ.
    for (const round of [1, 2]) {
      await agent.stop();
      agent.start();
      await until(`it leads again, ${round}`, () => agent.leads, 30);
    }
    expect((await lease("plant7")).spec.leaseTransitions).toBeGreaterThan(1);
    expect(agent.pid).not.toBe(pid);
    const before = agent.pid;
    rename("plant7", "plant8");
    await until("the other Lease exists", () => lease("plant8").then(Boolean, () => false), 15);
    await leads("plant8", 10);
    expect(agent.pid).toBe(before);
    expect((await lease("plant8")).spec.leaseTransitions).toBe(0);
    expect((await lease("plant7")).spec.holderIdentity ?? "").toBe("");
  });

  test("leads the old site immediately when it is named again, and continues its count of terms", async () => {
    const { leaseTransitions: last = 0 } = (await lease("plant7")).spec;
    rename("plant8", "plant7");
    await leads("plant7", 15);
    expect((await lease("plant7")).spec.leaseTransitions).toBeGreaterThan(last);
    expect((await lease("plant8")).spec.holderIdentity ?? "").toBe("");
  });
});
