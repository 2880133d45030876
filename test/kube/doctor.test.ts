import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets, type PolicyRule } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";
import { applyRbac } from "../support/rbac.ts";
import { siteward } from "../support/siteward-command.ts";

interface Finding {
  readonly id: string;
  readonly level: string;
  readonly message: string;
  readonly hint?: string;
}

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  status: { minInterval: "200ms", every: "1s" },
};

describe.skipIf(missingAssets())("siteward doctor with a real API server", () => {
  const site = new KubeSite();
  let kubeconfig = "";
  let file = "";

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 2, pods: 2, seed: 1 });
    site.beat(0, 1);
    kubeconfig = path.join(site.cluster.dir, "kubeconfig-of-the-agent");
    writeFileSync(kubeconfig, site.cluster.kubeconfigFor(site.cluster.server, { token: site.cluster.agentToken }), {
      mode: 0o600,
    });
  });
  beforeEach(() => configured({}));
  afterAll(() => site.stop());

  /** A board whose agent is not running yet, with all its files below the cluster's folder. */
  function configured(changes: Readonly<Record<string, object>>): void {
    const folder = path.join(site.cluster.dir, "board");
    mkdirSync(folder, { recursive: true });
    file = path.join(folder, "siteward.yaml");
    const settings = {
      apiVersion: "siteward.dev/v1",
      kind: "AgentConfiguration",
      board: { name: "pi-9" },
      api: { kubeconfig },
      state: { folder: path.join(folder, "state") },
      run: { folder: path.join(folder, "run") },
      leader: config.leader,
      ...changes,
    };
    writeFileSync(file, JSON.stringify(settings));
  }

  async function findings(only: string, from = file): Promise<ReadonlyMap<string, Finding>> {
    const { stdout, stderr } = await siteward(["doctor", "--json", "--only", only, "--config", from]);
    expect(stderr).toBe("");
    const found = (JSON.parse(stdout) as { findings: readonly Finding[] }).findings;
    return new Map(found.map((one) => [one.id, one]));
  }

  const grant = async (rules: readonly PolicyRule[]): Promise<void> => {
    await site.cluster.grant(rules);
    await new Promise((resolve) => setTimeout(resolve, 500));
  };

  test("without any role all missing verbs are listed, with the way to grant them", async () => {
    await grant([]);
    const { level, message, hint } = (await findings("api")).get("api.rbac") ?? {};
    expect(level).toBe("fail");
    expect(message).toMatch(/^\d+ of \d+ permissions are missing: get nodes, list nodes, watch nodes, patch nodes, …$/);
    expect(hint).toContain("delete pods");
    expect(hint).toContain("patch leases.coordination.k8s.io in kube-system");
  });

  test("with systemd/rbac.yaml no verb is missing, and the server's version is shown", async () => {
    await grant([]);
    await applyRbac(site.cluster);
    await until("granted", async () => (await findings("api.rbac")).get("api.rbac")?.level === "ok", 15);
    expect((await findings("api")).get("api.tls")).toMatchObject({
      level: "ok",
      message: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+: Kubernetes v1\.\d+/),
    });
    expect((await findings("clock.skew")).get("clock.skew")).toMatchObject({ level: "ok" });
    expect((await findings("version")).get("version.skew")).toMatchObject({ level: "ok" });
  });

  test("a site without a leader is reported, and the leader of a site is named", async () => {
    expect((await findings("lease")).get("lease.conflict")).toMatchObject({
      level: "warn",
      message: "no board holds the site's Lease",
    });
    const agent = site.agent("pi-1", config);
    await until("it leads", () => agent.isReady, 30);
    expect((await findings("lease")).get("lease.conflict")).toMatchObject({
      level: "ok",
      message: expect.stringMatching(/^pi-1 leads, term \d+$/),
    });
    await stopped(agent);
  });

  test("two processes that take the Lease from each other are detected", async () => {
    const at = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
    let turn = 0;
    const fight = setInterval(() => {
      const spec = { holderIdentity: turn++ % 2 === 0 ? "pi-1_a" : "pi-1_b", leaseTransitions: turn };
      site.cluster.request("PATCH", at, { spec }, "application/merge-patch+json").catch(() => undefined);
    }, 250);
    try {
      const { level, message, hint } = (await findings("lease")).get("lease.conflict") ?? {};
      expect(level).toBe("fail");
      expect(message).toMatch(/taking the site's Lease from each other/);
      expect(hint).toContain("copy of this board's card");
    } finally {
      clearInterval(fight);
    }
  });

  test("next to a running agent all checks pass and the exit code is 0", async () => {
    const agent = site.agent("pi-2", config);
    await until("it leads", () => agent.isReady, 30);
    const own = path.join(agent.dir, "siteward.yaml");
    const all = await siteward(["doctor", "--config", own]);
    expect(all.stdout).not.toContain("[FAIL]");
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(/^\[ok\] +journal\.integrity +\S+state\.db is in use by the agent.*cache\.db is sound/m);
    expect(all.stdout).toMatch(/^\[skip\] mqtt\.tls +no fleet is configured \(mqtt\.url\)$/m);
    expect(all.stdout.trim().split("\n").at(-1)).toMatch(/^\d+ checks: /);
    const lines = all.stdout
      .trim()
      .split("\n")
      .slice(0, -1)
      .filter((line) => !line.startsWith("   "));
    expect(lines.filter((line) => !/^\[(ok|info|warn|FAIL|skip)\] +[a-z]+\.[a-z]+/.test(line))).toEqual([]);
    const offline = await siteward(["doctor", "--offline", "--only", "api,storage.space", "--config", own]);
    expect(offline.stdout).toMatch(/^\[skip\] api\.tls +--offline$/m);
    expect((await siteward(["doctor", "--only", "board.sun", "--config", own])).code).toBe(64);
    await stopped(agent);
  });

  test("a warning counts as a failure only with --warnings-as-errors", async () => {
    const only = ["--only", "lease.conflict", "--config", file];
    await site.cluster.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default");
    expect((await siteward(["doctor", ...only])).code).toBe(0);
    expect((await siteward(["doctor", ...only, "--warnings-as-errors"])).code).toBe(1);
  });

  test("an unreadable configuration is reported with file and line, and the other checks are skipped", async () => {
    configured({ leader: { durration: "6s" } });
    const { code, stdout } = await siteward(["doctor", "--config", file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^\[FAIL\] +config\.parse +\S+siteward\.yaml:1: leader\.durration/m);
    expect(stdout).toMatch(/^\[skip\] api\.tls +the configuration cannot be read$/m);
  });

  test("a token of another cluster is identified", async () => {
    const other = path.join(site.cluster.dir, "kubeconfig-stale");
    writeFileSync(other, site.cluster.kubeconfigFor(site.cluster.server, { token: "stale" }), { mode: 0o600 });
    configured({ api: { kubeconfig: other } });
    expect((await findings("api")).get("api.tls")).toMatchObject({
      level: "fail",
      message: expect.stringContaining("does not accept this board's credentials"),
    });
  });

  const stopped = async (agent: AgentProcess): Promise<void> => {
    await agent.stop();
    site.agents.splice(site.agents.indexOf(agent), 1);
  };
});
