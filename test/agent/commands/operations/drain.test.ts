import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { silent } from "../../../../agent/base/logger.ts";
import { KubeClient } from "../../../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../../../agent/client/request-limiter.ts";
import { Traffic } from "../../../../agent/client/traffic.ts";
import type { HttpRequest, HttpResponse } from "../../../../agent/client/transport/transport.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { drain } from "../../../../agent/commands/operations/drain.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { concat, envelope, field } from "../../client/decoding/protobuf-bytes.ts";

interface Listed {
  readonly name: string;
  readonly annotations?: readonly string[];
  /** The kind of its controller. */
  readonly owner?: string;
  readonly isTerminating?: boolean;
  readonly tolerations?: number;
}

/** A pod as an API server sends it. */
function podOf({ name, annotations = [], owner, isTerminating = false, tolerations = 0 }: Listed): Buffer {
  const controller = [owner ?? []]
    .flat()
    .map((kind) =>
      field(13, concat(field(1, kind), field(3, "o"), field(4, "uid-o"), field(5, "apps/v1"), field(6, 1))),
    );
  const metadata = concat(
    field(1, name),
    field(3, "shop"),
    field(5, `uid-${name}`),
    field(6, "7"),
    ...(isTerminating ? [field(9, field(1, 1_790_000_000))] : []),
    ...annotations.map((key) => field(12, concat(field(1, key), field(2, "hash")))),
    ...controller,
  );
  const tolerated = Array.from({ length: tolerations }, (_, at) => field(22, field(1, `key-${at}`)));
  return field(2, concat(field(1, metadata), field(2, concat(...tolerated))));
}

const listOf = (pods: readonly Listed[]): Buffer =>
  envelope("PodList", concat(field(1, field(2, "9")), ...pods.map(podOf)));

/** A board that is cordoned already, whose API server has these pods; an evicted pod is gone. */
function board(pods: readonly Listed[], evicts: (path: string) => void = () => undefined) {
  const clock = new FakeClock();
  const ambient = { clock, random: new SeededRandom(), log: silent };
  const evicted: string[] = [];
  const node = { metadata: { name: "pi-3", uid: "u1", resourceVersion: "5" }, spec: { unschedulable: true } };
  const answerTo = ({ path, method }: HttpRequest): Uint8Array => {
    if (method === "POST") {
      evicts(path);
      evicted.push(path.replace(/.*pods\/(.*)\/eviction.*/, "$1"));
      return Buffer.from(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Success" }));
    }
    if (path.includes("/nodes/")) return Buffer.from(JSON.stringify(node));
    return listOf(pods.filter(({ name }) => !evicted.includes(name)));
  };
  const transport = async (request: HttpRequest): Promise<HttpResponse> => {
    const body = answerTo(request);
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield body;
      })(),
    };
  };
  const traffic = new Traffic();
  const limiter = new RequestLimiter(ambient, { qps: 1000, burst: 1000 });
  const timeouts = { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 };
  const client = new KubeClient(ambient, { transport, traffic, limiter, timeouts, userAgent: "siteward/1" });
  // A drain of a cordoned board uses no more than this.
  const deps = { ambient, client, config: { board: { node: "pi-3" } }, announce: () => undefined, current: {} };
  const run = async (dryRun: boolean, force = false) => {
    const order = {
      options: { timeout: 60_000, force },
      author: { by: "ops:alice", reason: undefined },
      progress: () => undefined,
      signal: new AbortController().signal,
      dryRun,
    };
    const effect = drain(order as unknown as Parameters<typeof drain>[0], deps as unknown as OperationsDeps);
    await clock.advance("10s");
    return await effect;
  };
  return { run, evicted };
}

test("a drain leaves static and daemon pods, and evicts the others", async () => {
  const { run, evicted } = board([
    { name: "static", annotations: ["kubernetes.io/config.mirror"], owner: "Node" },
    { name: "bare-static", annotations: ["kubernetes.io/config.hash", "kubernetes.io/config.mirror"] },
    { name: "daemon", owner: "DaemonSet" },
    { name: "web", owner: "ReplicaSet", annotations: ["kubernetes.io/config.source"] },
  ]);
  expect(await run(true)).toMatchObject({ outcome: "done", result: { skipped: 3, left: 1, pods: ["shop/web"] } });
  expect(await run(false)).toMatchObject({ outcome: "done", result: { evicted: 1, skipped: 3, left: 0 } });
  expect(evicted).toEqual(["web"]);
});

test("a pod without a controller is evicted by force only, and a terminating one is left to end", async () => {
  const pods = [{ name: "alone" }, { name: "ending", owner: "ReplicaSet", isTerminating: true }];
  expect(await board(pods).run(false)).toMatchObject({ error: "unmanaged-pods", result: { pods: ["shop/alone"] } });
  const forced = board(pods);
  expect(await forced.run(true, true)).toMatchObject({ result: { pods: ["shop/alone", "shop/ending"] } });
});

test("a drain keeps only what it needs of large pods", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const pods = Array.from({ length: 30 }, (_, at) => ({ name: `p-${at}`, owner: "ReplicaSet", tolerations: 10_000 }));
  const seen: number[] = [];
  const { run, evicted } = board(pods, () => void seen.push(heap()));
  const before = heap();
  expect(await run(false)).toMatchObject({ result: { evicted: 30, left: 0 } });
  expect(evicted).toHaveLength(30);
  expect(Math.max(...seen) - before).toBeLessThan(10 * 1024 * 1024);
});
