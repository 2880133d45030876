import { expect, test } from "vitest";
import { itemsAt, type JsonValue, textAt, valueAt } from "../../../../agent/api/json.ts";
import { piecesOf } from "../../../../simulator/site-api/protobuf/wire.ts";
import { failureOf, merge, pod, pods, TestSite } from "../site.ts";

const apply = "application/apply-patch+yaml";

const named = (items: readonly JsonValue[], name: string, member = "name"): JsonValue | undefined =>
  items.find((item) => textAt(item, member) === name);

test("the server is healthy and reports the version of Kubernetes that it follows", async () => {
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
    "batch/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
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

test("all groups and resources are found with one request", async () => {
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

test("the OpenAPI document names every kind, and has the operations that clients need", async () => {
  await using site = new TestSite();
  const paths = valueAt((await site.get("/openapi/v3")).body, "paths");
  expect(Object.keys(paths ?? {})).toEqual([
    "api/v1",
    "apis/apps/v1",
    "apis/batch/v1",
    "apis/coordination.k8s.io/v1",
    "apis/discovery.k8s.io/v1",
    "apis/networking.k8s.io/v1",
    "apis/policy/v1",
  ]);
  const { body } = await site.get(textAt(paths, "apis/apps/v1", "serverRelativeURL"));
  const patch = valueAt(body, "paths", "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}", "patch");
  expect(patch).toMatchObject({
    "x-kubernetes-group-version-kind": { group: "apps", version: "v1", kind: "DaemonSet" },
  });
  expect(itemsAt(patch, "parameters").map((parameter) => textAt(parameter, "name"))).toContain("fieldValidation");
  expect(valueAt(body, "components", "schemas", "io.k8s.api.apps.v1.DaemonSet")).toMatchObject({
    "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "DaemonSet" }],
  });
  expect((await site.get("/openapi/v3/apis/none/v1")).status).toBe(404);
  expect((await site.get("/openapi/v2")).body).toMatchObject({ swagger: "2.0" });
  expect(failureOf(await site.get("/openapi/v2", "text/html"))).toBe("406 NotAcceptable");
});

test("the OpenAPI document has the fields of every kind, and every type that these refer to", async () => {
  await using site = new TestSite();
  const paths = valueAt((await site.get("/openapi/v3")).body, "paths") ?? {};
  for (const path of Object.keys(paths)) {
    const { body, text } = await site.get(`/openapi/v3/${path}`);
    const schemas = valueAt(body, "components", "schemas") ?? {};
    const referred = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining([...new Set(referred)]));
  }
  const schemas = valueAt((await site.get("/openapi/v3/api/v1")).body, "components", "schemas");
  const fields = (type: string) => valueAt(schemas, type, "properties");
  const to = (type: string) => ({ $ref: `#/components/schemas/${type}` });
  expect(fields("io.k8s.api.core.v1.Node")).toMatchObject({ metadata: to("ObjectMeta"), spec: to("NodeSpec") });
  expect(fields("NodeSpec")).toMatchObject({
    taints: { type: "array", items: to("Taint") },
    unschedulable: { type: "boolean" },
  });
  expect(fields("NodeStatus")).toMatchObject({ capacity: { type: "object", additionalProperties: to("Quantity") } });
  expect(fields("Taint")).toMatchObject({ key: { type: "string" }, timeAdded: { format: "date-time" } });
  // What is inlined is a member of the type around it.
  expect(fields("Probe")).toMatchObject({ httpGet: to("HTTPGetAction"), periodSeconds: { type: "integer" } });
  const slices = (await site.get("/openapi/v3/apis/discovery.k8s.io/v1")).body;
  expect(valueAt(slices, "components", "schemas", "EndpointPort", "properties")).toMatchObject({
    port: { type: "integer" },
  });
});

test("the document that kubectl requests before it checks a List exists, and describes nothing", async () => {
  await using site = new TestSite();
  const answer = await site.get("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
  // Go refuses a content type with an "@" in it.
  expect(answer.headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  const [version, info, ...more] = piecesOf(Buffer.from(answer.text, "latin1"));
  expect([version?.number, String(version?.value)]).toEqual([1, "2.0"]);
  expect(info?.number).toBe(2);
  expect(more).toEqual([]);
});

test("a request to a group that is not served is not found", async () => {
  await using site = new TestSite();
  const role = { metadata: { name: "r" }, rules: [] };
  const at = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  expect(failureOf(await site.ask("POST", at, role))).toBe("404 NotFound");
  expect(failureOf(await site.ask("POST", "/version", {}))).toBe("405 MethodNotAllowed");
  expect(failureOf(await site.ask("DELETE", "/healthz"))).toBe("405 MethodNotAllowed");
});

test("creating a kind without a controller returns a warning, and it has no scale", async () => {
  await using site = new TestSite();
  const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const deployment = { metadata: { name: "a" }, spec: { selector: { matchLabels: { app: "a" } }, template } };
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const header = '299 - "no controller of this embedded site handles a Deployment: it is stored without effect"';
  const created = await site.ask("POST", deployments, deployment);
  expect([created.status, created.headers.warning]).toEqual([201, header]);
  const applied = await site.ask(
    "PATCH",
    `${deployments}/b?fieldManager=me`,
    { ...deployment, metadata: {} },
    { type: apply },
  );
  expect([applied.status, applied.headers.warning]).toEqual([201, header]);
  const again = await site.ask(
    "PATCH",
    `${deployments}/b?fieldManager=me`,
    { ...deployment, metadata: {} },
    { type: apply },
  );
  expect([again.status, again.headers.warning]).toEqual([200, undefined]);
  expect((await site.ask("POST", pods, pod("p"))).headers.warning).toBeUndefined();
  const scale = { spec: { replicas: 5 } };
  const scaled = await site.ask("PATCH", `${deployments}/a/scale`, scale, { type: merge });
  expect(failureOf(scaled)).toBe("501 NotImplemented");
  expect(failureOf(await site.get(`${deployments}/a/scale`))).toBe("501 NotImplemented");
  expect(failureOf(await site.get(`${pods}/p/scale`))).toBe("404 NotFound");
});

test("every user may do everything", async () => {
  await using site = new TestSite();
  const spec = { resourceAttributes: { verb: "delete", resource: "nodes" } };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect(await site.ask("POST", path, { spec })).toMatchObject({
    status: 201,
    body: { spec, status: { allowed: true } },
  });
  expect(failureOf(await site.get(path))).toBe("405 MethodNotAllowed");
  const rules = await site.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: {} });
  expect(rules.body).toMatchObject({ status: { resourceRules: [{ verbs: ["*"] }], incomplete: false } });
  expect((await site.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})).body).toMatchObject({
    status: { userInfo: { username: "admin" } },
  });
});

test("simulated pods have no logs and no exec, and the error says so", async () => {
  await using site = new TestSite();
  await site.create(pods, { metadata: { name: "a" }, spec: { containers: [{ name: "c", image: "i" }] } });
  expect(failureOf(await site.get(`${pods}/a/log`))).toBe("501 NotImplemented");
  expect(failureOf(await site.ask("POST", `${pods}/a/exec?command=ls`))).toBe("501 NotImplemented");
  expect(failureOf(await site.get(`${pods}/none/log`))).toBe("404 NotFound");
});
