import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../agent/api/json.ts";
import { mergeSchemaOf } from "../../../simulator/patches/merge-keys.ts";
import { PatchError } from "../../../simulator/patches/patch-error.ts";
import { applyStrategicMerge } from "../../../simulator/patches/strategic-merge.ts";

const patchedPod = (pod: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMerge(pod, patch, mergeSchemaOf("Pod"));
const patchedNode = (node: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMerge(node, patch, mergeSchemaOf("Node"));

const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
const pressure = { type: "MemoryPressure", status: "False" };

describe("lists with a key merge item by item", () => {
  test("a condition is replaced by its type and the others are kept", () => {
    const node = { status: { conditions: [pressure, ready] } };
    expect(patchedNode(node, { status: { conditions: [{ type: "Ready", status: "Unknown" }] } })).toEqual({
      status: { conditions: [pressure, { type: "Ready", status: "Unknown", reason: "KubeletReady" }] },
    });
  });

  test("a new item is appended", () => {
    const node = { status: { conditions: [ready] } };
    expect(patchedNode(node, { status: { conditions: [pressure] } })).toEqual({
      status: { conditions: [ready, pressure] },
    });
  });

  test("containers merge by name, their ports by number, their variables by name", () => {
    const container = { name: "c", image: "i:1", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] };
    const patch = {
      spec: {
        containers: [
          { name: "c", image: "i:2", env: [{ name: "B", value: "2" }], ports: [{ containerPort: 80, name: "web" }] },
        ],
      },
    };
    expect(patchedPod({ spec: { containers: [container, { name: "d" }] } }, patch)).toEqual({
      spec: {
        containers: [
          {
            name: "c",
            image: "i:2",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
            ports: [{ containerPort: 80, name: "web" }],
          },
          { name: "d" },
        ],
      },
    });
  });

  test("owners merge by uid", () => {
    const owners = [
      { uid: "1", name: "a" },
      { uid: "2", name: "b" },
    ];
    expect(
      patchedPod(
        { metadata: { ownerReferences: owners } },
        { metadata: { ownerReferences: [{ uid: "2", $patch: "delete" }] } },
      ),
    ).toEqual({
      metadata: { ownerReferences: [{ uid: "1", name: "a" }] },
    });
  });

  test("an item is removed by $patch: delete, and a missing one is ignored", () => {
    const patch = {
      status: {
        conditions: [
          { type: "Ready", $patch: "delete" },
          { type: "Other", $patch: "delete" },
        ],
      },
    };
    expect(patchedNode({ status: { conditions: [ready, pressure] } }, patch)).toEqual({
      status: { conditions: [pressure] },
    });
  });

  test("a list is replaced whole by an item with $patch: replace", () => {
    const patch = { status: { conditions: [{ $patch: "replace" }, pressure] } };
    expect(patchedNode({ status: { conditions: [ready] } }, patch)).toEqual({ status: { conditions: [pressure] } });
  });

  test("if two items have the same key, the first is patched, and the second is not lost", () => {
    const ports = [
      { containerPort: 53, protocol: "TCP" },
      { containerPort: 53, protocol: "UDP" },
    ];
    const pod = { spec: { containers: [{ name: "dns", ports }] } };
    const patch = { spec: { containers: [{ name: "dns", ports: [{ containerPort: 53, name: "dns" }] }] } };
    expect(patchedPod(pod, patch)).toEqual({
      spec: { containers: [{ name: "dns", ports: [{ containerPort: 53, protocol: "TCP", name: "dns" }, ports[1]] }] },
    });
  });
});

describe("lists without a key are one value", () => {
  test.each(["taints"])("the %s of a node", (name) => {
    const node = { spec: { [name]: [{ key: "a", effect: "NoSchedule" }] } };
    const now = [{ key: "b", effect: "NoExecute" }];
    expect(patchedNode(node, { spec: { [name]: now } })).toEqual({ spec: { [name]: now } });
  });

  test("the tolerations of a pod", () => {
    expect(patchedPod({ spec: { tolerations: [{ key: "a" }] } }, { spec: { tolerations: [{ key: "b" }] } })).toEqual({
      spec: { tolerations: [{ key: "b" }] },
    });
  });
});

describe("finalizers", () => {
  const pod = { metadata: { finalizers: ["a", "b"] } };
  test("only grow by merging", () => {
    expect(patchedPod(pod, { metadata: { finalizers: ["b", "c"] } })).toEqual({
      metadata: { finalizers: ["a", "b", "c"] },
    });
  });

  test("shrink by a directive", () => {
    expect(patchedPod(pod, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } })).toEqual({
      metadata: { finalizers: ["b"] },
    });
    const both = { metadata: { finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a", "b"] } };
    expect(patchedPod(pod, both)).toEqual({ metadata: { finalizers: ["c"] } });
  });
});

describe("objects", () => {
  test("lose a field that is null in the patch, and ignore it if they lack it", () => {
    expect(
      patchedNode({ metadata: { labels: { a: "1", b: "2" } } }, { metadata: { labels: { a: null, c: null } } }),
    ).toEqual({
      metadata: { labels: { b: "2" } },
    });
    expect(patchedNode({}, { metadata: { labels: { a: null, b: "1" } } })).toEqual({
      metadata: { labels: { b: "1" } },
    });
  });

  test("are replaced or emptied by $patch", () => {
    const pod = { spec: { nodeSelector: { a: "1" } } };
    expect(patchedPod(pod, { spec: { nodeSelector: { $patch: "replace", b: "2" } } })).toEqual({
      spec: { nodeSelector: { b: "2" } },
    });
    expect(patchedPod(pod, { spec: { nodeSelector: { $patch: "delete" } } })).toEqual({ spec: { nodeSelector: {} } });
  });

  test("lose every field that $retainKeys does not name", () => {
    const deployment = { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } };
    const patch = { spec: { strategy: { type: "Recreate", $retainKeys: ["type"] } } };
    expect(applyStrategicMerge(deployment, patch, mergeSchemaOf("Deployment"))).toEqual({
      spec: { strategy: { type: "Recreate" } },
    });
  });
});

describe("$setElementOrder", () => {
  const order = (...names: string[]) => names.map((name) => ({ name }));
  const containers = (...names: string[]) => ({ spec: { containers: order(...names) } });

  test.each<[string[], string[], string[], string[]]>([
    // before, patched items, order, after
    [["a", "b"], [], ["b", "a"], ["b", "a"]],
    [["a", "b"], ["c"], ["c", "a", "b"], ["c", "a", "b"]],
    // x is another writer's: it keeps its place between its neighbours
    [["a", "x", "b"], ["c"], ["a", "b", "c"], ["a", "x", "b", "c"]],
    [["x", "a"], ["c"], ["c", "a"], ["x", "c", "a"]],
  ])("%j with %j in the order %j is %j", (before, items, wanted, after) => {
    const patch = { spec: { containers: order(...items), "$setElementOrder/containers": order(...wanted) } };
    expect(patchedPod(containers(...before), patch)).toEqual(containers(...after));
  });

  test("orders a set", () => {
    const patch = { metadata: { "$setElementOrder/finalizers": ["b", "a"] } };
    expect(patchedPod({ metadata: { finalizers: ["a", "b"] } }, patch)).toEqual({
      metadata: { finalizers: ["b", "a"] },
    });
  });

  test("does not add a missing list", () => {
    expect(patchedPod({ spec: {} }, { spec: { "$setElementOrder/containers": order("a") } })).toEqual({ spec: {} });
  });
});

test.each<[string, JsonObject]>([
  ["an unknown directive", { spec: { $patch: "explode" } }],
  ["an item without its key", { spec: { containers: [{ image: "i" }] } }],
  ["an item that is not an object", { spec: { containers: ["c"] } }],
  ["a directive that is not a list", { metadata: { "$deleteFromPrimitiveList/finalizers": "a" } }],
])("%s is malformed", (_, patch) => {
  expect(() => patchedPod({ spec: { containers: [] }, metadata: {} }, patch)).toThrow(PatchError);
});
