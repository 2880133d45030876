import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../agent/api/core.ts";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource } from "../../../agent/api/resources.ts";
import type { ObjectChange } from "../../../agent/loop/controller.ts";
import { OverlaidSite } from "../../../agent/shadow/overlaid-site.ts";
import { ShadowClient } from "../../../agent/shadow/shadow-client.ts";
import { condition, lease, node, pod, taint } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SiteInMemory } from "./site-in-memory.ts";

const write = { signal: new AbortController().signal };
const unreachable = taint("unreachable:NoExecute", "2026-01-01T00:00:40Z");

async function setUp(most?: number) {
  const clock = new FakeClock();
  const site = new SiteInMemory(clock);
  const overlaid = new OverlaidSite(clock, site, most);
  const client = new ShadowClient(clock, { site: overlaid, reader: site });
  const stop = new AbortController();
  const running = overlaid.run(stop.signal);
  const told: ObjectChange<KubeObject>[] = [];
  overlaid.nodes.onChange((changes) => told.push(...changes));
  overlaid.pods.onChange((changes) => told.push(...changes));
  const board = await site.put(nodes, node("pi-3"));
  await site.put(leases, lease("pi-3"));
  const web = await site.put(pods, pod("web", { on: "pi-3" }));
  told.length = 0;
  const patch = <T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    change: object,
    type: "merge" | "strategic",
  ) => {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const at = namespace === undefined ? { name } : { namespace, name };
    return client.patch(
      resource,
      at,
      type,
      { ...change, metadata: { ...metadataOf(change), uid, resourceVersion } },
      write,
    );
  };
  const metadataOf = (change: object): object => ("metadata" in change ? Object(change.metadata) : {});
  const taintBoard = () => patch(nodes, board, { spec: { taints: [unreachable] } }, "merge");
  const remove = (of: Pod, gracePeriodSeconds?: number) => {
    const { name, namespace = "", uid } = of.metadata;
    return client.delete(
      pods,
      { namespace, name },
      { uid, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
      write,
    );
  };
  const shownNode = (): Node | undefined => overlaid.nodes.lister.get("pi-3");
  const shownPod = (name = "web"): Pod | undefined => overlaid.pods.lister.get(`default/${name}`);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, site, overlaid, client, told, board, web, patch, taintBoard, remove, shownNode, shownPod, end };
}

const keys = (objects: Iterable<KubeObject>): readonly string[] => [...objects].map(keyOf);

describe("a pretended write", () => {
  test("is seen by the next pass in the cache and in what the API answers, and by listeners, and nowhere else", async () => {
    const { site, client, told, board, taintBoard, shownNode, end } = await setUp();
    await taintBoard();
    expect(shownNode()?.spec?.taints).toEqual([unreachable]);
    expect((await client.get(nodes, { name: "pi-3" }, write.signal)).spec?.taints).toEqual([unreachable]);
    expect(told).toMatchObject([{ key: "pi-3", before: board, after: { spec: { taints: [unreachable] } } }]);
    expect((await site.get(nodes, { name: "pi-3" })).spec?.taints).toBeUndefined();
    // The version stays that of the real object: later writes of the pass name it.
    expect(shownNode()?.metadata.resourceVersion).toBe(board.metadata.resourceVersion);
    await end();
  });

  test("stands while the real object changes elsewhere", async () => {
    const { site, board, taintBoard, shownNode, end } = await setUp();
    await taintBoard();
    const other = taint("maintenance:NoSchedule");
    await site.put(nodes, { ...board, metadata: { ...board.metadata, labels: { a: "b" } }, spec: { taints: [other] } });
    expect(shownNode()?.metadata.labels).toEqual({ a: "b" });
    expect(shownNode()?.spec?.taints).toEqual([other, unreachable]);
    await end();
  });

  test("ends as soon as the real object says the same, and does not come back when that is withdrawn", async () => {
    const { site, board, overlaid, told, taintBoard, shownNode, end } = await setUp();
    await taintBoard();
    const later = taint("unreachable:NoExecute", "2026-01-01T00:00:50Z");
    await site.put(nodes, { ...board, spec: { taints: [later] } });
    expect(shownNode()?.spec?.taints).toEqual([later]);
    expect(overlaid.nodes.pretended().size).toBe(0);
    expect(told.at(-1)).toMatchObject({
      before: { spec: { taints: [unreachable] } },
      after: { spec: { taints: [later] } },
    });
    await site.put(nodes, { ...board, spec: {} });
    expect(shownNode()?.spec?.taints).toBeUndefined();
    await end();
  });

  test("ends if the object is gone or has been replaced", async () => {
    const { site, overlaid, board, taintBoard, shownNode, end } = await setUp();
    await taintBoard();
    await site.put(nodes, { ...board, metadata: { ...board.metadata, uid: "another" } });
    expect([shownNode()?.spec?.taints, overlaid.nodes.pretended().size]).toEqual([undefined, 0]);
    await site.remove(nodes, "pi-3");
    expect(shownNode()).toBeUndefined();
    await end();
  });

  test("does not apply to another object of the same name, which the cache does not have yet", async () => {
    const { board, overlaid, taintBoard, end } = await setUp();
    await taintBoard();
    const another = { ...board, metadata: { ...board.metadata, uid: "another" } };
    expect(overlaid.nodes.shown(another)).toBe(another);
    await end();
  });

  test("that undoes another leaves the real object", async () => {
    const { overlaid, board, patch, taintBoard, shownNode, end } = await setUp();
    await taintBoard();
    await patch(nodes, board, { spec: { taints: [] } }, "merge");
    expect(overlaid.nodes.pretended().size).toBe(0);
    expect(shownNode()).toEqual(board);
    await end();
  });

  test("of a pod that does not fit has no effect, and gives way to a deletion, which listeners receive", async () => {
    const { site, overlaid, told, web, patch, remove, shownPod, end } = await setUp(2);
    const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
    const [b, c] = [await site.put(pods, pod("b", { on: "pi-3" })), await site.put(pods, pod("c", { on: "pi-3" }))];
    for (const one of [web, b, c]) await patch(pods, one, notReady, "strategic");
    expect([...overlaid.pods.pretended().keys()]).toEqual(["default/web", "default/b"]);
    expect(shownPod("c")).toEqual(c);
    told.length = 0;
    await remove(c);
    expect([...overlaid.pods.pretended().keys()]).toEqual(["default/b", "default/c"]);
    expect(told.map(({ key, after }) => [key, after === web])).toEqual([
      ["default/web", true],
      ["default/c", false],
    ]);
    await end();
  });

  test("that deletes a pod is refused if only deletions are pretended, until one of these pods is gone", async () => {
    const { site, web, remove, shownPod, end } = await setUp(2);
    const [b, c] = [await site.put(pods, pod("b", { on: "pi-3" })), await site.put(pods, pod("c", { on: "pi-3" }))];
    await remove(web);
    await remove(b, 0);
    await expect(remove(c)).rejects.toMatchObject({ status: 429, disposition: "retry" });
    // What is pretended already can be pretended further.
    await remove(web, 0);
    await site.remove(pods, "default/b");
    await remove(c);
    expect(shownPod("c")?.metadata.deletionTimestamp).toBeDefined();
    await end();
  });

  test("to Nodes always fits", async () => {
    const { site, overlaid, patch, end } = await setUp(1);
    for (const name of ["pi-4", "pi-5"]) {
      const board = await site.put(nodes, node(name));
      await patch(nodes, board, { spec: { taints: [unreachable] } }, "merge");
    }
    expect(overlaid.nodes.pretended().size).toBe(2);
    await end();
  });

  test("of a condition merges with those of other types, and labels keep each other", async () => {
    const { board, patch, shownNode, end } = await setUp();
    const unknown = { type: "Ready", status: "Unknown" };
    const pressure = condition("MemoryPressure", "Unknown");
    await patch(nodes, board, { status: { conditions: [unknown, pressure] } }, "strategic");
    await patch(nodes, board, { metadata: { labels: { os: "linux" } } }, "merge");
    expect(shownNode()?.status?.conditions).toEqual([condition("Ready", "Unknown"), pressure]);
    expect(shownNode()?.metadata.labels).toEqual({ os: "linux" });
    await end();
  });
});

describe("a pretended deletion", () => {
  test("marks a pod that runs, and removes one that nothing runs of", async () => {
    const { site, overlaid, client, web, remove, shownPod, end } = await setUp();
    const unbound = await site.put(pods, pod("unbound"));
    const kept = await site.put(pods, pod("kept", { on: "pi-3" }));
    await site.put(pods, { ...kept, metadata: { ...kept.metadata, finalizers: ["example.com/x"] } });
    await remove(web);
    await remove(unbound);
    await remove(kept, 0);
    expect(shownPod()?.metadata.deletionTimestamp).toBe("2026-01-01T00:00:30Z");
    expect(shownPod("unbound")).toBeUndefined();
    expect(shownPod("kept")?.metadata.deletionGracePeriodSeconds).toBe(0);
    await expect(client.get(pods, { namespace: "default", name: "unbound" }, write.signal)).rejects.toMatchObject({
      reason: "NotFound",
    });
    expect(overlaid.pods.lister.size).toBe(2);
    await end();
  });

  test("changes the indices by which rules find pods", async () => {
    const { site, overlaid, web, remove, end } = await setUp();
    const { lister } = overlaid.pods;
    const other = await site.put(pods, pod("a", { on: "pi-3" }));
    await site.put(pods, pod("z", { on: "pi-4", deletionTimestamp: "2026-01-01T00:00:00Z" }));
    expect(keys(lister.byIndex("byEnd", "terminating"))).toEqual(["default/z"]);
    await remove(web);
    await remove(other, 0);
    expect(keys(lister.byIndex("byEnd", "terminating"))).toEqual(["default/web", "default/z"]);
    expect(keys(lister.referencesByIndex("byNode", "pi-3"))).toEqual(["default/web"]);
    expect(lister.countByIndex("byNode", "pi-3")).toBe(1);
    expect(keys(lister.list())).toEqual(["default/web", "default/z"]);
    await remove(web, 0);
    expect([...lister.indexValues("byNode")]).toEqual(["pi-4"]);
    await end();
  });
});

describe("the answer to a write", () => {
  test("is a conflict if the object is newer than what was read, or another one", async () => {
    const { site, client, board, taintBoard, shownNode, end } = await setUp();
    await site.put(nodes, board);
    await expect(taintBoard()).rejects.toMatchObject({ status: 409, reason: "Conflict" });
    const another = { metadata: { uid: "another" } };
    await expect(client.patch(nodes, { name: "pi-3" }, "merge", another, write)).rejects.toMatchObject({
      reason: "Conflict",
    });
    expect(shownNode()?.spec?.taints).toBeUndefined();
    await end();
  });

  test("is a conflict if another controller wrote since the site was observed, and not after its own writes", async () => {
    const { clock, client, board, shownNode, end } = await setUp();
    const { uid, resourceVersion } = board.metadata;
    const since = clock.now();
    const taints = (by: string, observed: typeof since, ...all: readonly string[]) => {
      const patch = { metadata: { uid, resourceVersion }, spec: { taints: all.map((text) => taint(text)) } };
      return client.patch(nodes, { name: "pi-3" }, "merge", patch, { ...write, decided: { by, since: observed } });
    };
    await clock.advance(1);
    await taints("node-lifecycle", since, "unreachable:NoExecute");
    await taints("node-lifecycle", since, "unreachable:NoExecute", "a:NoExecute");
    await expect(taints("node-taints", since, "unreachable:NoSchedule")).rejects.toMatchObject({ reason: "Conflict" });
    expect(shownNode()?.spec?.taints).toHaveLength(2);
    await clock.advance(1);
    await taints("node-taints", clock.now(), "unreachable:NoExecute", "unreachable:NoSchedule");
    expect(shownNode()?.spec?.taints).toHaveLength(2);
    await end();
  });

  test("is that there is no such object, for one that is gone or would be", async () => {
    const { client, web, remove, end } = await setUp();
    await remove(web, 0);
    await expect(remove(web, 0)).rejects.toMatchObject({ reason: "NotFound", disposition: "done" });
    await expect(client.patch(nodes, { name: "pi-9" }, "merge", {}, write)).rejects.toMatchObject({
      reason: "NotFound",
    });
    await end();
  });

  test("does not come before the checks that precede every write", async () => {
    const { client, shownNode, end } = await setUp();
    const guard = () => {
      throw new Error("the term has ended");
    };
    const taints = { spec: { taints: [unreachable] } };
    await expect(client.patch(nodes, { name: "pi-3" }, "merge", taints, { ...write, guard })).rejects.toThrow("ended");
    expect(shownNode()?.spec?.taints).toBeUndefined();
    await end();
  });

  test("to a request that no shadowed controller sends is an error", async () => {
    const { client, end } = await setUp();
    expect(() => client.create(pods, "default", { apiVersion: "v1", kind: "Pod", metadata: {} })).toThrow(
      "shadow mode",
    );
    expect(() => client.bind()).toThrow("shadow mode");
    await expect(client.patch(leases, { name: "pi-3" }, "merge", {}, write)).rejects.toThrow("shadow mode");
    await end();
  });
});

describe("a sign of life of a board", () => {
  const unknown = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
  const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };

  test("ends the pretended status of its Node and its pods, which its kubelet would have repaired", async () => {
    const { clock, site, board, web, patch, shownNode, shownPod, end } = await setUp();
    await patch(nodes, board, unknown, "strategic");
    await patch(pods, web, notReady, "strategic");
    await clock.advance("60s");
    expect(shownNode()?.status?.conditions).toEqual([condition("Ready", "Unknown")]);
    await site.put(leases, lease("pi-3"));
    await clock.advance("2s");
    expect(shownNode()).toEqual(board);
    expect(shownPod()).toEqual(web);
    await end();
  });

  test("of another board ends nothing", async () => {
    const { clock, site, board, patch, shownNode, end } = await setUp();
    await patch(nodes, board, unknown, "strategic");
    await site.put(leases, lease("pi-4"));
    await clock.advance("2s");
    expect(shownNode()?.status?.conditions).toEqual([condition("Ready", "Unknown")]);
    await end();
  });

  test("ends pretended deletions of its pods only once its Node is shown as Ready and untainted", async () => {
    const { clock, site, board, web, patch, taintBoard, remove, shownPod, end } = await setUp();
    await taintBoard();
    await remove(web);
    await site.put(leases, lease("pi-3"));
    await clock.advance("2s");
    expect(shownPod()?.metadata.deletionTimestamp).toBeDefined();
    await patch(nodes, board, { spec: { taints: [] } }, "merge");
    await site.put(leases, lease("pi-3"));
    await clock.advance("2s");
    expect(shownPod()).toEqual(web);
    await end();
  });

  test("does not bring back a pod that has ended, and listeners are not told of a sign that changes nothing", async () => {
    const { clock, site, told, remove, shownPod, end } = await setUp();
    const running = pod("done", { on: "pi-3" });
    const done = await site.put(pods, { ...running, status: { ...running.status, phase: "Succeeded" } });
    await remove(done, 0);
    told.length = 0;
    for (let times = 0; times < 3; times++) {
      await site.put(leases, lease("pi-3"));
      await clock.advance("2s");
    }
    expect(shownPod("done")).toBeUndefined();
    expect(told).toEqual([]);
    await end();
  });
});
