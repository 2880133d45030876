import { describe, expect, test } from "vitest";
import { itemsAt, textAt, valueAt } from "../../../agent/api/json.ts";
import { type Answer, configMap, configMaps, failureOf, merge, node, pod, pods, TestSite } from "./site.ts";

const running = (name: string, metadata = {}) => pod(name, { nodeName: "n1" }, metadata);
const deletionOf = ({ body }: Answer): unknown[] => [
  valueAt(body, "metadata", "deletionTimestamp"),
  valueAt(body, "metadata", "deletionGracePeriodSeconds"),
];

describe("an object", () => {
  test("is deleted immediately, and the response identifies it", async () => {
    await using site = new TestSite();
    const created = await site.create(configMaps, configMap("a"));
    const answer = await site.ask("DELETE", `${configMaps}/a`);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        kind: "Status",
        status: "Success",
        details: { name: "a", kind: "configmaps", uid: valueAt(created, "metadata", "uid") },
      },
    });
    expect(failureOf(await site.ask("DELETE", `${configMaps}/a`))).toBe("404 NotFound");
  });

  test("is only deleted if its preconditions match", async () => {
    await using site = new TestSite();
    const created = await site.create(configMaps, configMap("a"));
    const uid = textAt(created, "metadata", "uid");
    const resourceVersion = textAt(created, "metadata", "resourceVersion");
    for (const preconditions of [{ uid: "another" }, { resourceVersion: "1" }, { uid, resourceVersion: "1" }]) {
      const answer = await site.ask("DELETE", `${configMaps}/a`, { preconditions });
      expect(failureOf(answer)).toBe("409 Conflict");
      expect(answer.body.details).toEqual({ name: "a", kind: "ConfigMap" });
    }
    expect((await site.ask("DELETE", `${configMaps}/a`, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  test("with finalizers waits for the last of them", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a", { finalizers: ["example.org/one", "example.org/two"] }));
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=5`);
    expect(deletionOf(await site.ask("DELETE", `${configMaps}/a`))).toEqual(["2026-01-01T00:00:00Z", 0]);
    await site.clock.advance("10s");
    expect(deletionOf(await site.ask("DELETE", `${configMaps}/a`))).toEqual(["2026-01-01T00:00:00Z", 0]);
    const finalizers = (names: string[] | null) =>
      site.ask("PATCH", `${configMaps}/a`, { metadata: { finalizers: names } }, { type: merge });
    expect(failureOf(await finalizers(["example.org/one", "example.org/three"]))).toBe("422 Invalid");
    expect((await finalizers(["example.org/one"])).status).toBe(200);
    expect((await finalizers(null)).status).toBe(200);
    expect((await site.get(`${configMaps}/a`)).status).toBe(404);
    expect(await watch.newEvents()).toEqual(["MODIFIED a", "MODIFIED a", "DELETED a"]);
  });

  test("that is being deleted still has its name, and a creation under that name gets a conflict", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a", { finalizers: ["x/y"] }));
    const conflict = async () => (await site.ask("POST", configMaps, configMap("a"))).body;
    expect(await conflict()).toMatchObject({ reason: "AlreadyExists", message: 'configmaps "a" already exists' });
    await site.ask("DELETE", `${configMaps}/a`);
    expect(await conflict()).toMatchObject({
      reason: "AlreadyExists",
      message: 'object is being deleted: configmaps "a" already exists',
    });
  });

  test("is kept after a dry run", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    expect((await site.ask("DELETE", `${configMaps}/a?dryRun=All`)).status).toBe(200);
    expect((await site.ask("DELETE", `${configMaps}/a`, { dryRun: ["All"] })).status).toBe(200);
    expect((await site.get(`${configMaps}/a`)).status).toBe(200);
  });

  test.each([
    [{ propagationPolicy: "Foreground" }, ["foregroundDeletion"]],
    [{ propagationPolicy: "Orphan" }, ["orphan"]],
    [{ orphanDependents: true }, ["orphan"]],
  ])("waits while its dependents must be handled first: %j", async (options, finalizers) => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const marked = await site.ask("DELETE", `${configMaps}/a`, options);
    expect(deletionOf(marked)).toEqual(["2026-01-01T00:00:00Z", 0]);
    expect(valueAt(marked.body, "metadata", "finalizers")).toEqual(finalizers);
    // The last request decides.
    await site.ask("DELETE", `${configMaps}/a`, { propagationPolicy: "Background" });
    expect((await site.get(`${configMaps}/a`)).status).toBe(404);
  });

  test.each([{}, { propagationPolicy: "Background" }, { orphanDependents: false }])(
    "is deleted immediately if its dependents need not be handled first: %j",
    async (options) => {
      await using site = new TestSite();
      await site.create(configMaps, configMap("a"));
      await site.ask("DELETE", `${configMaps}/a`, options);
      expect((await site.get(`${configMaps}/a`)).status).toBe(404);
    },
  );

  test("keeps the finalizers of other clients in addition to the one that the deletion adds", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a", { finalizers: ["example.org/one", "foregroundDeletion"] }));
    const { body } = await site.ask("DELETE", `${configMaps}/a?propagationPolicy=Orphan`);
    expect(valueAt(body, "metadata", "finalizers")).toEqual(["example.org/one", "orphan"]);
  });
});

describe("a pod on a board", () => {
  test("is marked, and deleted when its kubelet reports its end", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    const watch = await site.watch(`${pods}?watch=true&resourceVersion=5`);
    const marked = await site.ask("DELETE", `${pods}/a`);
    expect(deletionOf(marked)).toEqual(["2026-01-01T00:00:30Z", 30]);
    expect(valueAt(marked.body, "metadata", "generation")).toBe(2);
    expect((await site.get(`${pods}/a`)).status).toBe(200);
    await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    expect((await site.get(`${pods}/a`)).status).toBe(404);
    expect(await watch.newEvents()).toEqual(["MODIFIED a", "MODIFIED a", "DELETED a"]);
  });

  test.each([
    [{}, {}, 30],
    [{ terminationGracePeriodSeconds: 5 }, {}, 5],
    [{ terminationGracePeriodSeconds: 5 }, { gracePeriodSeconds: 60 }, 60],
    [{}, { gracePeriodSeconds: -1 }, 1],
  ])("that has %j and is deleted with %j has %i seconds to end", async (spec, options, seconds) => {
    await using site = new TestSite();
    await site.create(pods, pod("a", { nodeName: "n1", ...spec }));
    expect(deletionOf(await site.ask("DELETE", `${pods}/a`, options))[1]).toBe(seconds);
  });

  test("can get less time, but not more", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    await site.ask("DELETE", `${pods}/a`);
    await site.clock.advance("2s");
    expect(deletionOf(await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 60 }))[1]).toBe(30);
    expect(deletionOf(await site.ask("DELETE", `${pods}/a`))[1]).toBe(30);
    // Counted from when it was asked for first.
    expect(deletionOf(await site.ask("DELETE", `${pods}/a?gracePeriodSeconds=5`))).toEqual(["2026-01-01T00:00:05Z", 5]);
  });

  test("is deleted immediately by force", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    const answer = await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    expect(answer.body).toMatchObject({ kind: "Pod", metadata: { name: "a", deletionGracePeriodSeconds: 0 } });
    expect((await site.get(`${pods}/a`)).status).toBe(404);
  });

  test.each(["Succeeded", "Failed"])("is deleted immediately when it has %s", async (phase) => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    await site.ask("PATCH", `${pods}/a/status`, { status: { phase } }, { type: merge });
    await site.ask("DELETE", `${pods}/a`);
    expect((await site.get(`${pods}/a`)).status).toBe(404);
  });

  test("with a finalizer remains beyond its time, until that is removed", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a", { finalizers: ["example.org/hold"] }));
    await site.ask("DELETE", `${pods}/a`);
    await site.ask("PATCH", `${pods}/a`, { metadata: { finalizers: null } }, { type: merge });
    expect((await site.get(`${pods}/a`)).status).toBe(200);
    await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    expect((await site.get(`${pods}/a`)).status).toBe(404);

    await site.create(pods, running("b", { finalizers: ["example.org/hold"] }));
    await site.ask("DELETE", `${pods}/b`, { gracePeriodSeconds: 0 });
    expect((await site.get(`${pods}/b`)).status).toBe(200);
    await site.ask("PATCH", `${pods}/b`, { metadata: { finalizers: null } }, { type: merge });
    expect((await site.get(`${pods}/b`)).status).toBe(404);
  });
});

test("a pod without a board is deleted immediately", async () => {
  await using site = new TestSite();
  await site.create(pods, pod("a"));
  await site.ask("DELETE", `${pods}/a`);
  expect((await site.get(`${pods}/a`)).status).toBe(404);
});

describe("an eviction", () => {
  const eviction = (name: string, deleteOptions = {}) => ({
    kind: "Eviction",
    apiVersion: "policy/v1",
    metadata: { name },
    deleteOptions,
  });

  test("is a deletion with a reason", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    const answer = await site.ask("POST", `${pods}/a/eviction`, eviction("a"));
    expect(answer).toMatchObject({ status: 201, body: { kind: "Status", status: "Success" } });
    const { body } = await site.get(`${pods}/a`);
    expect(body).toMatchObject({
      metadata: { deletionGracePeriodSeconds: 30 },
      status: { conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }] },
    });
    expect((await site.ask("POST", `${pods}/a/eviction`, eviction("a"))).status).toBe(201);
    expect((await site.get(`${pods}/a`)).body).toEqual(body);
  });

  test("deletes the pod with the given uid, or no pod", async () => {
    await using site = new TestSite();
    await site.create(pods, running("a"));
    const other = await site.ask("POST", `${pods}/a/eviction`, eviction("a", { preconditions: { uid: "another" } }));
    expect(failureOf(other)).toBe("409 Conflict");
    expect(failureOf(await site.ask("POST", `${pods}/a/eviction`, eviction("b")))).toBe("400 BadRequest");
    expect(failureOf(await site.ask("POST", `${pods}/b/eviction`, eviction("b")))).toBe("404 NotFound");
    await site.ask("POST", `${pods}/a/eviction`, eviction("a", { dryRun: ["All"] }));
    expect(deletionOf(await site.get(`${pods}/a`))).toEqual([undefined, undefined]);
  });
});

describe("a binding", () => {
  const binding = (name: string, node: string, metadata = {}) => ({
    kind: "Binding",
    apiVersion: "v1",
    metadata: { name, ...metadata },
    target: { kind: "Node", name: node },
  });

  test("sets the board of a pod once", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("a"));
    expect((await site.ask("POST", `${pods}/a/binding`, binding("a", "n1"))).status).toBe(201);
    expect((await site.get(`${pods}/a`)).body).toMatchObject({
      spec: { nodeName: "n1" },
      status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] },
    });
    expect(failureOf(await site.ask("POST", `${pods}/a/binding`, binding("a", "n2")))).toBe("409 Conflict");
  });

  test("is refused for another pod, for a terminating one, and without a board", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("a", {}, { finalizers: ["example.org/hold"] }));
    expect(failureOf(await site.ask("POST", `${pods}/a/binding`, binding("a", "n1", { uid: "other" })))).toBe(
      "409 Conflict",
    );
    expect(failureOf(await site.ask("POST", `${pods}/a/binding`, binding("a", "")))).toBe("422 Invalid");
    await site.ask("DELETE", `${pods}/a`);
    expect(failureOf(await site.ask("POST", `${pods}/a/binding`, binding("a", "n1")))).toBe("409 Conflict");
  });
});

test("exactly the selected objects of a collection are deleted, and the response contains them", async () => {
  await using site = new TestSite();
  for (let i = 0; i < 450; i++)
    await site.create(configMaps, configMap(`c${i}`, { labels: { old: i < 440 ? "yes" : "no" } }));
  expect((await site.ask("DELETE", `${configMaps}?labelSelector=old=yes&dryRun=All`)).status).toBe(200);
  const answer = await site.ask("DELETE", `${configMaps}?labelSelector=old=yes`);
  expect(answer.body).toMatchObject({ kind: "ConfigMapList" });
  expect(itemsAt(answer.body, "items")).toHaveLength(440);
  expect(itemsAt((await site.get(configMaps)).body, "items")).toHaveLength(10);
});

describe("a namespace", () => {
  const create = async (site: TestSite): Promise<void> => {
    await site.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  };

  test("is active, and has its name as a label", async () => {
    await using site = new TestSite();
    await create(site);
    expect((await site.get("/api/v1/namespaces/shop")).body).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "shop" } },
      status: { phase: "Active" },
    });
  });

  test("is emptied before it is deleted, and accepts nothing new in the meantime", async () => {
    await using site = new TestSite();
    site.run();
    await create(site);
    for (let i = 0; i < 250; i++) await site.create("/api/v1/namespaces/shop/configmaps", configMap(`c${i}`));
    await site.create("/api/v1/namespaces/shop/pods", running("a"));
    await site.create(configMaps, configMap("elsewhere"));
    const marked = await site.ask("DELETE", "/api/v1/namespaces/shop");
    expect(marked.body).toMatchObject({ status: { phase: "Terminating" } });
    const late = await site.ask("POST", "/api/v1/namespaces/shop/configmaps", configMap("late"));
    expect(failureOf(late)).toBe("403 Forbidden");
    expect(valueAt(late.body, "details", "causes")).toMatchObject([{ reason: "NamespaceTerminating" }]);
    await site.clock.advance("5s");
    expect(itemsAt((await site.get("/api/v1/namespaces/shop/configmaps")).body, "items")).toEqual([]);
    expect((await site.get("/api/v1/namespaces/shop")).status).toBe(200);
    await site.ask("DELETE", "/api/v1/namespaces/shop/pods/a", { gracePeriodSeconds: 0 });
    await site.clock.advance("5s");
    expect((await site.get("/api/v1/namespaces/shop")).status).toBe(404);
    expect((await site.get(`${configMaps}/elsewhere`)).status).toBe(200);
  });

  test("of the site itself is kept", async () => {
    await using site = new TestSite();
    expect(failureOf(await site.ask("DELETE", "/api/v1/namespaces/default"))).toBe("403 Forbidden");
    const { body } = await site.get("/api/v1/namespaces");
    expect(itemsAt(body, "items").map((item) => textAt(item, "metadata", "name"))).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
  });
});

test("the pods of a deleted Node are left to other controllers", async () => {
  await using site = new TestSite();
  await site.create("/api/v1/nodes", node("n1"));
  await site.create(pods, running("a"));
  await site.ask("DELETE", "/api/v1/nodes/n1");
  expect((await site.get(`${pods}/a`)).status).toBe(200);
});
