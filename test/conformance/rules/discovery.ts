import { isJsonObject, itemsAt, type JsonValue, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Ground } from "../ground.ts";
import { type Rule, rule } from "../rule.ts";

const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** "pods", namespaced, with its verbs; of a list of resources. */
const resourceIn = (resources: readonly JsonValue[], name: string): JsonValue | undefined =>
  resources.find((one) => textAt(one, "name") === name);

const verbsOf = (resource: JsonValue | undefined): readonly JsonValue[] => itemsAt(resource, "verbs").toSorted();

const namesIn = async (site: Ground, path: string, list: string): Promise<readonly string[]> =>
  itemsAt((await site.get(path)).is(200).body, list).map((one) => textAt(one, "name"));

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export const discoveryRules: readonly Rule[] = [
  rule("version", "the server reports its version", async (site) => {
    const version = (await site.get("/version")).is(200);
    version.same("major", version.textAt("major"), "1");
    version.holds("a minor version", version.body, /^\d+/.test(version.textAt("minor")));
    version.holds("a gitVersion", version.body, /^v1\.\d+\.\d+/.test(version.textAt("gitVersion")));
  }),
  rule("health", "the server reports whether it is alive and ready", async (site) => {
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      const answer = (await site.get(path)).is(200);
      answer.same("the text", answer.text, "ok");
    }
  }),
  rule("discovery-groups", "the served groups are listed one by one, for older clients", async (site) => {
    (await site.get("/api")).is(200).shows("APIVersions", "kind").shows(["v1"], "versions");
    (await site.get("/apis")).is(200).shows("APIGroupList", "kind");
    const groups = await namesIn(site, "/apis", "groups");
    const needed = ["apps", "coordination.k8s.io", "policy", "discovery.k8s.io", "authorization.k8s.io"];
    (await site.get("/apis")).holds(
      `among the groups ${needed}`,
      groups,
      needed.every((one) => groups.includes(one)),
    );
    const apps = (await site.get("/apis/apps")).is(200).shows("APIGroup", "kind").shows("apps", "name");
    apps.shows("apps/v1", "preferredVersion", "groupVersion");
    (await site.get("/apis/chairs.example.com")).is(404);
  }),
  rule("discovery-resources", "each resource is listed with its kind, scope and verbs", async (site) => {
    const core = (await site.get("/api/v1")).is(200).shows("APIResourceList", "kind").shows("v1", "groupVersion");
    const resources = itemsAt(core.body, "resources");
    for (const [name, kind, namespaced] of [
      ["pods", "Pod", true],
      ["nodes", "Node", false],
      ["configmaps", "ConfigMap", true],
    ] as const) {
      const one = resourceIn(resources, name);
      core
        .same(`kind of ${name}`, textAt(one, "kind"), kind)
        .same(`scope of ${name}`, valueAt(one, "namespaced"), namespaced);
      core.same(`verbs of ${name}`, verbsOf(one), allVerbs);
      core.same(`singular of ${name}`, textAt(one, "singularName"), kind.toLowerCase());
    }
    core.same(
      "verbs of namespaces",
      verbsOf(resourceIn(resources, "namespaces")),
      allVerbs.filter((verb) => verb !== "deletecollection"),
    );
    core.same("short names of pods", itemsAt(resourceIn(resources, "pods"), "shortNames"), ["po"]);
    core.same("verbs of pods/status", verbsOf(resourceIn(resources, "pods/status")), ["get", "patch", "update"]);
    core.same("verbs of pods/eviction", verbsOf(resourceIn(resources, "pods/eviction")), ["create"]);
    core.same("kind of pods/eviction", textAt(resourceIn(resources, "pods/eviction"), "kind"), "Eviction");
    const leases = (await site.get("/apis/coordination.k8s.io/v1")).is(200);
    leases.same("verbs of leases", verbsOf(resourceIn(itemsAt(leases.body, "resources"), "leases")), allVerbs);
    const policy = (await site.get("/apis/policy/v1")).is(200);
    leases.same(
      "verbs of budgets",
      verbsOf(resourceIn(itemsAt(policy.body, "resources"), "poddisruptionbudgets")),
      allVerbs,
    );
  }),
  rule("discovery-aggregated", "all groups and resources are available as one document on request", async (site) => {
    for (const [path, group, resource] of [
      ["/api", "", "pods"],
      ["/apis", "apps", "daemonsets"],
    ] as const) {
      const all = (await site.get(path, {}, { accept: `${aggregated},application/json` }))
        .is(200)
        .shows("APIGroupDiscoveryList", "kind");
      all.holds(
        "its own content type",
        all.headers["content-type"],
        /as=APIGroupDiscoveryList/.test(all.headers["content-type"] ?? ""),
      );
      const found = all.items.find((item) => textAt(item, "metadata", "name") === group);
      const [version] = itemsAt(found, "versions");
      all.same("version", textAt(version, "version"), "v1");
      const one = itemsAt(version, "resources").find((each) => textAt(each, "resource") === resource);
      all
        .same(`scope of ${resource}`, textAt(one, "scope"), "Namespaced")
        .same(`verbs of ${resource}`, verbsOf(one), allVerbs);
      const parts = itemsAt(one, "subresources").map((part) => textAt(part, "subresource"));
      all.holds("status among the subresources", parts, parts.includes("status"));
    }
  }),
  rule("openapi-3", "the documentation of each group names its paths and their kinds", async (site) => {
    const index = (await site.get("/openapi/v3")).is(200);
    for (const [path, kind] of [
      ["api/v1", "Pod"],
      ["apis/apps/v1", "DaemonSet"],
      ["apis/coordination.k8s.io/v1", "Lease"],
    ] as const) {
      const url = textAt(index.at("paths"), path, "serverRelativeURL");
      index.holds(`a place for ${path}`, url, url.startsWith(`/openapi/v3/${path}`));
      const document = (await site.get(url)).is(200);
      document.holds("OpenAPI 3", document.textAt("openapi"), document.textAt("openapi").startsWith("3."));
      const schemas = document.at("components", "schemas");
      const kinds = Object.values(isJsonObject(schemas) ? schemas : {})
        .flatMap((schema) => itemsAt(schema, "x-kubernetes-group-version-kind"))
        .map((one) => textAt(one, "kind"));
      document.holds(`a schema for ${kind}`, kinds, kinds.includes(kind));
    }
    (await site.get("/openapi/v3/apis/chairs.example.com/v1")).is(404);
  }),
  rule("openapi-2", "the older documentation is served as JSON and as protobuf, for kubectl", async (site) => {
    const document = (await site.get("/openapi/v2")).is(200).shows("2.0", "swagger");
    document.holds("definitions", document.text.slice(0, 200), isJsonObject(document.at("definitions")));
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const packed = (await site.get("/openapi/v2", {}, { accept })).is(200);
    packed.holds("protobuf", packed.headers["content-type"], /protobuf/.test(packed.headers["content-type"] ?? ""));
  }),
  rule("access-review", "a client can review its permissions", async (site) => {
    const resourceAttributes = { verb: "get", resource: "nodes" };
    const review = {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      spec: { resourceAttributes },
    };
    const answer = (await site.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).is(201);
    answer.shows(true, "status", "allowed").shows("SelfSubjectAccessReview", "kind");
  }),
];
