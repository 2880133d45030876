import { expect, test } from "vitest";
import type { JsonValue } from "../../../agent/api/json.ts";
import { configMap, configMaps, failureOf, jsonPatch, merge, node, pod, pods, strategic, TestSite } from "./site.ts";

const nodes = "/api/v1/nodes";

test.each<[string, string, JsonValue | undefined, string]>([
  ["text that is not JSON", pods, "{", "400 BadRequest"],
  ["nothing", pods, "", "400 BadRequest"],
  ["a list", pods, [1], "400 BadRequest"],
  ["another kind", pods, node("a"), "400 BadRequest"],
  ["another version", pods, { ...pod("a"), apiVersion: "v2" }, "400 BadRequest"],
  ["labels that are not strings", pods, pod("a", {}, { labels: { a: 5 } }), "400 BadRequest"],
  ["metadata that is not an object", pods, { ...pod("a"), metadata: 5 }, "400 BadRequest"],
  ["a spec that is not an object", pods, { ...pod("a"), spec: 5 }, "400 BadRequest"],
  ["another namespace", pods, pod("a", {}, { namespace: "other" }), "400 BadRequest"],
  ["a resourceVersion", pods, pod("a", {}, { resourceVersion: "5" }), "400 BadRequest"],
  ["no name", pods, { ...pod("a"), metadata: {} }, "422 Invalid"],
  ["a name with capitals", pods, pod("A"), "422 Invalid"],
  ["a name with a slash", pods, pod("a/b"), "422 Invalid"],
  ["a name that is too long", pods, pod("a".repeat(254)), "422 Invalid"],
  ["a namespace with a dot", "/api/v1/namespaces", { metadata: { name: "a.b" } }, "422 Invalid"],
  ["a label key with a space", pods, pod("a", {}, { labels: { "a b": "c" } }), "422 Invalid"],
  ["a label key with two slashes", pods, pod("a", {}, { labels: { "a/b/c": "d" } }), "422 Invalid"],
  ["a label value with a space", pods, pod("a", {}, { labels: { a: "b c" } }), "422 Invalid"],
  ["a label value that is too long", pods, pod("a", {}, { labels: { a: "b".repeat(64) } }), "422 Invalid"],
  ["an annotation key with a space", pods, pod("a", {}, { annotations: { "a b": "c" } }), "422 Invalid"],
  ["annotations that are too large", pods, pod("a", {}, { annotations: { a: "x".repeat(300_000) } }), "422 Invalid"],
  [
    "an owner without a uid",
    pods,
    pod("a", {}, { ownerReferences: [{ kind: "X", apiVersion: "v1", name: "x" }] }),
    "422 Invalid",
  ],
  ["a pod without containers", pods, { ...pod("a"), spec: {} }, "422 Invalid"],
  [
    "containers of the same name",
    pods,
    pod("a", {
      containers: [
        { name: "c", image: "i" },
        { name: "c", image: "i" },
      ],
    }),
    "422 Invalid",
  ],
  ["a taint without an effect", nodes, node("a", { spec: { taints: [{ key: "a" }] } }), "422 Invalid"],
  [
    "a taint with an unknown effect",
    nodes,
    node("a", { spec: { taints: [{ key: "a", effect: "Explode" }] } }),
    "422 Invalid",
  ],
])("%s is refused", async (_, path, body, failure) => {
  await using site = new TestSite();
  expect(failureOf(await site.ask("POST", path, body))).toBe(failure);
  expect((await site.get(path)).body).not.toMatchObject({ items: [{ metadata: { name: "a" } }] });
});

test("a Status names the invalid field and its fault", async () => {
  await using site = new TestSite();
  const { body } = await site.ask("POST", pods, pod("A", {}, { labels: { "a b": "c" } }));
  expect(body).toMatchObject({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 422,
    reason: "Invalid",
    message: expect.stringMatching(/^Pod "A" is invalid: \[metadata\.name: Invalid value: "A": .*metadata\.labels: /),
    details: {
      name: "A",
      kind: "Pod",
      causes: [
        { reason: "FieldValueInvalid", field: "metadata.name" },
        { reason: "FieldValueInvalid", field: "metadata.labels" },
      ],
    },
  });
});

test.each<[string, string, JsonValue, string]>([
  [merge, "a merge patch that is a list", [], "400 BadRequest"],
  [merge, "a merge patch that is not JSON", "{", "400 BadRequest"],
  [merge, "another name", { metadata: { name: "b" } }, "400 BadRequest"],
  [merge, "another uid", { metadata: { uid: "x" } }, "422 Invalid"],
  [merge, "an older resourceVersion", { metadata: { resourceVersion: "1" } }, "409 Conflict"],
  [merge, "a deletion by hand", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, "422 Invalid"],
  [merge, "another kind", { kind: "Node" }, "422 Invalid"],
  [merge, "labels that are not an object", { metadata: { labels: 5 } }, "422 Invalid"],
  [jsonPatch, "a JSON patch that is not a list", {}, "400 BadRequest"],
  [jsonPatch, "a test that fails", [{ op: "test", path: "/metadata/name", value: "b" }], "422 Invalid"],
  [jsonPatch, "an unknown operation", [{ op: "explode", path: "/metadata" }], "422 Invalid"],
  [strategic, "an item without its key", { spec: { containers: [{ image: "i" }] } }, "400 BadRequest"],
  ["application/json", "a patch without a type", {}, "415 UnsupportedMediaType"],
  [merge, "a change of an immutable field", { spec: { restartPolicy: "Never" } }, "422 Invalid"],
])("%s: %s is refused", async (type, _, patch, failure) => {
  await using site = new TestSite();
  const before = await site.create(pods, pod("a"));
  expect(failureOf(await site.ask("PATCH", `${pods}/a`, patch, { type }))).toBe(failure);
  expect((await site.get(`${pods}/a`)).body).toEqual(before);
});

test.each([
  ["GET", "/api/v1/nothing", "404 NotFound"],
  ["GET", "/apis/apps/v9/daemonsets", "404 NotFound"],
  ["GET", `${pods}/a/nothing`, "404 NotFound"],
  ["GET", "/api/v1/pods/a", "404 NotFound"],
  ["GET", `${pods}/none`, "404 NotFound"],
  ["GET", `${pods}/a/eviction`, "405 MethodNotAllowed"],
  ["POST", `${pods}/a`, "405 MethodNotAllowed"],
  ["PUT", pods, "405 MethodNotAllowed"],
  ["PATCH", pods, "405 MethodNotAllowed"],
  ["DELETE", "/api/v1/pods", "405 MethodNotAllowed"],
  ["DELETE", "/api/v1/namespaces", "405 MethodNotAllowed"],
  ["BREW", pods, "405 MethodNotAllowed"],
  ["GET", "/api/v1/namespaces/%zz/pods", "400 BadRequest"],
  ["GET", "/api/v1/namespaces/a%2Fb/pods", "400 BadRequest"],
  ["GET", `${pods}?limit=many`, "400 BadRequest"],
  ["GET", `${pods}?continue=made-up`, "400 BadRequest"],
  ["GET", `${pods}?resourceVersion=new`, "400 BadRequest"],
  ["GET", `${pods}?labelSelector=a===`, "400 BadRequest"],
  ["GET", `${pods}?fieldSelector=spec.color=red`, "400 BadRequest"],
  ["GET", `${pods}?fieldSelector=metadata.name`, "400 BadRequest"],
  ["GET", `${pods}?resourceVersionMatch=Exact`, "422 Invalid"],
  ["GET", `${pods}?resourceVersion=1&resourceVersionMatch=Newest`, "422 Invalid"],
  ["GET", `${pods}?sendInitialEvents=true`, "422 Invalid"],
  ["GET", `${pods}?watch=true&sendInitialEvents=true`, "422 Invalid"],
  ["GET", `${pods}?watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan`, "422 Invalid"],
  ["DELETE", `${pods}/a?propagationPolicy=Sideways`, "422 Invalid"],
  ["DELETE", `${pods}/a?gracePeriodSeconds=soon`, "400 BadRequest"],
])("%s %s: %s", async (method, path, failure) => {
  await using site = new TestSite();
  await site.create(pods, pod("a"));
  expect(failureOf(await site.ask(method, path))).toBe(failure);
});

test("an unknown path is not found", async () => {
  await using site = new TestSite();
  for (const path of ["/nothing", "/apis/example.org/v1/things", "/apis/example.org"]) {
    expect(await site.get(path)).toMatchObject({
      status: 404,
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
  }
});

test("an unsupported response type is not acceptable, and an unsupported request body is refused", async () => {
  await using site = new TestSite();
  for (const accept of [
    "text/html",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Picture;v=v1;g=meta.k8s.io",
  ]) {
    expect(failureOf(await site.get(pods, accept))).toBe("406 NotAcceptable");
  }
  expect((await site.get(pods, "application/vnd.kubernetes.protobuf,application/json")).status).toBe(200);
  expect(failureOf(await site.ask("POST", configMaps, configMap("a"), { type: "text/plain" }))).toBe(
    "415 UnsupportedMediaType",
  );
});

test("a body that is too large, nests too deep or hides its size is refused, and the next request is served", async () => {
  await using site = new TestSite();
  const large = configMap("a", {}, { x: "x".repeat(4 * 1024 * 1024) });
  expect(failureOf(await site.ask("POST", configMaps, large))).toBe("413 RequestEntityTooLarge");
  const deep = `{"metadata":{"name":"a"},"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  expect((await site.ask("POST", configMaps, deep)).status).toBe(400);
  const bomb = `a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\nmetadata: {name: a}\n`;
  expect(failureOf(await site.ask("POST", configMaps, bomb, { type: "application/yaml" }))).toBe("400 BadRequest");
  expect(failureOf(await site.ask("POST", configMaps, "a: [", { type: "application/yaml" }))).toBe("400 BadRequest");
  await site.create(configMaps, configMap("a"));
  expect(site.log.said("error")).toEqual([]);
});

test("fields with names of built-in members are only data", async () => {
  await using site = new TestSite();
  const body = '{"metadata":{"name":"a","labels":{"constructor":"x"}},"data":{"__proto__":"y","toString":"z"}}';
  const answer = await site.ask("POST", configMaps, body);
  expect(answer.status).toBe(201);
  expect(answer.text).toContain('"data":{"__proto__":"y","toString":"z"}');
  const listed = await site.get(`${configMaps}?labelSelector=toString`);
  expect(listed.body.items).toEqual([]);
});
