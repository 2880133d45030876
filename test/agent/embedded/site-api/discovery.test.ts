import { expect, test } from "vitest";
import { itemsAt, type JsonValue, textAt, valueAt } from "../../../../agent/api/json.ts";
import { failureOf, TestSite } from "./site.ts";

const named = (items: readonly JsonValue[], name: string, member = "name"): JsonValue | undefined =>
  items.find((item) => textAt(item, member) === name);

test("the server is healthy and says which Kubernetes it follows", async () => {
  await using site = new TestSite();
  for (const path of ["/healthz", "/readyz", "/livez", "/readyz/ping", "/readyz?verbose"]) {
    expect(await site.get(path)).toMatchObject({ status: 200, text: "ok" });
  }
  expect((await site.get("/version")).body).toMatchObject({
    major: "1",
    minor: "36",
    gitVersion: expect.stringMatching(/^v1\.36\./),
  });
});

test("groups and resources are found one by one", async () => {
  await using site = new TestSite();
  expect((await site.get("/api")).body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  const groups = itemsAt((await site.get("/apis")).body, "groups");
  expect(groups.map((group) => textAt(group, "preferredVersion", "groupVersion"))).toEqual([
    "apps/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "policy/v1",
  ]);
  expect((await site.get("/apis/apps")).body).toMatchObject({ kind: "APIGroup", name: "apps" });
  const core = itemsAt((await site.get("/api/v1")).body, "resources");
  expect(named(core, "pods")).toEqual({
    name: "pods",
    singularName: "pod",
    namespaced: true,
    kind: "Pod",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    shortNames: ["po"],
    categories: ["all"],
  });
  expect(named(core, "pods/eviction")).toMatchObject({
    group: "policy",
    version: "v1",
    kind: "Eviction",
    verbs: ["create"],
  });
  expect(named(core, "nodes/status")).toMatchObject({
    kind: "Node",
    namespaced: false,
    verbs: ["get", "patch", "update"],
  });
  expect((await site.get("/apis/apps/v1")).body).toMatchObject({
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: "apps/v1",
  });
});

test("all of it is found at once", async () => {
  await using site = new TestSite();
  const accept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
  const core = await site.get("/api", accept);
  expect(core.headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  expect(core.body).toMatchObject({
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    items: [{ versions: [{ version: "v1", freshness: "Current" }] }],
  });
  const resources = itemsAt(valueAt(core.body, "items", "0") ?? itemsAt(core.body, "items")[0], "versions").flatMap(
    (version) => itemsAt(version, "resources"),
  );
  expect(named(resources, "pods", "resource")).toMatchObject({
    scope: "Namespaced",
    singularResource: "pod",
    shortNames: ["po"],
  });
  expect((await site.get("/apis", accept)).body).toMatchObject({ kind: "APIGroupDiscoveryList" });
});

test("the documentation names every kind, and offers what clients look for", async () => {
  await using site = new TestSite();
  const paths = valueAt((await site.get("/openapi/v3")).body, "paths");
  expect(Object.keys(paths ?? {})).toEqual([
    "api/v1",
    "apis/apps/v1",
    "apis/coordination.k8s.io/v1",
    "apis/discovery.k8s.io/v1",
  ]);
  const { body } = await site.get(textAt(paths, "apis/apps/v1", "serverRelativeURL"));
  const patch = valueAt(body, "paths", "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}", "patch");
  expect(patch).toMatchObject({
    "x-kubernetes-group-version-kind": { group: "apps", version: "v1", kind: "DaemonSet" },
  });
  expect(itemsAt(patch, "parameters").map((parameter) => textAt(parameter, "name"))).toContain("fieldValidation");
  expect(valueAt(body, "components", "schemas", "io.k8s.api.apps.v1.DaemonSet")).toMatchObject({
    "x-kubernetes-preserve-unknown-fields": true,
    "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "DaemonSet" }],
  });
  expect((await site.get("/openapi/v3/apis/none/v1")).status).toBe(404);
  expect((await site.get("/openapi/v2")).body).toMatchObject({ swagger: "2.0" });
  const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  expect(failureOf(await site.get("/openapi/v2", protobuf))).toBe("406 NotAcceptable");
});

test("whoever asks may do everything", async () => {
  await using site = new TestSite();
  const spec = { resourceAttributes: { verb: "delete", resource: "nodes" } };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect(await site.ask("POST", path, { spec })).toMatchObject({
    status: 201,
    body: { spec, status: { allowed: true } },
  });
  expect(failureOf(await site.get(path))).toBe("405 MethodNotAllowed");
  expect((await site.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})).body).toMatchObject({
    status: { userInfo: { username: "admin" } },
  });
});

test("simulated pods have no logs and nothing to execute, and say so", async () => {
  await using site = new TestSite();
  const pods = "/api/v1/namespaces/default/pods";
  await site.create(pods, { metadata: { name: "a" }, spec: { containers: [{ name: "c", image: "i" }] } });
  expect(failureOf(await site.get(`${pods}/a/log`))).toBe("501 NotImplemented");
  expect(failureOf(await site.ask("POST", `${pods}/a/exec?command=ls`))).toBe("501 NotImplemented");
  expect(failureOf(await site.get(`${pods}/none/log`))).toBe("404 NotFound");
});
