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
import type { ReflectorClient } from "../../agent/informer/informer-client.ts";
import { trimPod } from "../../agent/informer/kinds/trim.ts";
import { ListTurns } from "../../agent/informer/list-turns.ts";
import { Reflector } from "../../agent/informer/reflector/reflector.ts";
import { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { shippedPragmas } from "../bench/shipped-cache.ts";
import { until } from "../support/agent-process.ts";
import { putInStore, storedPod } from "../support/kube/etcd-store.ts";
import { KubeCluster } from "../support/kube/kube-cluster.ts";
import { SeededChance } from "../support/load-chance.ts";
import type { Load, LoadContext } from "./load.ts";

const many = 300;
const pageSize = 50;
const rounds = 30;

/** etcd repeatedly compacts its history between two pages of a list, while pods are created, changed and deleted. */
export const pagesThatExpire: Load = {
  name: "pages-that-expire",
  summary: `${rounds} lists of ${many} pods by pages of ${pageSize}, with a compaction after each page`,
  run,
};

async function run({ seed, say, check }: LoadContext): Promise<void> {
  // Like servers before 1.34: later ones may keep the snapshot of a list in memory after the compaction.
  const cluster = new KubeCluster({ "feature-gates": "ListFromCacheSnapshot=false" });
  const chance = new SeededChance(seed);
  const ambient: Ambient = { clock: new SystemClock(), random: new SystemRandom(), log: noopLogger };
  let transport: HttpTransport | undefined;
  try {
    await cluster.start();
    const pod = (i: number, mark: number) => storedPod(`app-${i}`, "board-0", { labels: { mark: `m${mark}` } });
    await putInStore(
      cluster.etcd,
      Array.from({ length: many }, (_, i) => pod(i, 0)),
    );
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
    const client = new KubeClient(ambient, {
      transport: transport.send,
      traffic: new Traffic(),
      limiter: new RequestLimiter(ambient, { qps: 1000, burst: 1000 }),
      timeouts: { read: 10_000, list: 10_000, watch: 10_000, write: 10_000 },
      userAgent: "siteward/load",
    });
    const seen = { pages: 0, expired: 0, whole: 0 };
    const list: ReflectorClient["list"] = async (resource, options, each, signal, inLine) => {
      if (options.limit === undefined) seen.whole++;
      try {
        const page = await client.list(resource, options, each, signal, inLine);
        seen.pages++;
        // Not on each page: the next one may also come from the server's memory.
        await putInStore(
          cluster.etcd,
          Array.from({ length: 5 }, (_, n) => pod(chance.below(many / 5) * 5 + n, seen.pages)),
        );
        await cluster
          .request("DELETE", `/api/v1/namespaces/default/pods/gone-${seen.pages}?gracePeriodSeconds=0`)
          .catch(() => {});
        await putInStore(cluster.etcd, [storedPod(`gone-${seen.pages + 1}`, "board-0")]);
        await cluster.compact();
        return page;
      } catch (error) {
        if (error instanceof Error && /Expired|Gone/.test(`${error.message} ${JSON.stringify(error)}`)) seen.expired++;
        throw error;
      }
    };
    for (let round = 1; round <= rounds; round++) {
      const database = Database.open({ file: ":memory:", migrations: cacheMigrations, pragmas: shippedPragmas });
      const indexer = new Indexer({ database, resource: "pods", indices: {}, decodedBytes: 1 << 20 });
      const fifo = new DeltaFIFO({ database, resource: "pods", indexer, deltasPerObject: 16 });
      const reflector = new Reflector(ambient, {
        resource: pods,
        selection: {},
        client: { list, watch: (resource, options, signal) => client.watch(resource, options, signal) },
        store: fifo,
        trim: trimPod,
        pageSize,
        limits: { stall: 90_000, blip: 10_000 },
        turns: new ListTurns(),
        stored: () => {},
      });
      const stop = new AbortController();
      const running = reflector.run(stop.signal);
      const pump = (): void => {
        while (fifo.depth > 0) fifo.pop(64);
      };
      const { items } = await cluster.request<{ items: readonly { metadata: { name: string } }[] }>(
        "GET",
        "/api/v1/namespaces/default/pods",
      );
      const isWhole = async (): Promise<boolean> => {
        pump();
        if (fifo.resourceVersion === undefined || indexer.size < many) return false;
        const { items: now } = await cluster.request<{
          items: readonly { metadata: { name: string; resourceVersion: string } }[];
        }>("GET", "/api/v1/namespaces/default/pods");
        return (
          now.length === indexer.size &&
          now.every(
            ({ metadata: { name, resourceVersion } }) =>
              indexer.get(`default/${name}`)?.metadata.resourceVersion === resourceVersion,
          )
        );
      };
      try {
        await until(`round ${round}: the cache is as the server (${items.length} pods)`, isWhole, 60);
      } catch (error) {
        check(false, `round ${round}: ${error instanceof Error ? error.message : error}`);
      }
      stop.abort();
      await running.catch(() => undefined);
      database.close();
    }
    say(`${seen.pages} pages arrived, ${seen.expired} had expired, ${seen.whole} lists were requested whole`);
    check(seen.expired > 0, "no page expired, so the load proved nothing");
  } finally {
    transport?.close();
    await cluster.stop();
  }
}
