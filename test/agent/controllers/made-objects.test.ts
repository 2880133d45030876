import { expect, test } from "vitest";
import type { DaemonSet, Service } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { parseObject } from "../../../agent/api/parse.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  pods,
  type Resource,
  services,
} from "../../../agent/api/resources.ts";
import { atOnce } from "../../../agent/base/steps.ts";
import { watchEvents } from "../../../agent/client/watch-stream.ts";
import { daemonPods } from "../../../agent/controllers/daemonset/daemon-pod.ts";
import { historyWrites } from "../../../agent/controllers/daemonset/history.ts";
import { placeholder } from "../../../agent/controllers/endpoint-slice/content.ts";

/*
 * What a controller makes of an object that the cache holds is held by the cache, too. Otherwise the controller would make it
 * again without end.
 */

const named = { namespace: "shop", uid: "u", resourceVersion: "8" };
const map = (count: number, name: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, "v"]));

const service = (labels: number): object => ({
  metadata: { ...named, name: "web", labels: map(labels, "l") },
  spec: { clusterIP: "None", selector: { app: "web" }, ports: [{ port: 80 }] },
});

const set = (labels: number, annotations: number): object => ({
  metadata: {
    ...named,
    name: "agent",
    annotations: { ...map(annotations, "a"), "deprecated.daemonset.template.generation": "7" },
  },
  spec: {
    selector: { matchLabels: { l0: "v" } },
    template: { metadata: { labels: map(labels, "l") }, spec: { containers: [{ name: "main", image: "x" }] } },
  },
});

/** As the cache receives it; undefined if it cannot be used. */
async function received<T extends KubeObject>(resource: Resource<T>, object: object): Promise<T | undefined> {
  async function* line(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify({ type: "ADDED", object })}\n`);
  }
  for await (const event of watchEvents(line(), { resource }, { verb: "watch", target: "x" })) {
    return event.type === "ADDED" ? event.object : undefined;
  }
  return undefined;
}

const sent = (object: object): object => ({
  ...object,
  metadata: { ...("metadata" in object ? (object.metadata as object) : {}), ...named, name: "made" },
});

test("a slice is readable if its service has as many labels as possible", async () => {
  expect(await received(services, service(1001))).toBeUndefined();
  const owner = await received<Service>(services, service(1000));
  expect(owner).toBeDefined();
  if (owner === undefined) return;
  const { labels, ...content } = placeholder(owner, "IPv4");
  expect(Object.keys(labels)).toHaveLength(1003);
  expect(await received(endpointSlices, sent({ ...content, metadata: { labels } }))).toBeDefined();
});

test("pods and revisions are readable if their set has as many labels and members as possible", async () => {
  expect(await received(daemonSets, set(1001, 0))).toBeUndefined();
  expect(await received(daemonSets, set(1000, 30_000))).toBeUndefined();
  const owner = await received<DaemonSet>(daemonSets, set(1000, 28_900));
  expect(owner).toBeDefined();
  if (owner === undefined) return;
  const pod = daemonPods(owner, "abc")("pi-1");
  expect(Object.keys(pod.metadata.labels ?? {})).toHaveLength(1002);
  expect(await received(pods, sent(pod))).toBeDefined();
  expect(parseObject(sent(pod), pods).ok).toBe(true);
  const made = { hash: "abc", data: { spec: { template: owner.spec?.template } } };
  const [write] = atOnce(historyWrites(owner, { present: [], old: [], made }, []));
  expect(write?.do).toBe("create");
  if (write?.do === "create") expect(await received(controllerRevisions, sent(write.object))).toBeDefined();
});
