import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DaemonSet } from "../../agent/api/core.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  nodes,
  pods,
  services,
} from "../../agent/api/resources.ts";
import { notReady, taintKeys, unreachable } from "../../agent/api/taints.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import { atOnce } from "../../agent/base/steps.ts";
import { adoption } from "../../agent/controllers/claims.ts";
import { decide as bind, waitingPod } from "../../agent/controllers/daemon-binding/decide.ts";
import { UsedCapacity } from "../../agent/controllers/daemon-binding/fit.ts";
import { decide as decideSet } from "../../agent/controllers/daemonset/decide.ts";
import {
  historyOf,
  knownRevision,
  newRevision,
  presentHash,
  surplusRevisions,
} from "../../agent/controllers/daemonset/history.ts";
import { firstMemory } from "../../agent/controllers/daemonset/memory.ts";
import type { SetWork } from "../../agent/controllers/daemonset/pass.ts";
import { podWrites } from "../../agent/controllers/daemonset/pod-writes.ts";
import { decide as decideSlices } from "../../agent/controllers/endpoint-slice/decide.ts";
import { decide as decideEndpoints } from "../../agent/controllers/endpoints/decide.ts";
import { noMemory as noEndpoints } from "../../agent/controllers/endpoints/memory.ts";
import { decideNodeTaints } from "../../agent/controllers/node-lifecycle/node-taints.ts";
import { takeOutOfService } from "../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import { writeTaints } from "../../agent/controllers/node-lifecycle/pass.ts";
import { markNotReady } from "../../agent/controllers/node-lifecycle/pods-not-ready.ts";
import { silentConditions, writeConditions } from "../../agent/controllers/node-lifecycle/silent-conditions.ts";
import { swapTaints } from "../../agent/controllers/node-lifecycle/taints.ts";
import { decide as collect, firstGcMemory, type GcPass } from "../../agent/controllers/pod-gc/decide.ts";
import { noMemory as noSlices } from "../../agent/controllers/slices/memory.ts";
import { removal } from "../../agent/controllers/slices/write.ts";
import { decide as evict } from "../../agent/controllers/taint-eviction/decide.ts";
import { LeaseLock } from "../../agent/election/lease-lock.ts";
import { type Action, refTo } from "../../agent/execution/actions.ts";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import { until } from "../support/agent-process.ts";
import { FormerLeader } from "../support/former-leader.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { type Held, LateLink, type LateRequest } from "../support/links/late-link.ts";
import { boardName, fillBoards } from "../support/load.ts";

/*
 * docs/late-writes.md as tests: every kind of write, sent by the program's own client and executor while it was correct, and
 * delivered when it no longer is. A real agent leads the site throughout and repairs the effects that can be repaired.
 *
 * LATE_SECONDS=60 npx vitest run --project kube test/kube/late-writes.test.ts -t 'an eviction'   delays the delivery by 60 s.
 */
const late = Number(process.env.LATE_SECONDS ?? 0) * 1000;
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const inDefault = (plural: string, group = "api/v1"): string => `/${group}/namespaces/default/${plural}`;
const podsAt = inDefault("pods");
const [own, board, other] = [0, 1, 2].map(boardName) as [string, string, string];
const cause = { board, verdict: "unproven", rule: "silent" } as const;
const grounds = { act: "board-marked", board, because: { kind: "silence", ...cause }, gate: {} } as const;
const link = {
  live: true,
  notLiveSince: undefined,
  restoredAt: undefined,
  proof: { nodes: undefined, leases: undefined },
};
const lifecycle = { policy: "kubernetes", gracePeriod: 40_000 } as const;
const silence = { policy: "kubernetes", held: undefined, boards: new Map() } as const;
const nothing: Omit<GcPass, "kind"> = {
  ended: [],
  outOfService: [],
  missing: [],
  lookups: new Map(),
  orphans: [],
  shut: () => undefined,
  unbound: [],
};
const document = readFileSync(path.resolve(import.meta.dirname, "../../docs/late-writes.md"), "utf8");

interface Scene {
  readonly held: Held;
  /** The change on the site before the request arrives. */
  readonly meanwhile: () => Promise<unknown>;
  /** The state of the site afterwards. */
  readonly after?: () => Promise<unknown>;
}

describe.skipIf(missingAssets() || !hasOpenssl())("a write that arrives late", () => {
  const site = new KubeSite();
  const authority = new Authority();
  const { cluster } = site;
  let lateLink: LateLink;
  let former: FormerLeader;

  beforeAll(async () => {
    await site.start();
    await fillBoards(cluster, { nodes: 3, pods: 0, seed: 1 });
    site.beat(0, 1, 2);
    const ca = readFileSync(path.join(cluster.dir, "certs/apiserver.crt"), "utf8");
    lateLink = new LateLink({ target: cluster.server, ca, pair: authority.issue("late link") });
    const kubeconfig = path.join(cluster.dir, "late.kubeconfig");
    cluster.writeKubeconfig(kubeconfig, await lateLink.listen(), authority.ca);
    former = new FormerLeader(kubeconfig, lateLink);
    site.agent(own, { daemonSet: { bind: true }, nodeLifecycle: { monitorPeriod: "500ms" } });
    await until("another board leads", () => site.leader?.isReady === true, 30);
  });
  afterAll(async () => {
    former?.close();
    await site.stop();
    await lateLink?.close();
    authority.remove();
  });

  const now = () => former.ambient.clock.now();
  const stamp = (): string => timestamp(now());
  const pod = (name: string) => former.read(pods, name, "default");
  const sent = (method: string, part: string) => (request: LateRequest) =>
    request.method === method && request.path.includes(part);
  const patch = (url: string, body: object, type = merge) => cluster.request("PATCH", url, body, type);
  let reports = 0;
  const conditions = (url: string, type: string, status: string) => {
    // A write without a change does not create a new resourceVersion.
    const condition = { type, status, lastTransitionTime: stamp(), message: `report ${++reports}` };
    return patch(`${url}/status`, { status: { conditions: [condition] } }, strategic);
  };
  const podExists = (name: string) =>
    cluster.request("GET", `${podsAt}/${name}`).then(
      () => true,
      () => false,
    );

  async function makePod(name: string, more: { on?: string; phase?: string; labels?: object } = {}): Promise<void> {
    const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 };
    await cluster.request("POST", podsAt, {
      metadata: { name, labels: more.labels ?? {} },
      spec: {
        ...("on" in more ? { nodeName: more.on } : {}),
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "main", image: "example/app:1" }],
        tolerations: [unreachable, notReady].map(({ key }) => ({ key, ...toleration })),
      },
    });
    if (more.on === undefined) return;
    const status = { phase: more.phase ?? "Running", podIP: "10.9.0.1", podIPs: [{ ip: "10.9.0.1" }] };
    await patch(`${podsAt}/${name}/status`, { status }, strategic);
    await conditions(`${podsAt}/${name}`, "Ready", more.phase === undefined ? "True" : "False");
  }

  async function evicts(name: string, key: string, method: string, isRead = false): Promise<Held> {
    await makePod(name, { on: board });
    const state = {
      kind: "bound",
      pod: await pod(name),
      board,
      taints: [{ key, effect: "NoExecute" }],
      isRead,
      isGone: false,
      isInStep: true,
      mayBeFormer: false,
      ready: "Unknown",
      link,
      silence: undefined,
      watched: undefined,
      isNodeInStep: true,
      hold: undefined,
      shut: undefined,
      inherited: undefined,
    } as const;
    return former.send(evict(state, undefined, lifecycle, now()).actions, sent(method, `/pods/${name}`));
  }

  /** The kubelet of its board writes the pod. */
  const kubeletWrites = (name: string) => () => conditions(`${podsAt}/${name}`, "Ready", "True");

  async function replaced(name: string): Promise<void> {
    await cluster.request("DELETE", `${podsAt}/${name}?gracePeriodSeconds=0`);
    await makePod(name, { on: board });
  }

  const disrupted = async (name: string): Promise<boolean> =>
    (await pod(name)).status?.conditions?.some(({ type }) => type === "DisruptionTarget") ?? false;

  async function orphaned(name: string, method: string): Promise<Held> {
    await makePod(name, { on: `gone-${name}` });
    const orphans = [{ board: `gone-${name}`, pods: [await pod(name)], hasMore: false }];
    const { actions } = collect({ kind: "pass", ...nothing, orphans }, firstGcMemory, now());
    return former.send(actions, sent(method, `/pods/${name}`));
  }

  const node = () => former.read(nodes, board);
  const nodeAt = `/api/v1/nodes/${board}`;
  /** The kubelet of the board writes its Node, as after a return or any other change of its status. */
  const kubeletReports = async () => {
    await conditions(nodeAt, "Ready", "False");
    await conditions(nodeAt, "Ready", "True");
  };
  const toNode = (actions: readonly Action[]): Promise<Held> => former.send(actions, sent("PATCH", nodeAt));
  const taintsOf = async (): Promise<readonly string[]> =>
    (await site.node(1)).spec.taints?.map(({ key, effect }) => `${key}:${effect}`) ?? [];

  async function makeSet(name: string): Promise<DaemonSet> {
    await cluster.request("POST", inDefault("daemonsets", "apis/apps/v1"), {
      metadata: { name },
      spec: {
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "example/agent:1" }] },
        },
      },
    });
    await until(`pods of ${name} are bound`, async () => (await podsOf(name)).filter(({ on }) => on).length === 3, 20);
    await until(
      `the status of ${name}`,
      async () => (await former.read(daemonSets, name, "default")).status?.currentNumberScheduled === 3,
      20,
    );
    return former.read(daemonSets, name, "default");
  }

  async function podsOf(name: string): Promise<readonly { readonly name: string; readonly on: string | undefined }[]> {
    const { items } = await cluster.request<{
      items: readonly { metadata: { name: string }; spec: { nodeName?: string } }[];
    }>("GET", `${podsAt}?labelSelector=app%3D${name}`);
    return items.map(({ metadata, spec }) => ({ name: metadata.name, on: spec.nodeName }));
  }

  const onePodEach = (name: string) => () =>
    until(
      `one pod of ${name} on each board`,
      async () => {
        const boards = (await podsOf(name)).map(({ on }) => on).sort();
        return JSON.stringify(boards) === JSON.stringify([own, board, other]);
      },
      20,
    );

  const workOf = (set: DaemonSet, more: Partial<SetWork>): SetWork => ({
    kind: "work",
    set,
    boards: [],
    vanished: [],
    pods: [],
    history: { ...historyOf([]), made: atOnce(newRevision(set)) },
    claims: [],
    expected: new Map(),
    ...more,
  });

  /** A DaemonSet whose pods have an older template. */
  const edited = (set: DaemonSet): DaemonSet => ({
    ...set,
    metadata: { ...set.metadata, annotations: { "deprecated.daemonset.template.generation": "99" } },
  });

  async function podOfSet(name: string) {
    const found = (await podsOf(name)).find(({ on }) => on === board);
    if (!found) throw new Error("no pod");
    return pod(found.name);
  }

  const context = { availability: { minReady: 0, readiness: new Map() }, backoffs: new Map() };

  async function makeService(name: string) {
    await makePod(`${name}-pod`, { on: board, labels: { app: name } });
    await cluster.request("POST", inDefault("services"), {
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    });
    return { service: await former.read(services, name, "default"), pods: [await pod(`${name}-pod`)] };
  }

  const slicesAt = inDefault("endpointslices", "apis/discovery.k8s.io/v1");
  async function slicesOf(name: string) {
    const url = `${slicesAt}?labelSelector=kubernetes.io%2Fservice-name%3D${name}`;
    const { items } = await cluster.request<{ items: readonly { metadata: { name: string } }[] }>("GET", url);
    return items.map(({ metadata }) => metadata.name);
  }

  async function written(name: string) {
    const made = await makeService(name);
    await until("the leader wrote them", async () => (await slicesOf(name)).length === 1, 20);
    await until(
      "and the Endpoints",
      () =>
        former.read(endpoints, name, "default").then(
          () => true,
          () => false,
        ),
      20,
    );
    const [slice = ""] = await slicesOf(name);
    const [read, sliceRead] = [
      await former.read(endpoints, name, "default"),
      await former.read(endpointSlices, slice, "default"),
    ];
    const addressed = async () => {
      const { subsets } = await former.read(endpoints, name, "default");
      return (subsets ?? []).flatMap(({ addresses = [] }) => addresses).length;
    };
    /** The new leader writes both twice: the pod is out of service, and back. */
    const blink = async () => {
      await conditions(`${podsAt}/${name}-pod`, "Ready", "False");
      await until("it is out", async () => (await addressed()) === 0, 20);
      await conditions(`${podsAt}/${name}-pod`, "Ready", "True");
      await until("it is back", async () => (await addressed()) === 1, 20);
    };
    return { ...made, endpoints: read, slice: sliceRead, blink, addressed };
  }

  const slicesState = { zones: new Map([[board, undefined]]), shares: "not asked", silence } as const;

  async function leaseOf(name: string) {
    const at = { namespace: "default", name };
    const lock = new LeaseLock({ client: former.client, at, labels: {}, annotations: {} });
    const claim = { holder: "former", durationSeconds: 10, term: 1 };
    const write = { signal: former.signal };
    const record = await lock.create(claim, now(), write);
    const taken = () =>
      patch(`${inDefault("leases", "apis/coordination.k8s.io/v1")}/${name}`, { spec: { holderIdentity: "next" } });
    const holder = async () => (await former.read(leases, name, "default")).spec?.holderIdentity;
    return { lock, record, claim, write, taken, holder };
  }

  const stays = (name: string) => async () => expect(await podExists(name)).toBe(true);
  const isGone = (name: string) => async () => expect(await podExists(name)).toBe(false);
  const isUnmarked = (name: string) => async () => expect(await disrupted(name)).toBe(false);

  const rows: readonly (readonly [
    write: string,
    names: string,
    meanwhile: string,
    answer: number,
    scene: () => Promise<Scene>,
  ])[] = [
    [
      "mark of an eviction",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => ({
        held: await evicts("a1", taintKeys.unreachable, "PATCH"),
        meanwhile: kubeletWrites("a1"),
        after: isUnmarked("a1"),
      }),
    ],
    [
      "eviction from a lost board",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => ({
        held: await evicts("a2", taintKeys.unreachable, "DELETE"),
        meanwhile: kubeletWrites("a2"),
        after: stays("a2"),
      }),
    ],
    [
      "eviction from a lost board",
      "uid, version",
      "a pod of the same name was created",
      409,
      async () => ({
        held: await evicts("a3", taintKeys.unreachable, "DELETE"),
        meanwhile: () => replaced("a3"),
        after: stays("a3"),
      }),
    ],
    [
      "eviction from a lost board",
      "uid, version",
      "the pod is unchanged",
      200,
      async () => ({
        held: await evicts("a4", taintKeys.unreachable, "DELETE"),
        meanwhile: async () => undefined,
        after: isGone("a4"),
      }),
    ],
    [
      "eviction for a taint set by hand",
      "uid",
      "the kubelet wrote the pod",
      200,
      async () => ({
        held: await evicts("a5", "example.com/maintenance", "DELETE"),
        meanwhile: kubeletWrites("a5"),
        after: isGone("a5"),
      }),
    ],
    [
      "the same, first attempt after reading the Node and the pod",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => ({
        held: await evicts("a5r", "example.com/maintenance", "DELETE", true),
        meanwhile: kubeletWrites("a5r"),
        after: stays("a5r"),
      }),
    ],
    [
      "eviction for a taint set by hand",
      "uid",
      "a pod of the same name was created",
      409,
      async () => ({
        held: await evicts("a6", "example.com/maintenance", "DELETE"),
        meanwhile: () => replaced("a6"),
        after: stays("a6"),
      }),
    ],
    [
      "mark of an orphan",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => ({
        held: await orphaned("b1", "PATCH"),
        meanwhile: kubeletWrites("b1"),
        after: async () => expect((await pod("b1")).status?.phase).toBe("Running"),
      }),
    ],
    [
      "deletion of an orphan",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => ({
        held: await orphaned("b2", "DELETE"),
        meanwhile: kubeletWrites("b2"),
        after: stays("b2"),
      }),
    ],
    [
      "deletion of a finished pod",
      "uid",
      "a pod of the same name was created",
      409,
      async () => {
        await makePod("b3", { on: board, phase: "Succeeded" });
        const { actions } = collect({ kind: "pass", ...nothing, ended: [await pod("b3")] }, firstGcMemory, now());
        return {
          held: await former.send(actions, sent("DELETE", "/b3")),
          meanwhile: () => replaced("b3"),
          after: stays("b3"),
        };
      },
    ],
    [
      "pod marked not ready",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => {
        await makePod("c1", { on: board });
        const held = await former.send(markNotReady(refTo(pods, await pod("c1")), cause, now()), sent("PATCH", "/c1"));
        return { held, meanwhile: kubeletWrites("c1") };
      },
    ],
    [
      "pod marked not ready",
      "uid, version",
      "the pod is unchanged",
      200,
      async () => {
        await makePod("c2", { on: board });
        const held = await former.send(markNotReady(refTo(pods, await pod("c2")), cause, now()), sent("PATCH", "/c2"));
        // Every ten seconds the kubelet compares its pods with those of the API.
        return { held, meanwhile: async () => undefined, after: kubeletWrites("c2") };
      },
    ],
    [
      "NoExecute taint",
      "uid, version",
      "the kubelet wrote the Node",
      409,
      async () => {
        const read = await node();
        const taints = swapTaints(read, { wanted: unreachable, opposite: notReady }, now());
        const action = writeTaints({
          node: read,
          cached: read.metadata.resourceVersion,
          taints,
          cause,
          grounds: undefined,
          turn: undefined,
        });
        return {
          held: await toNode([action]),
          meanwhile: kubeletReports,
          after: async () => expect(await taintsOf()).toEqual([]),
        };
      },
    ],
    [
      "NoExecute taint",
      "uid, version",
      "the Node is unchanged",
      200,
      async () => {
        // Tolerates the taint for zero seconds.
        await makePod("c3", { on: board });
        const read = await node();
        const taints = swapTaints(read, { wanted: unreachable, opposite: notReady }, now());
        const action = writeTaints({
          node: read,
          cached: read.metadata.resourceVersion,
          taints,
          cause,
          grounds: undefined,
          turn: undefined,
        });
        return {
          held: await toNode([action]),
          meanwhile: async () => undefined,
          after: async () => {
            await until("the leader removes it", async () => (await taintsOf()).length === 0, 20);
            await stays("c3")();
          },
        };
      },
    ],
    [
      "conditions of a silent board",
      "uid, version",
      "the kubelet wrote the Node",
      409,
      async () => {
        const read = await node();
        return {
          held: await toNode([writeConditions(read, silentConditions(read, stamp()), grounds)]),
          meanwhile: kubeletReports,
        };
      },
    ],
    [
      "conditions of a silent board",
      "uid, version",
      "the Node is unchanged",
      200,
      async () => {
        await makePod("d1", { on: board });
        const read = await node();
        const held = await toNode([writeConditions(read, silentConditions(read, stamp()), grounds)]);
        return {
          held,
          meanwhile: async () => undefined,
          after: async () => {
            // Until the kubelet's next report, within ten seconds, at most marks and a NoSchedule taint.
            await pause(3000);
            expect((await taintsOf()).filter((taint) => taint.endsWith(":NoExecute"))).toEqual([]);
            for (const type of ["MemoryPressure", "DiskPressure", "PIDPressure"])
              await conditions(nodeAt, type, "False");
            await kubeletReports();
            await until("it has no taint", async () => (await taintsOf()).length === 0, 20);
            expect(await podExists("d1")).toBe(true);
          },
        };
      },
    ],
    [
      "NoSchedule taint",
      "uid, version",
      "the kubelet wrote the Node",
      409,
      async () => {
        const read = await node();
        const cordoned = { ...read, spec: { ...read.spec, unschedulable: true } };
        return { held: await toNode(decideNodeTaints(cordoned, undefined, now()).actions), meanwhile: kubeletReports };
      },
    ],
    [
      "board confirmed dead",
      "uid, version",
      "the kubelet wrote the Node",
      409,
      async () => ({
        held: await toNode([takeOutOfService(await node(), undefined, { by: "ops" }, now())]),
        meanwhile: kubeletReports,
      }),
    ],
    [
      "board confirmed dead",
      "uid, version",
      "the kubelet only renewed its Lease",
      200,
      async () => {
        const lease = await former.read(leases, board, "kube-node-lease");
        const held = await toNode([takeOutOfService(await node(), lease, { by: "ops" }, now())]);
        const isRenewed = async () =>
          (await former.read(leases, board, "kube-node-lease")).metadata.resourceVersion !==
          lease.metadata.resourceVersion;
        return {
          held,
          meanwhile: () => until("the Lease is renewed", isRenewed, 20),
          after: () => until("the leader removes it", async () => (await taintsOf()).length === 0, 20),
        };
      },
    ],
    [
      "creation of a daemon pod",
      "nothing",
      "the next leader created it",
      201,
      async () => {
        const set = await makeSet("e1");
        const work = workOf(set, { boards: [{ name: board, run: true, stay: true }] });
        const { actions } = atOnce(podWrites(work, { ...context, hash: atOnce(presentHash(set)) }, now()));
        return {
          held: await former.send(actions, sent("POST", "/pods")),
          meanwhile: async () => undefined,
          after: onePodEach("e1"),
        };
      },
    ],
    [
      "deletion of a broken daemon pod of a silent board",
      "uid, version",
      "the kubelet wrote the pod",
      409,
      async () => {
        const set = await makeSet("e2");
        const old = await podOfSet("e2");
        const boards = [{ name: board, run: true, stay: true, silence: { cause, grounds, isHeld: false } }];
        const work = workOf(edited(set), { boards, pods: [old] });
        const { actions } = atOnce(podWrites(work, { ...context, hash: "another" }, now()));
        return {
          held: await former.send(actions, sent("DELETE", old.metadata.name)),
          meanwhile: kubeletWrites(old.metadata.name),
          after: stays(old.metadata.name),
        };
      },
    ],
    [
      "deletion of a daemon pod in a rollout",
      "uid",
      "the kubelet wrote the pod",
      200,
      async () => {
        const set = await makeSet("e3");
        const old = await podOfSet("e3");
        const work = workOf(edited(set), { boards: [{ name: board, run: true, stay: true }], pods: [old] });
        const { actions } = atOnce(podWrites(work, { ...context, hash: "another" }, now()));
        return {
          held: await former.send(actions, sent("DELETE", old.metadata.name)),
          meanwhile: kubeletWrites(old.metadata.name),
          after: onePodEach("e3"),
        };
      },
    ],
    [
      "status of a DaemonSet",
      "uid",
      "the next leader wrote it",
      200,
      async () => {
        const set = await makeSet("e4");
        const hash = atOnce(presentHash(set));
        const revision = await former.read(controllerRevisions, `e4-${hash}`, "default");
        const history = historyOf([atOnce(knownRevision(set, revision))]);
        const { actions } = decideSet(workOf(set, { history }), firstMemory, now());
        const scheduled = async () => (await former.read(daemonSets, "e4", "default")).status?.currentNumberScheduled;
        return {
          held: await former.send(actions, sent("PATCH", "/daemonsets/e4/status")),
          meanwhile: () => patch(inDefault("daemonsets/e4", "apis/apps/v1"), { metadata: { annotations: { a: "b" } } }),
          after: () => until("the leader corrects it", async () => (await scheduled()) === 3, 20),
        };
      },
    ],
    [
      "creation of a ControllerRevision",
      "its name",
      "the next leader created it",
      409,
      async () => {
        const set = await makeSet("e5");
        const { actions } = decideSet(workOf(set, {}), firstMemory, now());
        return {
          held: await former.send(actions, sent("POST", "/controllerrevisions")),
          meanwhile: async () => undefined,
        };
      },
    ],
    [
      "deletion of a ControllerRevision",
      "uid, version",
      "a rollback made it the current one",
      409,
      async () => {
        const set = await makeSet("e6");
        const name = `e6-${atOnce(presentHash(set))}`;
        const revision = await former.read(controllerRevisions, name, "default");
        const next = { ...set, spec: { ...set.spec, revisionHistoryLimit: 0 } } as DaemonSet;
        const actions = surplusRevisions(next, { present: [], old: [atOnce(knownRevision(set, revision))] }, []);
        return {
          held: await former.send(actions, sent("DELETE", name)),
          meanwhile: () => patch(inDefault(`controllerrevisions/${name}`, "apis/apps/v1"), { revision: 7 }),
          after: () => former.read(controllerRevisions, name, "default"),
        };
      },
    ],
    [
      "binding of a daemon pod",
      "uid",
      "the next leader bound it",
      409,
      async () => {
        await makePod("f1");
        const { actions } = bind(
          { node: await node(), taken: new UsedCapacity(), waiting: [waitingPod(await pod("f1"), await node())] },
          new Set(),
          now(),
        );
        const target = { apiVersion: "v1", kind: "Node", name: other };
        return {
          held: await former.send(actions, sent("POST", "/f1/binding")),
          meanwhile: () => cluster.request("POST", `${podsAt}/f1/binding`, { metadata: { name: "f1" }, target }),
          after: async () => expect((await pod("f1")).spec?.nodeName).toBe(other),
        };
      },
    ],
    [
      "binding of a daemon pod",
      "uid",
      "a pod of the same name was created",
      409,
      async () => {
        await makePod("f2");
        const { actions } = bind(
          { node: await node(), taken: new UsedCapacity(), waiting: [waitingPod(await pod("f2"), await node())] },
          new Set(),
          now(),
        );
        const replace = async () => {
          await cluster.request("DELETE", `${podsAt}/f2?gracePeriodSeconds=0`);
          await makePod("f2");
        };
        return {
          held: await former.send(actions, sent("POST", "/f2/binding")),
          meanwhile: replace,
          after: async () => expect((await pod("f2")).spec?.nodeName).toBe(undefined),
        };
      },
    ],
    [
      "adoption of a pod",
      "uid",
      "another controller adopted it",
      422,
      async () => {
        const set = await makeSet("f3");
        await makePod("f3-alone", { on: board, labels: { x: "y" } });
        const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "x", uid: "x", controller: true };
        return {
          held: await former.send(
            [adoption(daemonSets, set, refTo(pods, await pod("f3-alone")))],
            sent("PATCH", "/f3-alone"),
          ),
          meanwhile: () => patch(`${podsAt}/f3-alone`, { metadata: { ownerReferences: [owner] } }),
        };
      },
    ],
    [
      "creation of Endpoints",
      "their name",
      "the next leader created them",
      409,
      async () => {
        const made = await written("g1");
        const { actions } = decideEndpoints({ kind: "selected", ...made, endpoints: undefined, silence }, noEndpoints);
        return { held: await former.send(actions, sent("POST", "/endpoints")), meanwhile: async () => undefined };
      },
    ],
    [
      "change of Endpoints",
      "uid, version",
      "the next leader wrote them",
      409,
      async () => {
        const made = await written("g2");
        const { actions } = decideEndpoints({ kind: "selected", ...made, pods: [], silence }, noEndpoints);
        return {
          held: await former.send(actions, sent("PATCH", "/endpoints/g2")),
          meanwhile: made.blink,
          after: async () => expect(await made.addressed()).toBe(1),
        };
      },
    ],
    [
      "deletion of Endpoints",
      "uid, version",
      "the next leader wrote them",
      409,
      async () => {
        const made = await written("g3");
        const { actions } = decideEndpoints({ kind: "gone", endpoints: made.endpoints }, noEndpoints);
        return {
          held: await former.send(actions, sent("DELETE", "/endpoints/g3")),
          meanwhile: made.blink,
          after: async () => expect(await made.addressed()).toBe(1),
        };
      },
    ],
    [
      "deletion of leftover Endpoints",
      "uid, version",
      "their service was created, without a selector",
      200,
      async () => {
        const subsets = [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }];
        await cluster.request("POST", inDefault("endpoints"), { metadata: { name: "g7" }, subsets });
        const left = await former.read(endpoints, "g7", "default");
        const { actions } = decideEndpoints({ kind: "gone", endpoints: left }, noEndpoints);
        const service = { metadata: { name: "g7" }, spec: { ports: [{ port: 80 }] } };
        return {
          held: await former.send(actions, sent("DELETE", "/endpoints/g7")),
          meanwhile: () => cluster.request("POST", inDefault("services"), service),
          after: () => expect(former.read(endpoints, "g7", "default")).rejects.toThrow("not found"),
        };
      },
    ],
    [
      "creation of an EndpointSlice",
      "nothing",
      "the next leader created one",
      201,
      async () => {
        const made = await written("g4");
        const state = { kind: "selected", ...slicesState, ...made, slices: [] } as const;
        const { actions } = decideSlices(state, noSlices, 100, now());
        return {
          held: await former.send(actions, sent("POST", "/endpointslices")),
          meanwhile: async () => undefined,
          after: () => until("one is left", async () => (await slicesOf("g4")).length === 1, 20),
        };
      },
    ],
    [
      "change of an EndpointSlice",
      "uid, version",
      "the next leader wrote it",
      409,
      async () => {
        const made = await written("g5");
        const state = { kind: "selected", ...slicesState, ...made, pods: [], slices: [made.slice] } as const;
        const { actions } = decideSlices(state, noSlices, 100, now());
        return { held: await former.send(actions, sent("PATCH", "/endpointslices/")), meanwhile: made.blink };
      },
    ],
    [
      "deletion of an EndpointSlice",
      "uid, version",
      "the next leader wrote it",
      409,
      async () => {
        const made = await written("g6");
        return {
          held: await former.send([removal(made.slice)], sent("DELETE", "/endpointslices/")),
          meanwhile: made.blink,
          after: async () => expect(await slicesOf("g6")).toEqual([made.slice.metadata.name]),
        };
      },
    ],
    [
      "creation of the Lease",
      "its name",
      "the next leader created it",
      409,
      async () => {
        const { lock, claim, write, holder } = await leaseOf("h1");
        const held = await former.holding(sent("POST", "/leases"), () =>
          lock.create({ ...claim, holder: "late" }, now(), write),
        );
        return { held, meanwhile: async () => undefined, after: async () => expect(await holder()).toBe("former") };
      },
    ],
    [
      "renewal of the Lease",
      "uid, version",
      "the next leader took it",
      409,
      async () => {
        const { lock, record, write, taken, holder } = await leaseOf("h2");
        const renewal = { durationSeconds: 10, carried: {} };
        const held = await former.holding(sent("PATCH", "/leases/h2"), () => lock.renew(record, renewal, now(), write));
        return { held, meanwhile: taken, after: async () => expect(await holder()).toBe("next") };
      },
    ],
    [
      "release of the Lease",
      "uid, version",
      "the next leader took it",
      409,
      async () => {
        const { lock, record, write, taken, holder } = await leaseOf("h3");
        const held = await former.holding(sent("PATCH", "/leases/h3"), () =>
          lock.release(record, undefined, now(), write),
        );
        return { held, meanwhile: taken, after: async () => expect(await holder()).toBe("next") };
      },
    ],
    [
      "Event",
      "nothing",
      "any change",
      201,
      async () => {
        await makePod("i1", { on: board });
        const about = refTo(pods, await pod("i1"));
        const event = { do: "event", about, severity: "Normal", reason: "Late", message: "late" } as const;
        return { held: await former.say(event, sent("POST", "/events")), meanwhile: () => replaced("i1") };
      },
    ],
    [
      "eviction of a drain",
      "uid",
      "a pod of the same name was created",
      409,
      async () => {
        await makePod("j1", { on: board });
        const held = await former.send(
          [{ do: "evict", target: refTo(pods, await pod("j1")) }],
          sent("POST", "/j1/eviction"),
        );
        return { held, meanwhile: () => replaced("j1"), after: stays("j1") };
      },
    ],
    [
      "eviction of a drain",
      "uid",
      "the drain was called off",
      201,
      async () => {
        await makePod("j2", { on: board });
        const held = await former.send(
          [{ do: "evict", target: refTo(pods, await pod("j2")) }],
          sent("POST", "/j2/eviction"),
        );
        return { held, meanwhile: kubeletWrites("j2"), after: isGone("j2") };
      },
    ],
  ];

  test.each(rows)("%s, which names %s, after %s: %i", async (write, names, meanwhile, answer, scene) => {
    const begun = performance.now();
    const { held, meanwhile: happens, after } = await scene();
    await happens();
    await pause(Math.max(0, late - (performance.now() - begun)));
    const { status, text } = await held.deliver();
    expect(status, text).toBe(answer);
    await after?.();
    expect(document).toContain(`| ${write} | ${names} | ${meanwhile} | ${answer} |`);
  });
});
