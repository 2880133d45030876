import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority, hasOpenssl } from "../../agent/client/certificates.ts";
import { until } from "../../support/agent-process.ts";
import { boardsOnly } from "../../support/boards-only.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { KubeSite } from "../../support/kube/kube-site.ts";
import { LateLink } from "../../support/links/late-link.ts";
import { boardName, fill } from "../../support/load.ts";

const [first, second, lost] = [0, 1, 2];
const pods = "/api/v1/namespaces/default/pods";
const strategic = "application/strategic-merge-patch+json";
const policies = ["evidence", "kubernetes"] as const;
const configOf = (policy: (typeof policies)[number]) => ({
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  link: { blip: "2s", watchStall: "10s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "5s", evictionRate: 10 },
  judgement: { policy },
  controllers: boardsOnly,
});
/** The least delay of a deletion in seconds. This story was written after an attack with 60. */
const late = Number(process.env.LATE_SECONDS ?? 1);

const isSkipped = missingAssets() || !hasOpenssl();

describe.skipIf(isSkipped).each(policies)("under policy %s a deletion that is sent while a board is lost", (policy) => {
  const config = configOf(policy);
  const site = new KubeSite();
  const authority = new Authority();
  let link: LateLink;

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 3, seed: 1 });
    site.beat(first, second, lost);
    const ca = readFileSync(path.join(site.cluster.dir, "certs/apiserver.crt"), "utf8");
    link = new LateLink({ target: site.cluster.server, ca, pair: authority.issue("late link") });
    const kubeconfig = path.join(site.cluster.dir, "late.kubeconfig");
    site.cluster.writeKubeconfig(kubeconfig, await link.listen(), authority.ca);
    site.agent(boardName(first), config, kubeconfig);
    await until(
      "the first board leads",
      () => site.leader?.isReady === true,
      30,
      () => site.agents[0]?.log().slice(-3000) ?? "",
    );
    site.agent(boardName(second), config);
  });
  afterAll(async () => {
    await site.stop();
    await link?.close();
    authority.remove();
  });

  test("that arrives after the return of the board does not delete the pod that runs there again", async () => {
    const { cluster } = site;
    await cluster.request("POST", pods, victim(boardName(lost)));
    await cluster.request("PATCH", `${pods}/victim/status`, { status: running() }, strategic);
    const held = link.hold(({ method, path: url }) => method === "DELETE" && url.includes("/pods/victim"));
    site.silence(lost);
    const deletion = await held;
    const heldAt = performance.now();
    link.cut();

    site.beat(lost);
    await cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(lost)}/status`,
      { status: { conditions: [ready()] } },
      strategic,
    );
    await cluster.request("PATCH", `${pods}/victim/status`, { status: running() }, strategic);
    const other = site.agents[1];
    await until(
      "the second board leads",
      () => other?.leads === true,
      40,
      () => other?.log().slice(-2000) ?? "",
    );
    await until("the board bears no taint", async () => (await site.taints(lost)).length === 0, 20);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, late * 1000 - (performance.now() - heldAt))));

    const answer = await deletion.deliver();
    const seconds = Math.round((performance.now() - heldAt) / 1000);
    process.stdout.write(`policy ${policy}, late by ${seconds} s: DELETE victim ${deletion.body}: ${answer.status}\n`);
    expect(answer.status).toBe(409);
    expect(await site.podNames()).toContain("victim");
  });

  test("succeeds although the pod is written twenty times a second, and although a finalizer delays it", async () => {
    const { cluster } = site;
    const leader = site.agents[1];
    if (!leader) throw new Error("there is no leader");
    const names = ["busy", "kept", "leaving"];
    for (const name of names) {
      const pod = victim(boardName(lost));
      const finalizers = name === "kept" ? { finalizers: ["example.dev/keep"] } : {};
      const grace = name === "leaving" ? 600 : 0;
      const spec = { ...pod.spec, terminationGracePeriodSeconds: grace };
      await cluster.request("POST", pods, { ...pod, metadata: { ...pod.metadata, name, ...finalizers }, spec });
      await cluster.request("PATCH", `${pods}/${name}/status`, { status: running() }, strategic);
    }
    await cluster.request("DELETE", `${pods}/leaving`);
    let writes = 0;
    const storm = setInterval(() => {
      const status = { message: `write ${++writes}` };
      cluster.request("PATCH", `${pods}/busy/status`, { status }, strategic).catch(() => undefined);
    }, 50);
    site.silence(lost);
    try {
      const log = (): string => leader.log().slice(-3000);
      await until("it is tainted", async () => (await site.taints(lost)).includes("unreachable:NoExecute"), 30, log);
      const waited = await until("busy goes", async () => !(await site.podNames()).includes("busy"), 40, log);
      await until("kept is on its way", async () => !(await site.podNames()).includes("kept"), 20, log);
      const refused = site
        .writesOf(leader)
        .filter(({ objectRef, responseStatus }) => objectRef?.name === "busy" && responseStatus?.code === 409);
      process.stdout.write(
        `busy: ${waited.toFixed(1)} s behind the taint, of which 2 tolerated; ${refused.length} conflicts\n`,
      );
    } finally {
      clearInterval(storm);
      await cluster.request(
        "PATCH",
        `${pods}/kept`,
        { metadata: { finalizers: null } },
        "application/merge-patch+json",
      );
    }
    const sent = site
      .writesOf(leader)
      .filter(({ verb, objectRef }) => verb === "delete" && objectRef?.name === "leaving");
    expect(sent).toEqual([]);
  });
});

const ready = () => ({ type: "Ready", status: "True", lastTransitionTime: now(), lastHeartbeatTime: now() });
const running = () => ({
  phase: "Running",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: now() }],
});
const now = () => new Date().toISOString().replace(/\.\d+Z/, "Z");

const victim = (nodeName: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "victim",
    namespace: "default",
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "uid-web", controller: true }],
  },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: "example/app:1" }],
    tolerations: ["unreachable", "not-ready"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 2,
    })),
  },
});
