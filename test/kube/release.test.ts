import { spawn } from "node:child_process";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { siteward } from "../support/siteward-command.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "5s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
};
const merge = "application/merge-patch+json";

interface Board {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status: { readonly conditions: readonly { readonly type: string }[] };
}

describe.skipIf(missingAssets())("siteward release", () => {
  const site = new KubeSite();
  let agent: AgentProcess;
  let own: readonly string[] = [];

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 6, pods: 6, seed: 1 });
    site.beat(0, 1, 2, 3);
    agent = site.agent("pi-1", config);
    own = ["--config", path.join(agent.dir, "siteward.yaml")];
    await until("it leads", () => agent.isReady, 30);
    await until("boards are tainted", async () => (await site.taints(4)).includes("unreachable:NoExecute"), 30);
    await until("both of them", async () => (await site.taints(5)).includes("unreachable:NoExecute"), 30);
    await patch(0, { metadata: { annotations: { "siteward.dev/standby": "ready", "team.example/owner": "plant" } } });
    await patch(1, { spec: { taints: [{ key: "maintenance", value: "disk", effect: "NoSchedule" }] } });
    const condition = { type: "PowerUndervoltage", status: "True", reason: "x", message: "x" };
    await site.cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(0)}/status`,
      { status: { conditions: [condition] } },
      "application/strategic-merge-patch+json",
    );
  });
  afterAll(() => site.stop());

  const patch = (i: number, body: object): Promise<unknown> =>
    site.cluster.request("PATCH", `/api/v1/nodes/${boardName(i)}`, body, merge);
  const boards = (): Promise<readonly Board[]> =>
    Promise.all([0, 1, 2, 3, 4, 5].map((i) => site.cluster.request<Board>("GET", `/api/v1/nodes/${boardName(i)}`)));
  const versions = async (): Promise<readonly string[]> =>
    (await boards()).map(({ metadata }) => metadata.resourceVersion);

  /** The traces of siteward on the boards of the site. */
  const ours = async (): Promise<readonly string[]> =>
    (await boards()).flatMap(({ metadata, spec, status }) => [
      ...(spec.taints ?? []).filter(({ key }) => key.startsWith("node.kubernetes.io/")).map(({ key }) => key),
      ...Object.keys(metadata.annotations ?? {}).filter((name) => name.startsWith("siteward.dev/")),
      ...status.conditions.map(({ type }) => type).filter((type) => type === "PowerUndervoltage"),
    ]);

  test("is refused while a board leads the site, because its taints would be back within seconds", async () => {
    const { code, stderr } = await siteward(["release", "--yes", ...own]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^siteward: pi-1_\S+ leads the site\n {2}Stop the agents of all boards of the site first/);
    expect(await ours()).not.toEqual([]);
    await agent.stop();
  });

  test("changes nothing without a confirmation or in a dry run", async () => {
    expect((await siteward(["release", ...own])).code).toBe(64);
    const before = await versions();
    const { code, stdout } = await siteward(["release", "--dry-run", ...own]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^node board-0004: would remove taint node\.kubernetes\.io\/unreachable:NoExecute/m);
    expect(stdout).toMatch(/^3 of 6 Nodes would be changed; no changes were made$/m);
    expect(await versions()).toEqual(before);
    expect((await site.lease()).metadata.annotations).toHaveProperty("siteward.dev/node-selector");
  });

  test("is completed by the next run after an interruption", async () => {
    const main = path.resolve(import.meta.dirname, "../../dist/main.js");
    const child = spawn(process.execPath, [main, "release", "--yes", ...own], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = new Promise((resolve) => child.once("exit", resolve));
    // After the first changed board.
    await new Promise<void>((resolve) =>
      child.stdout.on("data", (text: Buffer) => {
        if (text.toString().includes(": removed ")) resolve();
      }),
    );
    child.kill("SIGKILL");
    await gone;
    expect((await site.lease()).spec.holderIdentity).toMatch(/^release-by-pi-1_/);

    const podsBefore = await site.podNames();
    const { code, stdout } = await siteward(["release", "--yes", ...own]);
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/last held the site's Lease; waiting long enough to make sure that no board renews it/);
    expect(stdout).toMatch(
      /^lease kube-system\/siteward-default: released, and the site's claim on its boards removed$/m,
    );
    expect(await ours()).toEqual([]);
    expect(await site.podNames()).toEqual(podsBefore);
    const { metadata, spec } = await site.lease();
    expect(spec.holderIdentity ?? "").toBe("");
    expect(Object.keys(metadata.annotations ?? {}).filter((name) => name.startsWith("siteward.dev/"))).toEqual([]);
  });

  test("keeps the taints and annotations of people and the conditions of kubelets", async () => {
    const [first, second] = await boards();
    expect(first?.metadata.annotations).toHaveProperty("team.example/owner", "plant");
    expect(second?.spec.taints).toEqual([{ key: "maintenance", value: "disk", effect: "NoSchedule" }]);
    expect(first?.status.conditions.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]),
    );
  });

  test("changes nothing when it is repeated", async () => {
    const before = await versions();
    const { code, stdout } = await siteward(["release", "--yes", ...own]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^6 Nodes checked, 0 changed/m);
    expect(await versions()).toEqual(before);
  });

  test("is not final: a restarted agent leads with a higher term", async () => {
    const before = (await site.lease()).spec.leaseTransitions ?? 0;
    agent.start();
    await until("it leads", () => agent.isReady, 30);
    expect((await site.lease()).spec.leaseTransitions).toBeGreaterThan(before);
  });
});
