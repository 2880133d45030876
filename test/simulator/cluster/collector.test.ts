import { afterEach, beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { controllerRevisions, daemonSets, pods, type Resource } from "../../../agent/api/resources.ts";
import { TaskGroup } from "../../../agent/base/concurrency/tasks.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { Mirror } from "../../../simulator/client/mirror.ts";
import { SiteClient } from "../../../simulator/client/site-client.ts";
import { Collector } from "../../../simulator/cluster/collector.ts";
import { ScenarioSeeder } from "../../../simulator/scenarios/scenario-seeder.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { SiteInMemory } from "../site-in-memory.ts";

let clock: FakeClock;
let api: SiteInMemory;
let tasks: TaskGroup;
let client: SiteClient;

/** Holds back the events of watches on a path while it is on. */
function holdBack(path: string): { on: boolean; release: () => void } {
  const held = Promise.withResolvers<void>();
  const hold = { on: false, release: held.resolve };
  client = new SiteClient(ambient(), {
    timeout: 10_000,
    userAgent: "test",
    exchange: async (request) => {
      const answer = await api.exchange(request);
      if (!request.path.startsWith(`${path}?watch=`)) return answer;
      const late = async function* (): AsyncGenerator<Uint8Array> {
        for await (const chunk of answer.body) {
          if (hold.on) await Promise.race([held.promise, aborted(request.signal)]);
          yield chunk;
        }
      };
      return { status: answer.status, body: late() };
    },
  });
  return hold;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

beforeEach(() => {
  clock = new FakeClock();
  api = new SiteInMemory(ambient());
  tasks = new TaskGroup();
  client = new SiteClient(ambient(), { exchange: api.exchange, timeout: 10_000, userAgent: "test" });
});

afterEach(async () => {
  tasks.stop();
  await tasks.join();
  api.close();
  await clock.settle();
  expect(clock.timers).toBe(0);
});

const ambient = () => ({ clock, random: new SeededRandom(), log: noopLogger });

function startCollector(): void {
  const resources: readonly Resource<KubeObject>[] = [daemonSets, controllerRevisions, pods];
  const known = resources.map((resource) => ({ resource, mirror: new Mirror(ambient(), { client, resource }) }));
  const [owner, ...dependents] = known;
  for (const { mirror } of known) tasks.start("mirror", (signal) => mirror.run(signal));
  const owners = owner === undefined ? [] : [owner];
  const collector = new Collector(ambient(), { client, owners, dependents });
  tasks.start("collector", (signal) => collector.run(signal));
}

const owned = (name: string, kind: string, uid: string) => ({
  metadata: {
    name,
    namespace: "default",
    ownerReferences: [{ apiVersion: "apps/v1", kind, name: "logs", uid, controller: true }],
  },
});

const spec = { containers: [{ name: "main", image: "x" }] };
const labels = { app: "logs" };
const logs = {
  metadata: { name: "logs", namespace: "default" },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
};

test("the dependents of a deleted set are deleted, and nothing else", async () => {
  const set = api.create("daemonsets", logs);
  api.create("pods", { ...owned("mine", "DaemonSet", set.metadata.uid), spec });
  api.create("pods", { ...owned("of-an-older-set", "DaemonSet", "gone"), spec });
  api.create("pods", { ...owned("of-another-kind", "ReplicaSet", "gone"), spec });
  api.create("pods", { metadata: { name: "of-none", namespace: "default" }, spec });
  api.create("controllerrevisions", { ...owned("logs-1", "DaemonSet", set.metadata.uid), revision: 1 });
  startCollector();
  await clock.advance("1s");
  const made = ["daemonsets", "pods", "controllerrevisions"] as const;
  const names = () => made.flatMap((collection) => api.all(collection).map(({ metadata }) => metadata.name)).sort();
  expect(names()).toEqual(["logs", "logs-1", "mine", "of-another-kind", "of-none"]);
  await client.delete(daemonSets, { namespace: "default", name: "logs" }, {}, new AbortController().signal);
  await clock.advance("1s");
  expect(names()).toEqual(["of-another-kind", "of-none"]);
});

test("a pod that was released from its set is kept, even if the release is seen later than the set's end", async () => {
  const set = api.create("daemonsets", logs);
  api.create("pods", { ...owned("orphan", "DaemonSet", set.metadata.uid), spec });
  const hold = holdBack("/api/v1/pods");
  startCollector();
  await clock.advance("1s");
  hold.on = true;
  api.write("pods", "orphan", ({ metadata }) => {
    metadata.ownerReferences = [];
  });
  api.remove("daemonsets", "logs");
  await clock.advance("1m");
  expect(api.read("pods", "orphan")).toBeDefined();
  expect(api.requests).toContain("GET /api/v1/namespaces/default/pods/orphan");
  hold.release();
});

test("a pod whose set has not been seen yet is not an orphan", async () => {
  const hold = holdBack("/apis/apps/v1/daemonsets");
  startCollector();
  await clock.advance("1s");
  hold.on = true;
  const set = api.create("daemonsets", logs);
  api.create("pods", { ...owned("first", "DaemonSet", set.metadata.uid), spec });
  await clock.advance("1m");
  expect(api.read("pods", "first")).toBeDefined();
  hold.release();
});

test("the daemons and services of a scenario are created once, even after failures", async () => {
  const workload = { name: "web", replicas: 2, toleration: 5000, zone: undefined };
  const workloads = [
    { ...workload, port: 80 },
    { ...workload, name: "silent" },
  ];
  const wishes = () => new ScenarioSeeder(ambient(), { client, daemons: [{ name: "monitor" }], workloads });
  tasks.start("wishes", (signal) => wishes().run(signal));
  await clock.advance("1s");
  tasks.start("again", (signal) => wishes().run(signal));
  await clock.advance("1s");
  expect(api.all("daemonsets").map(({ metadata }) => metadata.name)).toEqual(["monitor"]);
  expect(api.all("services").map(({ metadata }) => metadata.name)).toEqual(["web"]);
});
