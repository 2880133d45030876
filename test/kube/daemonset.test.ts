import { execFile, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { assets, missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";

interface Listed<T> {
  readonly items: readonly T[];
}

interface PodObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly message?: string }[] };
}

interface RevisionObject {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly revision: number;
}

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s", followers: "poll" },
  daemonSet: { bind: true },
  controllers: { nodeLifecycle: { mode: "off" }, taintEviction: { mode: "off" } },
};

/** What people write for "as long as possible": more than a JavaScript number can hold. */
const [largest, nextLargest] = ["9223372036854775807", "9223372036854775806"];

/** The difficult cases of a template: characters that Go escapes in its own way, and numbers, maps and lists of all kinds. */
const template = {
  metadata: { labels: { app: "agent" }, annotations: { b: "<x>", a: "1 & 2" } },
  spec: {
    terminationGracePeriodSeconds: 0,
    tolerations: [largest, nextLargest].map((seconds, n) => ({
      ...{ key: `gpu-${n}`, operator: "Exists", effect: "NoExecute" },
      tolerationSeconds: JSON.rawJSON(seconds),
    })),
    nodeSelector: { "kubernetes.io/os": "linux" },
    containers: [
      {
        name: "main",
        image: "example/agent:1",
        command: ["sh", "-c", "a && b > c < d \u2028 größe"],
        env: [{ name: "EMPTY", value: "" }],
        resources: { requests: { cpu: "100m" } },
        ports: [{ containerPort: 80, hostPort: 8080 }],
      },
    ],
    volumes: [
      { name: "tmp", emptyDir: {} },
      { name: "log", hostPath: { path: "/var/log" } },
    ],
  },
};

const pods = "/api/v1/namespaces/default/pods";
const sets = "/apis/apps/v1/namespaces/default/daemonsets";

describe.skipIf(missingAssets())("daemon pods on a real kube-apiserver without a scheduler", () => {
  const site = new KubeSite();
  let kubelets: NodeJS.Timeout | undefined;
  /** Runs while no agent leads. */
  let binds = false;

  beforeAll(async () => {
    await site.start();
    await board("n1", "2");
    await board("n2", "2");
    // Has no room for the pod.
    await board("n3", "50m");
    site.agent("pi-1", config);
    kubelets = setInterval(() => void play().catch(() => undefined), 200);
    await until("the agent leads", () => site.leader !== undefined, 30);
  });
  afterAll(async () => {
    clearInterval(kubelets);
    await site.stop();
  });

  test("each board with enough room gets its pod, and an Event names what the other board lacks", async () => {
    const spec = { selector: { matchLabels: { app: "agent" } }, template };
    await site.cluster.request("POST", sets, { metadata: { name: "agent" }, spec });
    await until("both run", async () => (await running(1)).length === 2, 30);
    expect((await running(1)).map(({ spec }) => spec.nodeName).sort()).toEqual(["n1", "n2"]);
    const whyPending = async (): Promise<string | undefined> => {
      const waiting = (await list<PodObject>(pods)).find(({ spec }) => spec.nodeName === undefined);
      return waiting?.status.conditions?.find(({ type }) => type === "PodScheduled")?.message;
    };
    await until("the third pod says why it waits", async () => (await whyPending()) === "Insufficient cpu", 20);
    await kubectl("label", "node", "n3", "kubernetes.io/os=other", "--overwrite");
    await until("no pod is pending", async () => (await list(pods)).length === 2, 20);
    expect(await kubectl("rollout", "status", "daemonset/agent", "--timeout=30s")).toContain("successfully rolled out");
    const tolerated = "{.spec.tolerations[0].tolerationSeconds} {.spec.tolerations[1].tolerationSeconds}";
    const found = await kubectl("get", "pods", "-o", `jsonpath={range .items[*]}${tolerated};{end}`);
    expect(found).toBe(`${largest} ${nextLargest};`.repeat(2));
  });

  test("a new image is rolled out and added to the history", async () => {
    await kubectl("set", "image", "daemonset/agent", "main=example/agent:2");
    expect(await kubectl("rollout", "status", "daemonset/agent", "--timeout=60s")).toContain("successfully rolled out");
    expect(await running(2)).toHaveLength(2);
    expect(await revisions()).toEqual([1, 2]);
    expect(await kubectl("rollout", "history", "daemonset/agent", "--revision=1")).toContain("example/agent:1");
  });

  test("kubectl rollout undo restores the first revision and makes it the newest", async () => {
    expect(await kubectl("rollout", "undo", "daemonset/agent")).toContain("rolled back");
    expect(await kubectl("rollout", "status", "daemonset/agent", "--timeout=60s")).toContain("successfully rolled out");
    expect(await running(1)).toHaveLength(2);
    expect(await revisions()).toEqual([2, 3]);
  });

  test("kubectl finds our revisions identical byte for byte and skips an undo to the current one", async () => {
    const answer = await kubectl("rollout", "undo", "daemonset/agent", "--to-revision=3");
    expect(answer).toContain("skipped rollback (current template already matches revision 3)");
  });

  test("kube-controller-manager takes over and hands back without recreating a pod or a revision", async () => {
    const before = await identities();
    await site.agents[0]?.stop();
    binds = true;
    const manager = startManager();
    try {
      await until("it has observed the set", () => seenBy("kube-controller-manager"), 60);
      await pause(5000);
      expect(await identities()).toEqual(before);
      await kubectl("set", "image", "daemonset/agent", "main=example/agent:3");
      await kubectl("rollout", "status", "daemonset/agent", "--timeout=60s");
    } finally {
      manager.kill("SIGTERM");
      await new Promise((resolve) => manager.once("exit", resolve));
      binds = false;
    }
    const theirs = await identities();
    expect(await running(3)).toHaveLength(2);
    site.agents[0]?.start();
    await until("the agent leads again", () => site.leader !== undefined, 60);
    await pause(5000);
    expect(await identities()).toEqual(theirs);
  });

  async function board(name: string, cpu: string): Promise<void> {
    const allocatable = { cpu, memory: "1Gi", pods: "10" };
    const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
    const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }];
    await site.cluster.request("POST", "/api/v1/nodes", {
      metadata: { name, labels },
      status: { allocatable, conditions },
    });
    // The API server taints every new Node; no controller judges boards here.
    await site.cluster.request(
      "PATCH",
      `/api/v1/nodes/${name}`,
      { spec: { taints: null } },
      "application/merge-patch+json",
    );
  }

  async function list<T>(at: string): Promise<readonly T[]> {
    return (await site.cluster.request<Listed<T>>("GET", at)).items;
  }

  /** Bound pods with the image of that number, without those that are terminating. */
  async function running(image: number): Promise<readonly PodObject[]> {
    return (await list<PodObject>(pods)).filter(
      ({ metadata, spec }) =>
        metadata.deletionTimestamp === undefined &&
        spec.nodeName !== undefined &&
        spec.containers[0]?.image === `example/agent:${image}`,
    );
  }

  const allRevisions = (): Promise<readonly RevisionObject[]> =>
    list("/apis/apps/v1/namespaces/default/controllerrevisions");

  async function revisions(): Promise<readonly number[]> {
    return (await allRevisions()).map(({ revision }) => revision).sort();
  }

  async function identities(): Promise<readonly string[]> {
    const made = [...(await list<PodObject>(pods)), ...(await allRevisions())];
    return made.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
  }

  /** Acts for the kubelets: a bound pod is ready at once, and a terminating one is removed at once. */
  async function play(): Promise<void> {
    for (const { metadata, spec, status } of await list<PodObject>(pods)) {
      const at = `${pods}/${metadata.name}`;
      if (spec.nodeName === undefined && binds) await bind(at, metadata.name, JSON.stringify(spec));
      if (spec.nodeName === undefined) continue;
      if (metadata.deletionTimestamp !== undefined) {
        await site.cluster.request("DELETE", at, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });
      } else if (!status.conditions?.some(({ type }) => type === "Ready")) {
        const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z/, "Z");
        const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime }] };
        await site.cluster.request(
          "PATCH",
          `${at}/status`,
          { status: ready },
          "application/strategic-merge-patch+json",
        );
      }
    }
  }

  async function bind(at: string, name: string, spec: string): Promise<void> {
    const [, board] = /"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(spec) ?? [];
    const target = { apiVersion: "v1", kind: "Node", name: board };
    await site.cluster.request("POST", `${at}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target,
    });
  }

  const seenBy = (program: string): boolean =>
    site.cluster
      .audit()
      .some(
        ({ verb, userAgent, objectRef }) =>
          verb === "watch" && userAgent.startsWith(program) && objectRef?.resource === "daemonsets",
      );

  function startManager() {
    const flags = { kubeconfig: site.cluster.kubeconfig, "leader-elect": "false", controllers: "daemonset-controller" };
    const more = { "secure-port": "0", "cert-dir": path.join(site.cluster.dir, "manager") };
    const log = openSync(path.join(site.cluster.dir, "manager.log"), "a");
    const args = Object.entries({ ...flags, ...more }).map(([flag, value]) => `--${flag}=${value}`);
    const manager = spawn(path.join(assets ?? "", "kube-controller-manager"), args, { stdio: ["ignore", log, log] });
    closeSync(log);
    return manager;
  }

  async function kubectl(...args: readonly string[]): Promise<string> {
    const program = path.join(assets ?? "", "kubectl");
    const { stdout } = await promisify(execFile)(program, ["--kubeconfig", site.cluster.kubeconfig, ...args]);
    return stdout;
  }
});

const pause = (span: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, span));
