import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill, podName } from "../support/load.ts";
import { rest } from "../support/rest.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "5s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
};

const siteOf = (name: string, nodeSelector?: string) => ({
  ...config,
  site: { name, ...(nodeSelector !== undefined && { nodeSelector }) },
});

interface EventObject {
  readonly reason: string;
  readonly source?: { readonly host?: string };
  readonly reportingInstance?: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** Boards 0 to 2 belong to the north, 3 to 5 to the south; board i runs the pods i and i + 6. */
class TwoSites extends KubeSite {
  #since = "";

  watchWrites(): void {
    this.#since = new Date().toISOString();
  }

  async label(board: number, area: string | null): Promise<void> {
    const patch = { metadata: { labels: { area } } };
    await this.cluster.request("PATCH", `/api/v1/nodes/${boardName(board)}`, patch, "application/merge-patch+json");
  }

  async begin(): Promise<void> {
    await this.start();
    await fill(this.cluster, { nodes: 6, pods: 12, seed: 1 });
    for (const board of [0, 1, 2]) await this.label(board, "north");
    for (const board of [3, 4, 5]) await this.label(board, "south");
    this.beat(0, 1, 2, 3, 4, 5);
  }

  /** The boards and pods that an agent wrote to since the last `watchWrites`. */
  touched(agent: AgentProcess): readonly string[] {
    const names = this.writesOf(agent)
      .filter(({ requestReceivedTimestamp }) => requestReceivedTimestamp > this.#since)
      .filter(({ objectRef }) => ["nodes", "pods"].includes(objectRef?.resource ?? ""))
      .map(({ objectRef }) => objectRef?.name ?? "");
    return [...new Set(names)].sort();
  }

  /** Waits until the agent has written to these, and checks for a while that it writes to nothing else. */
  async expectTouched(agent: AgentProcess, ...names: readonly string[]): Promise<void> {
    await until("all are written to", () => names.every((name) => this.touched(agent).includes(name)), 5);
    await rest(1);
    expect(this.touched(agent)).toEqual([...names].sort());
  }

  /** Events that an agent wrote about a board. */
  async eventsAbout(board: number): Promise<readonly string[]> {
    const { items } = await this.cluster.request<{ items: readonly EventObject[] }>("GET", "/api/v1/events");
    return items
      .filter(({ involvedObject }) => involvedObject.kind === "Node" && involvedObject.name === boardName(board))
      .map(({ reason, source, reportingInstance }) => `${reason} by ${source?.host || reportingInstance}`);
  }

  conflictsOf(agent: AgentProcess): readonly string[] {
    return (agent.status()?.health.conditions ?? [])
      .filter(({ type }) => type === "SelectionConflict")
      .map(({ message }) => message);
  }
}

describe.skipIf(missingAssets())("two sites on one kube-apiserver", () => {
  const site = new TwoSites();
  let north: AgentProcess;
  let south: AgentProcess;

  beforeAll(async () => {
    await site.begin();
    north = site.agent("pi-north", siteOf("north", "area=north"));
    await until(
      "the north is ready",
      () => north.isReady,
      20,
      () => north.log().slice(-800),
    );
    south = site.agent("pi-south", siteOf("south", "area=south"));
    await until(
      "the south is ready",
      () => south.isReady,
      20,
      () => south.log().slice(-800),
    );
  });
  afterAll(() => site.stop());

  test("each caches only its own boards and pods", () => {
    for (const agent of [north, south]) {
      const objects = agent.status()?.watches?.map(({ objects }) => objects);
      expect(objects).toEqual([3, 3, 6]);
      expect(site.conflictsOf(agent)).toEqual([]);
    }
  });

  test("a board that falls silent is tainted by its own site, and the other site does not write to it", async () => {
    // The first writes to the newly created boards are done.
    await rest(1);
    site.watchWrites();
    site.silence(1);
    await until("NoExecute", async () => (await site.taints(1)).includes("unreachable:NoExecute"), 20);
    await site.expectTouched(north, podName(1), podName(7), boardName(1));
    expect(site.touched(south)).toEqual([]);
    expect(await site.eventsAbout(1)).toContainEqual(expect.stringMatching(/^NodeNotReady by .*pi-north/));
    site.beat(1);
  });

  test("when a person taints a board, its own site evicts the pods", async () => {
    const path = `/api/v1/nodes/${boardName(4)}`;
    const taints = [{ key: "maintenance", effect: "NoExecute" }];
    await site.cluster.request("PATCH", path, { spec: { taints } }, "application/merge-patch+json");
    await until("its pods are evicted", async () => !(await site.podNames()).includes(podName(4)), 15);
    expect(site.touched(south)).toContain(podName(4));
    expect(site.touched(north)).not.toContain(podName(4));
    await site.cluster.request("PATCH", path, { spec: { taints: null } }, "application/merge-patch+json");
  });

  test("a silent board that leaves the selection is released, without a write or a verdict", async () => {
    // Released first and silent afterwards: no site may judge it.
    await site.label(2, null);
    await until("it is no longer cached", () => north.status()?.watches?.[0]?.objects === 2, 15);
    site.watchWrites();
    site.silence(2);
    await rest(9);
    expect(await site.taints(2)).toEqual([]);
    expect(await site.ready(2)).toBe("True");
    expect(await site.podNames()).toEqual(expect.arrayContaining([podName(2), podName(8)]));
    expect((await site.eventsAbout(2)).filter((event) => /RemovingNode|NodeNotReady/.test(event))).toEqual([]);
    expect(site.touched(north)).not.toContain(boardName(2));
  });

  test("a board that joins gets a full grace period before its silence counts", async () => {
    const begun = performance.now();
    await site.label(2, "south");
    await until(
      "the south reports it",
      async () => /RegisteredNode by .*pi-south/.test(String(await site.eventsAbout(2))),
      15,
    );
    await rest(3 - (performance.now() - begun) / 1000);
    expect(await site.ready(2)).toBe("True");
    expect(await site.taints(2)).toEqual([]);
    await until("its silence counts", async () => (await site.ready(2)) === "Unknown", 15);
    expect((performance.now() - begun) / 1000).toBeGreaterThan(4);
    expect(site.touched(north)).not.toContain(boardName(2));
    site.beat(2);
  });
});

describe.skipIf(missingAssets())("two sites that claim the same boards", () => {
  const site = new TwoSites();
  let first: AgentProcess;
  let second: AgentProcess;

  beforeAll(async () => {
    await site.begin();
    first = site.agent("pi-north", siteOf("north", "area=north"));
    await until("the first is ready", () => first.isReady, 20);
    // Times of creation are whole seconds; within one, the order of the uids decides.
    await rest(1.1);
    second = site.agent("pi-all", siteOf("all"));
    await until("the second is ready", () => second.isReady, 20);
  });
  afterAll(() => site.stop());

  test("the Leases carry the claims of each site", async () => {
    const selector = async (name: string): Promise<string | undefined> =>
      (await site.lease(`siteward-${name}`)).metadata.annotations?.["siteward.dev/node-selector"];
    expect(await selector("north")).toBe("area=north");
    expect(await selector("all")).toBe("");
  });

  test("the younger site reports the conflict and ignores those boards; the older site is unaffected", async () => {
    await until("the conflict is reported", () => site.conflictsOf(second).length > 0, 5);
    expect(site.conflictsOf(second)).toEqual([
      "the older site north claims 3 of this site's boards too, which are left alone: " +
        "board-0000, board-0001, board-0002",
    ]);
    expect(second.status()?.health.level).toBe("critical");
    expect(site.conflictsOf(first)).toEqual([]);

    await rest(1);
    site.watchWrites();
    site.silence(1, 4);
    await until("the older judges its board", async () => (await site.taints(1)).includes("unreachable:NoExecute"), 20);
    await until("the younger judges its own", async () => (await site.taints(4)).includes("unreachable:NoExecute"), 20);
    await site.expectTouched(first, podName(1), podName(7), boardName(1));
    await site.expectTouched(second, podName(4), podName(10), boardName(4));
    site.beat(1, 4);
  });

  test("a board that leaves the older site is managed by the younger one, after a fresh grace period", async () => {
    site.watchWrites();
    await site.label(0, null);
    site.silence(0);
    await rest(2);
    expect(await site.ready(0)).toBe("True");
    await until("the younger judges it", async () => (await site.taints(0)).includes("unreachable:NoExecute"), 20);
    expect(site.touched(second)).toContain(boardName(0));
    expect(site.touched(first)).not.toContain(boardName(0));
  });

  test("the conflict ends once the older site and its Lease are deleted", async () => {
    await first.stop();
    await site.cluster.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-north");
    await until("the conflict is cleared", () => site.conflictsOf(second).length === 0, 40);
    site.silence(2);
    await until("it judges all boards", async () => (await site.taints(2)).includes("unreachable:NoExecute"), 20);
    expect(second.log()).toContain("the conflict with an older site has ended");
  });
});

describe.skipIf(missingAssets())("two sites that claim the same namespace", () => {
  const site = new TwoSites();
  let first: AgentProcess;
  let second: AgentProcess;

  const serviceIn = (namespace: string, name: string): Promise<unknown> =>
    site.cluster.request("POST", `/api/v1/namespaces/${namespace}/services`, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    });

  /** The services whose Endpoints an agent wrote. */
  const endpointsBy = (agent: AgentProcess): readonly string[] =>
    site
      .writesOf(agent)
      .filter(({ objectRef }) => objectRef?.resource === "endpoints")
      .map(({ objectRef }) => `${objectRef?.namespace}/${objectRef?.name}`);

  beforeAll(async () => {
    await site.begin();
    for (const name of ["shop", "till"]) {
      const metadata = { name, labels: { team: name } };
      await site.cluster.request("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    }
    const north = siteOf("north", "area=north");
    first = site.agent("pi-north", { ...north, site: { ...north.site, namespaceSelector: "team=shop" } });
    await until("the first is ready", () => first.isReady, 20);
    await rest(1.1);
    second = site.agent("pi-all", siteOf("all"));
    await until("the second is ready", () => second.isReady, 20);
  });
  afterAll(() => site.stop());

  test("the older site keeps its services, and the younger one serves all others and reports the conflict", async () => {
    await until("the conflict is reported", () => site.conflictsOf(second).length > 0, 5);
    expect(site.conflictsOf(second)).toEqual([
      expect.stringContaining("and 1 of this site's namespaces, whose workloads are left alone: shop"),
    ]);
    await serviceIn("shop", "web");
    await serviceIn("till", "web");
    await until("the older writes its own", () => endpointsBy(first).includes("shop/web"), 15);
    await until("the younger writes the rest", () => endpointsBy(second).includes("till/web"), 15);
    await rest(1);
    expect(endpointsBy(first)).not.toContain("till/web");
    expect(endpointsBy(second)).not.toContain("shop/web");
  });
});
