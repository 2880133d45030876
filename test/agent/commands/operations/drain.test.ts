import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { sleep } from "../../../../agent/base/clock.ts";
import { KubeClient } from "../../../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../../../agent/client/request-limiter.ts";
import { Traffic } from "../../../../agent/client/traffic.ts";
import type { HttpRequest, HttpResponse } from "../../../../agent/client/transport/transport.ts";
import { Cordons } from "../../../../agent/commands/operations/cordons.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { BoardDrain, type DrainOrder } from "../../../../agent/commands/operations/drain.ts";
import { drainProblem } from "../../../../agent/companions/command-center.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { concat, envelope, field } from "../../client/decoding/protobuf-bytes.ts";

interface Listed {
  readonly name: string;
  readonly annotations?: readonly string[];
  /** The kind of its controller, and perhaps its group and version: "DaemonSet evil.io/v9". */
  readonly owner?: string;
  /** The controller's name: "o", if not given. */
  readonly ownerName?: string;
  readonly phase?: string;
  readonly isTerminating?: boolean;
  readonly tolerations?: number;
  readonly labels?: number;
  /** "shop", if not given. */
  readonly namespace?: string;
}

/** A pod as an API server sends it. */
function podOf(listed: Listed): Buffer {
  const {
    name,
    annotations = [],
    owner,
    ownerName = "o",
    isTerminating = false,
    tolerations = 0,
    labels = 0,
    namespace = "shop",
    phase,
  } = listed;
  const [kind, version = "apps/v1"] = owner?.split(" ") ?? [];
  const ofOwner = [field(3, ownerName), field(4, "uid-o"), field(5, version), field(6, 1)];
  const controller = kind === undefined ? [] : [field(13, concat(field(1, kind), ...ofOwner))];
  const metadata = concat(
    field(1, name),
    field(3, namespace),
    field(5, `uid-${name}`),
    field(6, "7"),
    ...(isTerminating ? [field(9, field(1, 1_790_000_000))] : []),
    ...Array.from({ length: labels }, (_, at) => field(11, concat(field(1, `label-${at}`), field(2, "")))),
    ...annotations.map((key) => field(12, concat(field(1, key), field(2, "hash")))),
    ...controller,
  );
  const tolerated = Array.from({ length: tolerations }, (_, at) => field(22, field(1, `key-${at}`)));
  const status = phase === undefined ? [] : [field(3, field(1, phase))];
  return field(2, concat(field(1, metadata), field(2, concat(...tolerated)), ...status));
}

const listOf = (pods: readonly Listed[]): Buffer =>
  envelope("PodList", concat(field(1, field(2, "9")), ...pods.map(podOf)));

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const success = { kind: "Status", apiVersion: "v1", status: "Success" };

/** An answer of the API server that is no success. */
const refusal = (code: number, reason: string, message: string, details = {}) => ({
  code,
  body: json({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, details }),
});

const daemonSetList = {
  ...{ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata: { resourceVersion: "9" } },
  items: [{ metadata: { name: "o", namespace: "shop", uid: "uid-o", resourceVersion: "3" } }],
};

type Evicts = (name: string) => ReturnType<typeof refusal> | undefined;

/**
 * A board that is cordoned already, whose API server has these pods and the DaemonSet "o". An evicted pod is gone,
 * unless `evicts` refuses.
 */
function board(begins: readonly Listed[], evicts: Evicts = () => undefined) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const ambient = { clock, random: new SeededRandom(), log };
  const evicted: string[] = [];
  const server = {
    pods: [...begins],
    node: { metadata: { name: "pi-3", uid: "u1", resourceVersion: "5" }, spec: { unschedulable: true } },
    isNodeReadable: true,
    /** The refusal to list DaemonSets. */
    daemonSets: (): ReturnType<typeof refusal> | undefined => undefined,
    /** How long an eviction takes. */
    latency: 0,
    /** Header of each refusal. */
    retryAfter: undefined as string | undefined,
    /** Called before each answer. */
    asked: (_method: string, _path: string): void => undefined,
  };
  const answerTo = ({ path, method }: HttpRequest): { readonly code: number; readonly body: Uint8Array } => {
    const ok = (body: Uint8Array) => ({ code: 200, body });
    server.asked(method, path);
    if (method === "POST") {
      const name = path.replace(/.*pods\/(.*)\/eviction.*/, "$1");
      const refused = evicts(name);
      if (refused) return refused;
      evicted.push(name);
      server.pods = server.pods.filter((pod) => pod.name !== name);
      return ok(json(success));
    }
    if (path.includes("/namespaces/shop/daemonsets?")) return server.daemonSets() ?? ok(json(daemonSetList));
    if (path.includes("/daemonsets")) return refusal(400, "BadRequest", "no such path");
    if (!path.includes("/nodes/")) return ok(listOf(server.pods));
    return server.isNodeReadable ? ok(json(server.node)) : refusal(500, "InternalError", "etcdserver: no leader");
  };
  const transport = async (request: HttpRequest): Promise<HttpResponse> => {
    request.guard?.();
    if (request.method === "POST" && server.latency > 0) await sleep(clock, server.latency, request.signal);
    const { code, body } = answerTo(request);
    return {
      status: code,
      headers: code === 200 || server.retryAfter === undefined ? {} : { "retry-after": server.retryAfter },
      body: (async function* () {
        yield body;
      })(),
    };
  };
  const traffic = new Traffic();
  const limiter = new RequestLimiter(ambient, { qps: 1000, burst: 1000 });
  const timeouts = { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 };
  const client = new KubeClient(ambient, { transport, traffic, limiter, timeouts, userAgent: "siteward/1" });
  const events: string[] = [];
  // A drain of a cordoned board uses no more than this.
  const deps = {
    ...{ ambient, client, config: { board: { node: "pi-3" } }, current: {} },
    announce: ({ reason }: { reason: string }) => void events.push(reason),
  } as unknown as OperationsDeps;
  const cancel = new AbortController();
  /** What the status says of the drain, each time it is written immediately. */
  const shown: string[] = [];
  const sayingOf = (drain: BoardDrain): string =>
    drainProblem(drain.view(), clock.now())[0]?.message.replace(/^.*\(new fan\): /, "") ?? "";
  const start = (dryRun: boolean, force = false) => {
    const order: DrainOrder = {
      options: { timeout: 60_000, force },
      author: { by: "ops:alice", reason: "new fan" },
      progress: () => undefined,
      changed: () => void shown.push(sayingOf(drain)),
      signal: cancel.signal,
      dryRun,
    };
    const drain: BoardDrain = new BoardDrain(order, deps, new Cordons(deps));
    return { drain, effect: drain.run() };
  };
  const run = async (dryRun: boolean, force = false, lasts = "10s") => {
    const { effect } = start(dryRun, force);
    await clock.advance(lasts);
    return await effect;
  };
  return { run, start, evicted, server, clock, events, log, cancel, shown };
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

test("a pod without a controller is evicted only by force, and a terminating one is left to end", async () => {
  const pods = [{ name: "alone" }, { name: "ending", owner: "ReplicaSet", isTerminating: true }];
  expect(await board(pods).run(false)).toMatchObject({ error: "unmanaged-pods", result: { pods: ["shop/alone"] } });
  const forced = board(pods);
  expect(await forced.run(true, true)).toMatchObject({ result: { pods: ["shop/alone", "shop/ending"] } });
});

test("the status says how many pods are left before the first is evicted, and which ones are blocked", async () => {
  const blocked = new Set(["a", "b", "c", "d"]);
  const { start, clock, shown } = board(["a", "b", "c", "d", "e"].map(web), (name) =>
    blocked.has(name) ? kept() : undefined,
  );
  const { drain, effect } = start(false);
  const { left } = drain.view();
  expect(left).toBeUndefined();
  expect(drainProblem(drain.view(), clock.now())[0]?.message).toContain(": its pods are not listed yet");
  await clock.advance("1s");
  const four = "evictions refused so far: shop/a, shop/b, shop/c, and 1 more";
  expect(shown).toEqual(["0 pods evicted, 5 left", `1 pod evicted, 5 left; ${four}`]);
  expect(drainProblem(drain.view(), clock.now())[0]?.hint).toContain("kubectl get pdb -A");
  await clock.advance("20s");
  expect(shown).toHaveLength(2);
  blocked.delete("a");
  await clock.advance("5s");
  expect(shown.at(-1)).toBe("2 pods evicted, 4 left; evictions refused so far: shop/b, shop/c, shop/d");
  blocked.clear();
  await clock.advance("10s");
  expect(await effect).toMatchObject({ outcome: "done", result: { evicted: 5, left: 0 } });
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
  const { run, evicted } = board(pods, () => {
    seen.push(heap());
    return undefined;
  });
  const before = heap();
  expect(await run(false)).toMatchObject({ result: { evicted: 30, left: 0 } });
  expect(evicted).toHaveLength(30);
  expect(Math.max(...seen) - before).toBeLessThan(10 * 1024 * 1024);
});

const web = (name: string): Listed => ({ name, owner: "ReplicaSet" });
const kept = (): ReturnType<typeof refusal> => refusal(429, "TooManyRequests", "Cannot evict pod");

test("an uncordon by another program ends a drain before it evicts another pod", async () => {
  const { start, evicted, server, clock, events } = board([web("guarded"), web("a")], (name) =>
    name === "guarded" ? kept() : undefined,
  );
  const { effect } = start(false);
  await clock.advance("7s");
  expect(evicted).toEqual(["a"]);
  Object.assign(server, { node: { ...server.node, spec: {} }, pods: [web("guarded"), web("new-1"), web("new-2")] });
  await clock.advance("6s");
  expect(await effect).toMatchObject({ outcome: "failed", code: 409, error: "uncordoned", result: { evicted: 1 } });
  expect(evicted).toEqual(["a"]);
  expect(events).toEqual(["BoardDraining", "BoardNotDrained"]);
});

test("an uncordon by this agent ends a drain immediately", async () => {
  const { start, evicted, server, clock } = board([web("guarded")], kept);
  const { drain, effect } = start(false);
  await clock.advance("7s");
  Object.assign(server, { node: { ...server.node, spec: {} }, pods: [web("new")] });
  drain.overrule();
  expect(await effect).toMatchObject({ outcome: "failed", code: 409, error: "uncordoned" });
  expect(evicted).toEqual([]);
});

test("an uncordon ends a drain that waits between two of many pods", async () => {
  const pods = Array.from({ length: 50 }, (_, at) => web(`p-${at}`));
  const { start, evicted, server, clock } = board(pods);
  server.latency = 1000;
  server.asked = () => {
    if (evicted.length === 12) Object.assign(server, { node: { ...server.node, spec: {} } });
  };
  const { effect } = start(false);
  await clock.advance("30s");
  expect(await effect).toMatchObject({ error: "uncordoned" });
  expect(evicted.length).toBeLessThan(18);
});

test("an eviction that the server postponed is not sent again after an uncordon", async () => {
  let asked = 0;
  const busy = refusal(503, "ServiceUnavailable", "apiserver is shutting down");
  const { start, evicted, server, clock } = board([web("a")], () => (++asked === 1 ? busy : undefined));
  server.retryAfter = "10";
  const { effect } = start(false);
  await clock.advance("5s");
  Object.assign(server, { node: { ...server.node, spec: {} } });
  await clock.advance("16s");
  expect(await effect).toMatchObject({ error: "uncordoned", result: { evicted: 0, left: 1 } });
  expect([asked, evicted]).toEqual([1, []]);
});

test("a drained board that was uncordoned in the meantime is not reported as drained", async () => {
  const { start, server, clock } = board([web("a")]);
  const { effect } = start(false);
  await clock.advance("1s");
  Object.assign(server, { node: { ...server.node, spec: {} } });
  await clock.advance("6s");
  expect(await effect).toMatchObject({ outcome: "failed", error: "uncordoned", result: { evicted: 1, left: 0 } });
});

test("a Node that was deleted and registered again is not drained, even if it is cordoned too", async () => {
  const { start, evicted, server, clock } = board([web("guarded")], kept);
  const { effect } = start(false);
  await clock.advance("1s");
  const metadata = { ...server.node.metadata, uid: "u2" };
  Object.assign(server, { node: { ...server.node, metadata }, pods: [web("new")] });
  await clock.advance("6s");
  expect(await effect).toMatchObject({ outcome: "failed", code: 409, error: "board-replaced" });
  expect(evicted).toEqual([]);
});

test("nothing is evicted while the Node cannot be read, and the drain continues once it can be read", async () => {
  const { start, evicted, server, clock } = board([web("guarded")], (name) =>
    name === "guarded" ? kept() : undefined,
  );
  const { effect } = start(false);
  await clock.advance("1s");
  server.isNodeReadable = false;
  server.pods = [web("a")];
  await clock.advance("20s");
  expect(evicted).toEqual([]);
  server.isNodeReadable = true;
  await clock.advance("12s");
  expect(await effect).toMatchObject({ outcome: "done", result: { evicted: 1, left: 0 } });
});

test("a bare pod that appears during an unforced drain is kept, and the drain ends once only that pod is left", async () => {
  const { start, evicted, server, clock } = board([web("a")]);
  const { effect } = start(false);
  server.asked = (_, path) => {
    // Bound directly between the first look and the cordon.
    if (path.includes("/nodes/") && server.pods.length === 1) server.pods.push({ name: "bare" });
  };
  await clock.advance("12s");
  const result = { evicted: 1, left: 1, alone: ["shop/bare"], pods: ["shop/a"] };
  expect(await effect).toMatchObject({ outcome: "failed", code: 409, error: "unmanaged-pods", result });
  expect(evicted).toEqual(["a"]);
});

test("a bare pod that appears during a forced drain is evicted", async () => {
  const { start, evicted, server, clock } = board([web("a")]);
  const { effect } = start(false, true);
  await clock.advance("1s");
  server.pods.push({ name: "bare" });
  await clock.advance("12s");
  expect(await effect).toMatchObject({ outcome: "done", result: { evicted: 2, left: 0 } });
  expect(evicted).toEqual(["a", "bare"]);
});

test("a drain that cannot end because pods are bound to the cordoned board all the time names them", async () => {
  const { start, server, clock } = board([web("a")]);
  const { effect } = start(false);
  await clock.advance("4s");
  for (let number = 1; number <= 12; number++) {
    server.pods.push(web(`late-${number}`));
    await clock.advance("5s");
  }
  expect(await effect).toMatchObject({
    error: "timeout",
    message: expect.stringMatching(
      /^pods were left when the time limit passed: shop\/late-\d+; 1 of them was bound to the board after it was cordoned/,
    ),
    result: { leaving: [expect.stringMatching(/^shop\/late-/)], late: 1 },
  });
});

test("a finished pod without a controller needs no force", async () => {
  const { run, evicted } = board([{ name: "over", phase: "Succeeded" }]);
  expect(await run(false)).toMatchObject({ outcome: "done", result: { evicted: 1 } });
  expect(evicted).toEqual(["over"]);
});

test.each([
  ["names a DaemonSet that does not exist", { owner: "DaemonSet", ownerName: "missing" }],
  ["names a DaemonSet of another group", { owner: "DaemonSet evil.io/v9" }],
  ["names a DaemonSet by a path", { owner: "DaemonSet", ownerName: ".." }],
  ["names a DaemonSet by a name of 100 KB", { owner: "DaemonSet", ownerName: "a".repeat(100_000) }],
])("a pod that %s is not a daemon pod, so it is evicted only by force", async (_, owner) => {
  const pods = [{ name: "tenant", ...owner }, web("a")];
  expect(await board(pods).run(false)).toMatchObject({ error: "unmanaged-pods", result: { pods: ["shop/tenant"] } });
  const forced = board(pods);
  expect(await forced.run(false, true)).toMatchObject({ outcome: "done", result: { evicted: 2, skipped: 0, left: 0 } });
  expect([...forced.evicted].sort()).toEqual(["a", "tenant"]);
});

test("a drain does not wait for each of the DaemonSets that a tenant's pods name", async () => {
  const invented = Array.from({ length: 300 }, (_, at) => ({
    ...{ name: `tenant-${at}`, owner: "DaemonSet", ownerName: `invented-${at}` },
  }));
  const { run, server } = board([{ name: "daemon", owner: "DaemonSet" }, ...invented]);
  const asked: string[] = [];
  server.asked = (_, path) => void asked.push(path);
  expect(await run(false, true)).toMatchObject({ outcome: "done", result: { evicted: 300, skipped: 1 } });
  expect(asked.filter((path) => path.includes("/daemonsets"))).toHaveLength(1);
});

test("a drain evicts the pods of each namespace in turn, so that the many pods of one do not delay the others", async () => {
  const many = Array.from({ length: 50 }, (_, at) => web(`a-${at}`));
  const { run, evicted } = board([...many, { ...web("till"), namespace: "till" }]);
  expect(await run(false)).toMatchObject({ outcome: "done", result: { evicted: 51 } });
  expect(evicted.indexOf("till")).toBe(1);
});

test("a drain moves all pods that it can read, and then fails because of one that it cannot", async () => {
  const { run, evicted } = board([web("a"), { ...web("labelled"), labels: 1100 }]);
  const effect = await run(false);
  expect(effect).toMatchObject({
    outcome: "failed",
    code: 409,
    error: "unreadable-pods",
    result: { evicted: 1, left: 1 },
  });
  expect(effect).toMatchObject({ message: expect.stringMatching(/^1 pod on the board cannot be read .*labelled/) });
  expect(evicted).toEqual(["a"]);
});

test("a drain whose evictions are refused reports which ones and why", async () => {
  const twice = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
  const { run } = board([web("twice"), web("a")], (name) =>
    name === "twice" ? refusal(500, "InternalError", twice) : undefined,
  );
  const effect = await run(false, false, "70s");
  expect(effect).toMatchObject({ outcome: "failed", code: 409, error: "eviction-refused" });
  expect(effect).toMatchObject({ message: expect.stringContaining(`shop/twice: `) });
  const result = {
    evicted: 1,
    left: 1,
    blocked: [],
    refused: [{ pod: "shop/twice", why: expect.stringContaining(twice) }],
  };
  expect(effect).toMatchObject({ result });
});

test("pods that a disruption budget blocks do not delay the others, however long the server asks to wait", async () => {
  const tenants = Array.from({ length: 30 }, (_, at) => web(`blocked-${at}`));
  const { start, server, evicted, clock } = board([...tenants, web("victim")], (name) =>
    name === "victim" ? undefined : refusal(429, "TooManyRequests", "Cannot evict pod", { retryAfterSeconds: 10 }),
  );
  server.retryAfter = "10";
  const { effect } = start(false);
  await clock.advance("1s");
  expect(evicted).toEqual(["victim"]);
  await clock.advance("60s");
  expect(await effect).toMatchObject({ code: 409, error: "pdb-blocked", result: { evicted: 1, left: 30 } });
});

test("a drain that a disruption budget blocks names the budget", async () => {
  const message = "The disruption budget guard needs 1 healthy pods and has 1 currently";
  const details = { causes: [{ reason: "DisruptionBudget", message }] };
  const { run } = board([web("guarded")], () => refusal(429, "TooManyRequests", "Cannot evict pod", details));
  const result = { blocked: ["shop/guarded"], refused: [{ pod: "shop/guarded", why: message }] };
  expect(await run(false, false, "70s")).toMatchObject({ code: 409, error: "pdb-blocked", result });
});

test("a drain without the permission to read DaemonSets says what to do, and does not cordon the board", async () => {
  const { run, server } = board([{ name: "daemon", owner: "DaemonSet" }]);
  const asked: string[] = [];
  server.asked = (method, path) => void asked.push(`${method} ${path}`);
  const why = 'daemonsets.apps is forbidden: User "agent" cannot list resource "daemonsets" in API group "apps"';
  server.daemonSets = () => refusal(403, "Forbidden", why);
  expect(await run(false)).toMatchObject({
    ...{ outcome: "failed", code: 403, error: "forbidden" },
    message: expect.stringMatching(/cannot list resource "daemonsets".*; grant the agent's user this permission/),
  });
  expect(asked.filter((one) => one.includes("/nodes/"))).toEqual([]);
});

test("a drain without the permission to evict ends immediately", async () => {
  const { run } = board([web("a"), web("b")], () => refusal(403, "Forbidden", "cannot create pods/eviction"));
  expect(await run(false, false, "1s")).toMatchObject({ outcome: "failed", code: 403, error: "forbidden" });
});

test("a running drain shows how far it is, and the log names each pod that it evicted", async () => {
  const { start, clock, log, cancel } = board([web("a"), web("guarded")], (name) =>
    name === "guarded" ? kept() : undefined,
  );
  const { drain, effect } = start(false);
  await clock.advance("7s");
  expect(drain.view()).toMatchObject({ board: "pi-3", by: "ops:alice", reason: "new fan", evicted: 1, left: 1 });
  const lines = log.lines.filter(({ message }) => message === "pod evicted by a drain");
  expect(lines.map(({ fields }) => fields)).toMatchObject([
    { pod: "shop/a", uid: "uid-a", by: "ops:alice", board: "pi-3" },
  ]);
  cancel.abort();
  expect(await effect).toMatchObject({ code: 499, result: { pods: ["shop/a"] } });
});
