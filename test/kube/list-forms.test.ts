import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../agent/api/core.ts";
import { parseObject } from "../../agent/api/parse.ts";
import { pods } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { SystemClock } from "../../agent/base/clock.ts";
import { noopLogger } from "../../agent/base/logger.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { KubeconfigCredentials } from "../../agent/client/credentials/kubeconfig-credentials.ts";
import { KubeClient } from "../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../agent/client/request-limiter.ts";
import { Traffic } from "../../agent/client/traffic.ts";
import { HttpTransport } from "../../agent/client/transport/http-transport.ts";
import { defaultHealth } from "../../agent/client/transport/http2-wire.ts";
import { trimPod } from "../../agent/informer/kinds/trim.ts";
import { fullPod, fullPodRuntime, fullPodStatus, gatedPod } from "../agent/client/decoding/samples/full-pod.ts";
import { KubeCluster, missingAssets } from "../support/kube/kube-cluster.ts";
import { fill } from "../support/load.ts";

const collection = "/api/v1/namespaces/default/pods";

describe.skipIf(missingAssets())("a list of pods from a real kube-apiserver", () => {
  const cluster = new KubeCluster();
  const { signal } = new AbortController();
  const ambient: Ambient = { clock: new SystemClock(), random: new SystemRandom(), log: noopLogger };
  let transport: HttpTransport;
  let client: KubeClient;

  beforeAll(async () => {
    await cluster.start();
    await fill(cluster, { nodes: 2, pods: 20, seed: 1 });
    await cluster.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", fullPodRuntime);
    await cluster.request("POST", collection, fullPod);
    await cluster.request("POST", collection, gatedPod);
    const merge = "application/merge-patch+json";
    await cluster.request("PATCH", `${collection}/everything/status`, { status: fullPodStatus }, merge);
    await cluster.request("DELETE", `${collection}/everything?gracePeriodSeconds=30`);
    transport = new HttpTransport(ambient, {
      credentials: new KubeconfigCredentials(ambient, {
        file: cluster.kubeconfig,
        context: undefined,
        environment: {},
      }),
      proxies: { proxy: undefined, except: undefined },
      health: defaultHealth,
      timeout: 10_000,
    });
    const timeouts = { read: 10_000, list: 10_000, watch: 10_000, write: 10_000 };
    const limiter = new RequestLimiter(ambient, { qps: 20, burst: 30 });
    client = new KubeClient(ambient, {
      transport: transport.send,
      traffic: new Traffic(),
      limiter,
      timeouts,
      userAgent: "siteward/test",
    });
  });
  afterAll(async () => {
    transport?.close();
    await cluster.stop();
  });

  test("is stored identically in every form, with and without pages", async () => {
    const kept: Pod[] = [];
    const each = (pod: Pod): void => void kept.push(trimPod(pod));
    let token: string | undefined;
    do {
      const page = await client.list(pods, { limit: 8, continue: token }, each, signal);
      expect(page.rejected).toEqual([]);
      token = page.continue;
    } while (token !== undefined);
    const { items } = await cluster.request<{ items: readonly unknown[] }>("GET", "/api/v1/pods");
    const asJson = items.flatMap((item) => {
      const parsed = parseObject(item, pods);
      return parsed.ok ? [trimPod(parsed.object)] : [];
    });
    expect(kept).toEqual(asJson);
    expect(kept).toHaveLength(22);
  });

  test("that is refused reports the reason", async () => {
    const refused = client.list(pods, { limit: 8, continue: "nonsense" }, () => {}, signal);
    await expect(refused).rejects.toMatchObject({ status: 400, reason: "BadRequest" });
    await expect(refused).rejects.toThrow(/continue/);
  });
});
