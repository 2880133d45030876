import { cpSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";

const root = path.resolve(import.meta.dirname, "../..");
const timing = { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" };

describe.skipIf(missingAssets())("when an upgrade removes the files of a running program", () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 2, pods: 2, seed: 1 });
    site.beat(0, 1);
  });
  afterAll(() => site.stop());

  /** A separate copy of the program, like the one in /usr/lib that an upgrade replaces. */
  function installed(): string {
    const folder = path.join(site.cluster.dir, "installed");
    for (const name of ["dist", "firmware-profiles", "package.json"]) {
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    }
    symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    return path.join(folder, "dist");
  }

  test("a follower that wins the Lease then exits with the reason in its log; after a restart it leads", async () => {
    const first = site.agent("pi-1", { leader: timing });
    await until("the first leads", () => first.isReady, 30);
    const dist = installed();
    const agent = new AgentProcess({
      dir: site.cluster.dir,
      board: "pi-2",
      kubeconfig: site.cluster.kubeconfig,
      config: { leader: timing },
      program: [process.execPath, path.join(dist, "main.js")],
    });
    site.agents.push(agent);
    agent.start();
    await until("the second follows", () => agent.status()?.leader?.role === "standby", 30);
    const taken = readdirSync(dist).filter((file) => file.startsWith("control-loops"));
    expect(taken).toHaveLength(1);
    for (const file of taken) rmSync(path.join(dist, file));
    await first.stop();
    await until("the second has ended", () => agent.exitCode !== null, 30);
    expect(agent.exitCode).toBe(1);
    expect(agent.log()).toContain("the program has been replaced or damaged since it started");
    expect(agent.log()).toContain("Restart the service");
    // No term was begun, and the Lease is free.
    expect((await site.lease()).spec.holderIdentity).toBe("");
    cpSync(path.join(root, "dist"), dist, { recursive: true });
    agent.start();
    await until("it leads", () => agent.isReady, 30);
  });
});
