import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DecisionRecord } from "../../agent/decisions/decision-record.ts";
import type { ComparedAct } from "../../agent/decisions/shadow-report.ts";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { ControllerManager } from "../support/kube/controller-manager.ts";
import { type Audited, missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards, report } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { siteward } from "../support/siteward-command.ts";

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "6s", startupGracePeriod: "6s", evictionRate: 5 },
  controllers: {
    ...boardsOnly,
    nodeLifecycle: { mode: "shadow" },
    taintEviction: { mode: "shadow" },
    podGC: { mode: "shadow" },
  },
};

/** It judges later than the agent, so that what the agent would have done can be seen before it is done. */
const slow = {
  "node-monitor-grace-period": "25s",
  "node-monitor-period": "1s",
  "node-startup-grace-period": "25s",
  "node-eviction-rate": "5",
};

/** What docs/operator.md grants an agent whose controllers are all in shadow mode. */
const rules = [
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch", "create", "patch"] },
];

const pods = "/api/v1/namespaces/default/pods";
/** Whatever replaces the pods elsewhere: what an eviction gains. */
const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "web", controller: true };
/** The board that dies; the agent runs on another one. */
const dead = 1;

interface PodObject {
  readonly metadata: { readonly deletionTimestamp?: string; readonly managedFields?: readonly { manager: string }[] };
}

/** A running pod on the board that dies, which leaves a silent board after a second. */
async function runningPod(cluster: KubeSite["cluster"], name: string, controller: object): Promise<void> {
  const tolerations = ["unreachable", "not-ready"].map((word) => ({
    key: `node.kubernetes.io/${word}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 1,
  }));
  await cluster.request("POST", pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ownerReferences: [controller] },
    spec: { nodeName: boardName(dead), containers: [{ name: "main", image: "web" }], tolerations },
  });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  await cluster.request("PATCH", `${pods}/${name}/status`, { status }, "application/merge-patch+json");
}

describe.skipIf(missingAssets())("an agent in shadow mode beside a real kube-controller-manager", () => {
  const site = new KubeSite();
  const { cluster } = site;
  const manager = new ControllerManager(cluster);
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fillBoards(cluster, { nodes: 3, pods: 0, seed: 1 });
    for (const name of ["web-1", "web-2"]) await runningPod(cluster, name, owner);
    site.beat(0, 1, 2);
    await cluster.grant(rules);
    const kubeconfig = path.join(cluster.dir, "agent.kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(cluster.server, { token: cluster.agentToken }), { mode: 0o600 });
    agent = site.agent(boardName(0), config, kubeconfig);
    await until(
      "it leads",
      () => agent.isReady,
      60,
      () => agent.log().slice(-1500),
    );
    await manager.start("node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller", slow);
  });
  afterAll(async () => {
    await manager.stop();
    await site.stop();
  });

  const podOf = (name: string): Promise<PodObject> => cluster.request("GET", `${pods}/${name}`);
  const ask = (...words: readonly string[]) => siteward([...words, "--config", `${agent.dir}/siteward.yaml`]);

  async function records(about: string): Promise<readonly DecisionRecord[]> {
    const { stdout } = await ask("why", about, "--json");
    return stdout === "" ? [] : (JSON.parse(stdout) as { records: readonly DecisionRecord[] }).records;
  }

  const wouldHaveBeen = async (about: string): Promise<readonly string[]> =>
    (await records(about))
      .filter(({ shadow, because }) => shadow && because.kind !== "seen")
      .map(({ act, state }) => `${act} ${state}`);

  test("says what it would do with a dead board and its pods, and does none of it", async () => {
    site.silence(dead);
    await until(
      "it would evict",
      async () => (await wouldHaveBeen("pod/default/web-1")).includes("pod-evicted done"),
      60,
      () => agent.log().slice(-2500),
    );
    expect(await site.ready(dead)).toBe("True");
    expect(await site.taints(dead)).toEqual([]);
    expect((await podOf("web-1")).metadata.deletionTimestamp).toBeUndefined();

    const why = (await ask("why", "pod/default/web-1")).stdout.replace(/\s+/g, " ");
    expect(why).toMatch(
      /^pod\/default\/web-1 would have been evicted from board-0001 at .* by board-0000 \(term \d+, in shadow mode: nothing was written\), because board-0001 has the taint node.kubernetes.io\/unreachable, which the pod tolerates for 1s/,
    );
    expect(why).toContain("node/board-0001 (shadow) would have been tainted NoExecute");
  });

  test("kube-controller-manager does it later, and then the agent sees the real state and decides nothing again", async () => {
    await until("it is tainted", async () => (await site.taints(dead)).includes("unreachable:NoExecute"), 90);
    const isGone = async (name: string) => (await podOf(name)).metadata.deletionTimestamp !== undefined;
    await until("its pods are deleted", async () => (await isGone("web-1")) && (await isGone("web-2")), 60);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect(await wouldHaveBeen(`node/${boardName(dead)}`)).toEqual(
      expect.arrayContaining(["board-marked done", "board-tainted done", "pod-evicted done"]),
    );
    const all = (await wouldHaveBeen(`node/${boardName(dead)}`)).toSorted();
    expect(all).toEqual(["board-marked done", "board-tainted done", "pod-evicted done", "pod-evicted done"]);
  });

  test("the report sets what it would have done beside what was done", async () => {
    const { stdout } = await ask("shadow", "report", "--json");
    const { acts } = JSON.parse(stdout) as { acts: readonly ComparedAct[] };
    expect(acts.map(({ comparison, act, object }) => `${comparison} ${act} ${object}`).toSorted()).toEqual([
      "both board-marked node/board-0001",
      "both board-tainted node/board-0001",
      "both pod-evicted pod/default/web-1",
      "both pod-evicted pod/default/web-2",
    ]);
    for (const { laterMs = 0 } of acts) expect(laterMs).toBeGreaterThan(5000);
    expect((await ask("shadow", "report")).stdout).toMatch(/^4 acts in the last 24h, 0 differences/);
  });

  test("an exported record is decided again, with the same result", async () => {
    const file = path.join(cluster.dir, "case.json");
    expect((await ask("why", "pod/default/web-1", "--export", file)).code).toBe(0);
    const { code, stdout } = await siteward(["replay", file]);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ruling: "act" }]);
  });

  test("after the board returned, its next death is decided anew", async () => {
    site.beat(dead);
    await report(cluster, dead);
    await until("it is clean", async () => (await site.taints(dead)).length === 0, 60);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    site.silence(dead);
    const marks = async () =>
      (await wouldHaveBeen(`node/${boardName(dead)}`)).filter((one) => one === "board-tainted done");
    await until("it would be tainted again", async () => (await marks()).length === 2, 60);
    expect(await site.taints(dead)).toEqual([]);
  });

  test("the status, the doctor and the commands say that nothing is done here", async () => {
    const status = agent.status();
    expect(status?.health.conditions).toContainEqual(
      expect.objectContaining({ type: "ControllerShadowed", severity: "info" }),
    );
    expect(status?.health.conditions.filter(({ severity }) => severity === "critical")).toEqual([]);
    const shown = (await siteward(["status", "--file", agent.statusFile])).stdout;
    for (const name of ["node-lifecycle", "node-taints", "taint-eviction", "pod-gc"])
      expect(shown).toMatch(new RegExp(`${name} +shadow`));
    expect(shown).toContain("0 boards tainted");

    const judge = await ask("doctor", "--only", "node.judge");
    expect(judge.stdout).toMatch(/^\[ok\] +node\.judge +in shadow mode this agent writes nothing/im);
    const rbac = await ask("doctor", "--only", "api.rbac");
    expect(rbac.stdout).not.toMatch(/FAIL/);

    const socket = path.join(agent.dir, "run/ctl.sock");
    const confirm = ["cmd", "board.confirm-dead", `{"board":"${boardName(dead)}"}`, "--reason", "test"];
    const refused = await siteward([...confirm, "--socket", socket]);
    expect(refused.stderr).toContain("controllers.nodeLifecycle.mode, controllers.podGC.mode are shadow");
    expect(refused.stderr).toContain("kubectl taint nodes");
    expect(refused.code).not.toBe(0);
  });

  test("what was done while it did not run was done then or earlier, and has no verdict", async () => {
    await agent.stop();
    await until("it is tainted", async () => (await site.taints(dead)).includes("unreachable:NoExecute"), 60);
    agent.start();
    const late = async () =>
      (await records(`node/${boardName(dead)}`)).filter(({ because }) => because.kind === "seen" && because.late);
    await until("it is seen", async () => (await late()).some(({ act }) => act === "board-tainted"), 60);
    for (const { because } of await late()) expect(because).toEqual({ kind: "seen", late: true });
    expect((await ask("shadow", "report")).stdout.replace(/\s+/g, " ")).toMatch(
      /node\/board-0001 tainted NoExecute: .*really done [0-9:]+ or earlier/,
    );
  });

  test("no request of the agent changed anything but its Lease, its report on its own Node and its own Events", async () => {
    const isOwn = ({ objectRef }: Audited): boolean =>
      (objectRef?.resource === "leases" && objectRef.name === "siteward-default") ||
      (objectRef?.resource === "nodes" && objectRef.name === boardName(0)) ||
      (objectRef?.resource === "events" && objectRef.namespace === "kube-system");
    const reads = ["get", "list", "watch"];
    const writes = cluster
      .audit()
      .filter(({ user, verb }) => user.username === "agent" && !reads.includes(verb))
      .filter(({ objectRef }) => objectRef?.apiGroup !== "authorization.k8s.io");
    expect(writes.length).toBeGreaterThan(10);
    expect(writes.filter((one) => !isOwn(one)).map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);

    const { items } = await cluster.request<{ items: readonly { involvedObject: { kind: string }; source: object }[] }>(
      "GET",
      "/api/v1/events",
    );
    const said = items.filter(({ source }) => JSON.stringify(source).includes("siteward"));
    expect(said.filter(({ involvedObject }) => involvedObject.kind !== "Lease")).toEqual([]);
    expect(Object.keys((await site.lease()).metadata.annotations ?? {})).not.toContain("siteward.dev/budget");
    for (const name of ["web-1", "web-2"]) {
      const managers = (await podOf(name)).metadata.managedFields?.map((one) => one.manager) ?? [];
      expect(managers).not.toContain("siteward");
    }
  });
});

describe.skipIf(missingAssets())("an agent that acts by policy evidence, and compares policy kubernetes", () => {
  const site = new KubeSite();
  const { cluster } = site;
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fillBoards(cluster, { nodes: 3, pods: 0, seed: 1 });
    await runningPod(cluster, "web-1", owner);
    await runningPod(cluster, "db-0", { ...owner, kind: "StatefulSet", name: "db", uid: "db" });
    site.beat(0, 1, 2);
    const controllers = { ...boardsOnly };
    agent = site.agent(boardName(0), { ...config, controllers, judgement: { compare: "kubernetes" } });
    await until("it leads", () => agent.isReady, 60);
  });
  afterAll(() => site.stop());

  const ask = (...words: readonly string[]) => siteward([...words, "--config", `${agent.dir}/siteward.yaml`]);
  const compared = async (): Promise<readonly ComparedAct[]> =>
    (JSON.parse((await ask("shadow", "report", "--json")).stdout) as { acts: readonly ComparedAct[] }).acts;
  const shortOf = ({ comparison, act, object }: ComparedAct): string => `${comparison} ${act} ${object}`;

  test("does what both policies ask for, and reports the eviction that only policy kubernetes would have done", async () => {
    site.silence(dead);
    const isEvicted = async () => (await compared()).some(({ object }) => object === "pod/default/web-1");
    const isHeld = async () => (await compared()).some(({ object }) => object === "pod/default/db-0");
    await until("both pods are compared", async () => (await isEvicted()) && (await isHeld()), 60);
    await rest(7);
    const found = await compared();
    expect(found.map(shortOf).toSorted()).toEqual([
      `both board-marked node/${boardName(dead)}`,
      `both board-tainted node/${boardName(dead)}`,
      "both pod-evicted pod/default/web-1",
      "never done pod-evicted pod/default/db-0",
    ]);
    const db = found.find(({ object }) => object === "pod/default/db-0");
    expect(db).toMatchObject({ policy: "kubernetes", heldBecause: expect.stringContaining("StatefulSet") });
    const { metadata } = await cluster.request<PodObject>("GET", `${pods}/db-0`);
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect(await site.taints(dead)).toContain("unreachable:NoExecute");

    const { stdout } = await ask("shadow", "report");
    expect(stdout).toMatch(
      /Policy kubernetes would have done it, and it was not done:\n {2}pod\/default\/db-0 evicted/,
    );
    const why = (await ask("why", "pod/default/db-0")).stdout;
    expect(why).toContain("held back");
    expect(why).not.toContain("would have been");
  });
});
