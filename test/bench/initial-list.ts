/** A process of its own that takes all pods of a server into a cache on disk, in one of two ways, and says what it cost. */
import { readFileSync } from "node:fs";
import type { Pod } from "../../agent/api/core.ts";
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
import { kindOf } from "../../agent/informer/kinds/kinds.ts";
import { trimPod } from "../../agent/informer/kinds/trim.ts";
import { replaceByPages } from "../../agent/informer/reflector/replace-by-pages.ts";
import { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { decodedPods, shippedPragmas } from "./shipped-cache.ts";

export interface Cost {
  readonly seconds: number;
  /** MB: resident before and at most, and of all bodies as they crossed the link. */
  readonly before: number;
  readonly peak: number;
  readonly received: number;
  readonly objects: number;
}

const [, , way = "pages", kubeconfig = "", file = ""] = process.argv;
const batchSize = 64;
const initialEvents = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

const clock = new SystemClock();
const ambient: Ambient = { clock, random: new SystemRandom(), log: noopLogger };
const transport = new HttpTransport(ambient, {
  credentials: new KubeconfigCredentials(ambient, { file: kubeconfig, context: undefined, environment: {} }),
  proxies: { proxy: undefined, except: undefined },
  health: defaultHealth,
  timeout: 10_000,
});
const traffic = new Traffic();
const client = new KubeClient(ambient, {
  transport: (request) =>
    transport.send(
      request.path.includes("watch=true") ? { ...request, path: `${request.path}${initialEvents}` } : request,
    ),
  traffic,
  limiter: new RequestLimiter(ambient, { qps: 20, burst: 30 }),
  timeouts: { read: 30_000, list: 60_000, watch: 60_000, write: 30_000 },
  userAgent: "siteward/bench",
});
const database = Database.open({ file, migrations: cacheMigrations, pragmas: shippedPragmas });
const indexer = new Indexer<Pod>({
  database,
  resource: "pods",
  indices: kindOf(pods).indices,
  decodedBytes: decodedPods,
});
const fifo = new DeltaFIFO<Pod>({ database, resource: "pods", indexer, deltasPerObject: 16 });
const store = { replace: () => fifo.fill() ?? fifo.replace() };
const signal = new AbortController().signal;

const before = resident("VmRSS");
const begun = performance.now();
if (way === "pages") await takePages();
else await takeStream();
while (fifo.depth > 0) fifo.pop(batchSize);
const cost: Cost = {
  seconds: (performance.now() - begun) / 1000,
  before,
  peak: resident("VmHWM"),
  received: traffic.snapshot().reduce((sum, { down }) => sum + down, 0) / 1e6,
  objects: indexer.size,
};
process.send?.(cost);
transport.close();
database.close();
process.disconnect?.();

async function takePages(): Promise<void> {
  const listing = {
    resource: pods,
    selection: {},
    client,
    store,
    accepted: trimPod,
    rejected: (why: readonly string[], count: number) => {
      if (count > 0) throw new Error(why.join("; "));
    },
  };
  await replaceByPages(clock, listing, { resourceVersion: "", limit: 500 }, signal);
}

/** As a streaming list would be taken: each object staged as it comes, and shown with the bookmark that ends them. */
async function takeStream(): Promise<void> {
  const replacement = store.replace();
  const batch: Pod[] = [];
  for await (const event of await client.watch(pods, { timeoutSeconds: 300 }, signal)) {
    if (event.type === "ADDED") batch.push(trimPod(event.object));
    else if (event.type !== "BOOKMARK") throw new Error(`the stream says ${event.type}`);
    if (batch.length < batchSize && event.type === "ADDED") continue;
    replacement.page(batch.splice(0));
    if (event.type !== "BOOKMARK") continue;
    while (replacement.stageDeletions());
    replacement.commit(event.resourceVersion);
    return;
  }
}

function resident(field: "VmRSS" | "VmHWM"): number {
  const text = readFileSync("/proc/self/status", "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024;
}
