import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { parseObject } from "../../../agent/api/parse.ts";
import {
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  pods,
  type Resource,
} from "../../../agent/api/resources.ts";

const meta = (more: object = {}) => ({ name: "web", namespace: "default", uid: "u1", resourceVersion: "7", ...more });

function accepted<T extends KubeObject>(value: unknown, resource: Resource<T>): T {
  const parsed = parseObject(value, resource);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.object;
}

function refused(value: unknown, resource: Resource<KubeObject>): string {
  const parsed = parseObject(value, resource);
  return parsed.ok ? "accepted" : parsed.why;
}

test("a list item without a kind gets the kind of its resource", () => {
  expect(accepted({ metadata: meta(), spec: { nodeName: "pi-3" } }, pods)).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: meta(),
    spec: { nodeName: "pi-3" },
  });
  expect(accepted({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: meta() }, leases)).toEqual({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: meta(),
  });
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["a text", "pod"],
  ["a number", 7],
  ["a list", [meta()]],
  ["no metadata", {}],
  ["metadata that is a list", { metadata: [] }],
  ["metadata that is a string", { metadata: "web" }],
])("%s is refused without an exception", (_, value) => {
  expect(parseObject(value, pods).ok).toBe(false);
});

test.each([
  ["no name", { name: undefined }, "Pod: has no metadata.name"],
  ["an empty name", { name: "" }, "Pod default/: has no metadata.name"],
  ["a number for a name", { name: 3 }, "Pod: has no metadata.name"],
  ["no uid", { uid: undefined }, "Pod default/web: has no metadata.uid"],
  ["no resourceVersion", { resourceVersion: "" }, "Pod default/web: has no metadata.resourceVersion"],
  ["a number for its resourceVersion", { resourceVersion: 7 }, "Pod default/web: has no metadata.resourceVersion"],
  ["no namespace", { namespace: undefined }, "Pod web: has no metadata.namespace"],
  ["a slash in its name", { name: "a/b" }, "Pod default/a/b: has a slash in its name"],
  [
    "a number for the time of its deletion",
    { deletionTimestamp: 5 },
    "Pod default/web: metadata.deletionTimestamp is not a string",
  ],
])("a Pod with %s is refused by name", (_, change, why) => {
  expect(refused({ metadata: meta(change) }, pods)).toBe(why);
});

test("a refusal includes the object's resourceVersion if it has one", () => {
  const parsed = parseObject({ metadata: meta({ uid: "" }) }, pods);
  expect(parsed).toMatchObject({ ok: false, resourceVersion: "7" });
});

test("another kind or another apiVersion is refused", () => {
  expect(refused({ kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: meta() }, pods)).toContain("has kind Table");
  expect(refused({ kind: "Pod", apiVersion: "v2", metadata: meta() }, pods)).toContain("has apiVersion v2");
  expect(refused({ kind: {}, metadata: meta() }, pods)).toContain("has a kind that is not a string");
  expect(refused({ kind: { toString: 1, valueOf: 1 }, metadata: meta() }, pods)).toContain(
    "has a kind that is not a string",
  );
  const parsed = parseObject({ kind: "Node", apiVersion: "v1", metadata: meta() }, pods);
  expect(parsed).toMatchObject({ ok: false, resourceVersion: undefined });
});

test("a cluster-scoped object has no namespace, even if its metadata names one", () => {
  expect(accepted({ metadata: meta({ namespace: "x" }) }, nodes).metadata.namespace).toBeUndefined();
});

test("an oversized string in an owner reference is replaced, and the reference is kept", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "a", uid: "x".repeat(513), controller: true };
  const pod = accepted({ metadata: meta({ ownerReferences: [owner] }) }, pods);
  expect(pod.metadata.ownerReferences).toEqual([{ ...owner, uid: "(too long)" }]);
});

test("well-formed labels, annotations and owners are kept", () => {
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u9", controller: true };
  const pod = accepted(
    {
      metadata: meta({
        labels: { app: "web", bad: 3, worse: null },
        annotations: ["no", "map"],
        ownerReferences: [owner, { kind: "DaemonSet" }, "x", null],
        finalizers: ["a", 5],
        creationTimestamp: 99,
      }),
    },
    pods,
  );
  expect(pod.metadata).toEqual(meta({ labels: { app: "web" }, ownerReferences: [owner] }));
});

test("a Node loses malformed taints and conditions, and keeps the others in order", () => {
  const node = accepted(
    {
      metadata: { name: "pi-3", uid: "u", resourceVersion: "1" },
      spec: { taints: [{ key: "a", effect: "NoExecute", value: 4 }, { key: 1 }, null, { key: "b", effect: "Odd" }] },
      status: { conditions: [{ type: "Ready", status: "True", reason: 3 }, { type: "Ready" }, 17], addresses: "none" },
    },
    nodes,
  );
  expect(node.spec?.taints).toEqual([
    { key: "a", effect: "NoExecute" },
    { key: "b", effect: "Odd" },
  ]);
  expect(node.status).toEqual({ conditions: [{ type: "Ready", status: "True" }] });
});

test.each([
  ["taints", { spec: { taints: "many" } }],
  ["spec", { spec: "none" }],
  ["spec", { spec: null }],
  ["conditions", { status: { conditions: { Ready: true } } }],
  ["status", { status: [] }],
])("a Node whose %s are of the wrong type counts as having none", (_, fields) => {
  const node = accepted({ metadata: { name: "pi-3", uid: "u", resourceVersion: "1" }, ...fields }, nodes);
  expect(node.spec?.taints ?? []).toEqual([]);
  expect(node.status?.conditions ?? []).toEqual([]);
});

describe("an object is refused if ignoring a malformed member would cause a harmful act", () => {
  test.each([
    ["a node name that is not a string", { spec: { nodeName: 3 } }, "spec.nodeName"],
    ["tolerations that are not a list", { spec: { tolerations: {} } }, "spec.tolerations"],
    ["a toleration that is not an object", { spec: { tolerations: [{ key: "a" }, 5] } }, "spec.tolerations"],
    ["a toleration time in words", { spec: { tolerations: [{ tolerationSeconds: "long" }] } }, "spec.tolerations"],
    ["a phase that is not a string", { status: { phase: {} } }, "status.phase"],
  ])("a Pod with %s", (_, fields, why) => {
    expect(refused({ metadata: meta(), ...fields }, pods)).toContain(why);
  });

  test.each([
    ["a holder that is not a string", { spec: { holderIdentity: 3 } }],
    ["a duration in words", { spec: { leaseDurationSeconds: "60s" } }],
    ["transitions that are not a number", { spec: { leaseTransitions: [] } }],
    ["a renewal that is not a string", { spec: { renewTime: 17 } }],
  ])("a Lease with %s", (_, fields) => {
    expect(refused({ metadata: meta(), ...fields }, leases)).toContain("Lease default/web: spec.");
  });
});

test("null counts as absent, as Go writes absent values", () => {
  const pod = accepted(
    { metadata: meta({ labels: null, deletionTimestamp: null }), spec: { nodeName: null, tolerations: null } },
    pods,
  );
  expect(pod).toMatchObject({ metadata: meta(), spec: {} });
  expect(accepted({ metadata: { name: "n", uid: "u", resourceVersion: "1" }, status: null }, namespaces).kind).toBe(
    "Namespace",
  );
});

test("nesting too deep to be serialised is refused, regardless of how it is built", () => {
  const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  const object = JSON.parse(`{"metadata":${JSON.stringify(meta())},"spec":{"x":${deep}}}`);
  expect(refused(object, pods)).toContain("nested");
  const list = JSON.parse(
    `{"metadata":${JSON.stringify(meta())},"spec":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`,
  );
  expect(refused(list, pods)).toContain("nested");
});

test("an annotation of two megabytes is accepted", () => {
  const big = "x".repeat(2 * 1024 * 1024);
  expect(accepted({ metadata: meta({ annotations: { big } }) }, pods).metadata.annotations?.big).toHaveLength(
    big.length,
  );
});

test.each([
  ["data-0.db", true],
  ["..", false],
  [".", false],
  ["", false],
  ["a/b", false],
  ["Data", false],
  ["x".repeat(253), true],
  ["x".repeat(254), false],
])("a reference to a claim or a volume of the name %j is kept: %s", (name, isKept) => {
  const spec = { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] };
  const pod = accepted({ metadata: meta(), spec }, pods);
  expect(pod.spec?.volumes?.[0]?.persistentVolumeClaim?.claimName).toBe(isKept ? name : undefined);
  const claim = accepted({ metadata: meta(), spec: { volumeName: name } }, persistentVolumeClaims);
  expect(claim.spec?.volumeName).toBe(isKept ? name : undefined);
});
