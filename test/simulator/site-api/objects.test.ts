import { describe, expect, test } from "vitest";
import { valueAt } from "../../../agent/api/json.ts";
import { configMap, configMaps, failureOf, merge, node, pod, pods, TestSite } from "./site.ts";

const nodes = "/api/v1/nodes";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

const lease = (name: string, spec = {}, metadata = {}) => ({
  kind: "Lease",
  apiVersion: "coordination.k8s.io/v1",
  metadata: { name, ...metadata },
  spec,
});

describe("creating an object", () => {
  test("gives it an identity and returns it", async () => {
    await using site = new TestSite();
    const created = await site.create(
      configMaps,
      configMap("a", { labels: { app: "x" }, uid: "mine" }, { key: "value" }),
    );
    expect(created).toMatchObject({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z", labels: { app: "x" } },
      data: { key: "value" },
    });
    expect(valueAt(created, "metadata", "uid")).toMatch(/^[0-9a-f-]{36}$/);
    expect(valueAt(created, "metadata", "resourceVersion")).toMatch(/^\d+$/);
    expect((await site.get(`${configMaps}/a`)).body).toEqual(created);
  });

  test("fails if the name is in use", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const answer = await site.ask("POST", configMaps, configMap("a"));
    expect(failureOf(answer)).toBe("409 AlreadyExists");
    expect(answer.body.details).toEqual({ name: "a", kind: "configmaps" });
  });

  test("generates a name from generateName, a different one each time", async () => {
    await using site = new TestSite();
    const made = await Promise.all(
      [1, 2, 3].map(() => site.create(pods, { ...pod("x"), metadata: { generateName: "web-" } })),
    );
    const names = made.map((object) => String(valueAt(object, "metadata", "name")));
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test("refuses values other than strings in maps of strings, because one would spoil the list for every client", async () => {
    await using site = new TestSite();
    for (const data of [5, ["x"], { key: 5 }, { key: null, other: { deep: "x" } }]) {
      expect(failureOf(await site.ask("POST", configMaps, { metadata: { name: "a" }, data }))).toBe("400 BadRequest");
    }
    await site.create(configMaps, configMap("a", {}, { key: "5" }));
    const answer = await site.ask("PATCH", `${configMaps}/a`, { data: { key: 5 } }, { type: merge });
    expect(answer.body).toMatchObject({
      code: 422,
      details: { causes: [{ field: "patch", message: expect.stringContaining("data.key") }] },
    });
    const secret = { metadata: { name: "s" }, data: { key: 5 } };
    expect(failureOf(await site.ask("POST", "/api/v1/namespaces/default/secrets", secret))).toBe("400 BadRequest");
  });

  test("needs an existing namespace", async () => {
    await using site = new TestSite();
    const answer = await site.ask("POST", "/api/v1/namespaces/nowhere/configmaps", configMap("a"));
    expect(failureOf(answer)).toBe("404 NotFound");
    expect(answer.body.details).toEqual({ name: "nowhere", kind: "namespaces" });
    expect(failureOf(await site.ask("POST", "/api/v1/configmaps", configMap("a")))).toBe("405 MethodNotAllowed");
  });

  test("as a dry run returns the result and stores nothing", async () => {
    await using site = new TestSite();
    const answer = await site.ask("POST", `${configMaps}?dryRun=All`, configMap("a"));
    expect(answer.status).toBe(201);
    expect(valueAt(answer.body, "metadata", "resourceVersion")).toBeUndefined();
    expect(failureOf(await site.get(`${configMaps}/a`))).toBe("404 NotFound");
    await site.create(configMaps, configMap("a"));
    expect(failureOf(await site.ask("POST", `${configMaps}?dryRun=All`, configMap("a")))).toBe("409 AlreadyExists");
    expect(failureOf(await site.ask("POST", `${configMaps}?dryRun=Some`, configMap("b")))).toBe("422 Invalid");
  });

  test("accepts YAML", async () => {
    await using site = new TestSite();
    const yaml =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  when: "2026-01-01"\n  text: |\n    two\n    lines\n';
    const answer = await site.ask("POST", configMaps, yaml, { type: "application/yaml" });
    expect(answer.body).toMatchObject({ data: { when: "2026-01-01", text: "two\nlines\n" } });
  });
});

describe("a new object gets its defaults", () => {
  test("a pod, as on the real server", async () => {
    await using site = new TestSite();
    const created = await site.create(pods, { ...pod("a"), status: { phase: "Running" } });
    expect(created).toMatchObject({
      metadata: { generation: 1 },
      spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30, dnsPolicy: "ClusterFirst" },
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
    expect(valueAt(created, "spec", "tolerations")).toEqual(
      ["not-ready", "unreachable"].map((what) => ({
        key: `node.kubernetes.io/${what}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      })),
    );
  });

  test("a pod's own tolerations are kept", async () => {
    await using site = new TestSite();
    const own = [
      { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 },
    ];
    const created = await site.create(pods, pod("a", { tolerations: own }));
    expect(valueAt(created, "spec", "tolerations")).toMatchObject([own[0], { key: "node.kubernetes.io/not-ready" }]);
    const all = await site.create(pods, pod("b", { tolerations: [{ operator: "Exists" }] }));
    expect(valueAt(all, "spec", "tolerations")).toEqual([{ operator: "Exists" }]);
  });

  test.each([
    [{}, "BestEffort"],
    [{ requests: { cpu: "1" } }, "Burstable"],
    [{ limits: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
    [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } }, "Burstable"],
  ])("a pod with resources %j is %s", async (resources, qosClass) => {
    await using site = new TestSite();
    const created = await site.create(pods, pod("a", { containers: [{ name: "c", image: "i", resources }] }));
    expect(valueAt(created, "status", "qosClass")).toBe(qosClass);
  });

  test("a Node starts tainted, and keeps the status it registers with", async () => {
    await using site = new TestSite();
    const created = await site.create(
      nodes,
      node("n1", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
    );
    expect(created).toMatchObject({
      spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    expect(valueAt(created, "metadata", "generation")).toBeUndefined();
  });

  test("services get their own addresses", async () => {
    await using site = new TestSite();
    const service = (name: string, spec = {}) => ({
      kind: "Service",
      apiVersion: "v1",
      metadata: { name },
      spec: { ports: [{ port: 80 }], ...spec },
    });
    const path = "/api/v1/namespaces/default/services";
    const [a, b] = [await site.create(path, service("a")), await site.create(path, service("b"))];
    expect(valueAt(a, "spec", "clusterIP")).toMatch(/^10\.96\./);
    expect(valueAt(a, "spec", "clusterIP")).not.toBe(valueAt(b, "spec", "clusterIP"));
    expect(await site.create(path, service("c", { clusterIP: "None" }))).toMatchObject({ spec: { clusterIP: "None" } });
    const moved = await site.ask("PATCH", `${path}/a`, { spec: { clusterIP: "10.96.9.9" } }, { type: merge });
    expect(failureOf(moved)).toBe("422 Invalid");
  });

  test("a DaemonSet's generation counts the changes of its template", async () => {
    await using site = new TestSite();
    const path = "/apis/apps/v1/namespaces/default/daemonsets";
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
    const spec = { selector: { matchLabels: { a: "b" } }, template };
    await site.create(path, { kind: "DaemonSet", apiVersion: "apps/v1", metadata: { name: "d" }, spec });
    const counted = async (patch: object): Promise<unknown[]> => {
      const { body } = await site.ask("PATCH", `${path}/d`, JSON.stringify(patch), { type: merge });
      const annotation = "deprecated.daemonset.template.generation";
      return [valueAt(body, "metadata", "generation"), valueAt(body, "metadata", "annotations", annotation)];
    };
    expect(await counted({ spec: { minReadySeconds: 1 } })).toEqual([2, "1"]);
    expect(await counted({ spec: { template: { spec: { hostNetwork: true } } } })).toEqual([3, "2"]);
    expect(await counted({ metadata: { labels: { x: "y" } } })).toEqual([3, "2"]);
  });
});

describe("replacing an object", () => {
  test("with a resourceVersion replaces that version or fails", async () => {
    await using site = new TestSite();
    const first = await site.create(configMaps, configMap("a", {}, { n: "1" }));
    const changed = { ...first, data: { n: "2" } };
    const second = await site.ask("PUT", `${configMaps}/a`, changed);
    expect(second.status).toBe(200);
    const late = await site.ask("PUT", `${configMaps}/a`, { ...first, data: { n: "3" } });
    expect(failureOf(late)).toBe("409 Conflict");
    expect(late.body.details).toEqual({ name: "a", kind: "configmaps" });
    expect(late.body.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect((await site.get(`${configMaps}/a`)).body).toEqual(second.body);
  });

  test("without one replaces the current object, and keeps the server's own fields", async () => {
    await using site = new TestSite();
    const first = await site.create(configMaps, configMap("a", { labels: { x: "1" } }, { n: "1" }));
    const { body } = await site.ask(
      "PUT",
      `${configMaps}/a`,
      configMap("a", { creationTimestamp: "1999-01-01T00:00:00Z" }, { n: "2" }),
    );
    expect(valueAt(body, "metadata", "uid")).toBe(valueAt(first, "metadata", "uid"));
    expect(valueAt(body, "metadata", "creationTimestamp")).toBe("2026-01-01T00:00:00Z");
    expect(valueAt(body, "metadata", "labels")).toBeUndefined();
  });

  test("with an equal object writes nothing", async () => {
    await using site = new TestSite();
    const first = await site.create(configMaps, configMap("a", {}, { n: "1" }));
    const { body } = await site.ask("PUT", `${configMaps}/a`, first);
    expect(body).toEqual(first);
  });

  test("of the same name but another uid is a conflict", async () => {
    await using site = new TestSite();
    const first = await site.create(configMaps, configMap("a"));
    await site.ask("DELETE", `${configMaps}/a`);
    await site.create(configMaps, configMap("a"));
    const { resourceVersion: _, ...metadata } = { ...(first.metadata as object), resourceVersion: "" };
    expect(failureOf(await site.ask("PUT", `${configMaps}/a`, { ...first, metadata } as never))).toBe("409 Conflict");
  });

  test("creates a missing Lease, and requires a version for an existing one", async () => {
    await using site = new TestSite();
    const created = await site.ask("PUT", `${leases}/l`, lease("l", { holderIdentity: "a" }));
    expect(created.status).toBe(201);
    expect(failureOf(await site.ask("PUT", `${leases}/l`, lease("l")))).toBe("422 Invalid");
    expect((await site.ask("PUT", `${leases}/l`, { ...created.body, spec: { holderIdentity: "b" } })).status).toBe(200);
    expect(failureOf(await site.ask("PUT", `${configMaps}/none`, configMap("none")))).toBe("404 NotFound");
  });

  test("requires the name in the URL", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    for (const metadata of [{ name: "b" }, { name: "" }, { name: "a", namespace: "other" }]) {
      expect(failureOf(await site.ask("PUT", `${configMaps}/a`, { ...configMap("a"), metadata }))).toBe(
        "400 BadRequest",
      );
    }
  });
});

describe("the status is a separate part", () => {
  test("that is written through its subresource, which writes nothing else", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("a"));
    const { body } = await site.ask(
      "PATCH",
      `${pods}/a/status`,
      { spec: { nodeName: "x" }, status: { phase: "Running" } },
      { type: merge },
    );
    expect(body).toMatchObject({ status: { phase: "Running", qosClass: "BestEffort" }, metadata: { generation: 1 } });
    expect(valueAt(body, "spec", "nodeName")).toBeUndefined();
  });

  test("that does not change with the rest", async () => {
    await using site = new TestSite();
    await site.create(nodes, node("n1", { status: { conditions: [{ type: "Ready", status: "True" }] } }));
    const patch = { spec: { unschedulable: true }, status: { conditions: [] } };
    const { body } = await site.ask("PATCH", `${nodes}/n1`, patch, { type: merge });
    expect(body).toMatchObject({ spec: { unschedulable: true }, status: { conditions: [{ type: "Ready" }] } });
    const replaced = await site.ask("PUT", `${nodes}/n1`, node("n1"));
    expect(replaced.body).toMatchObject({ spec: {}, status: { conditions: [{ type: "Ready" }] } });
  });

  test("that kinds without a status do not offer", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    expect(failureOf(await site.get(`${configMaps}/a/status`))).toBe("404 NotFound");
    expect(failureOf(await site.ask("PATCH", `${configMaps}/a/status`, {}, { type: merge }))).toBe("404 NotFound");
  });
});

test("a generation counts changes of the spec alone", async () => {
  await using site = new TestSite();
  await site.create(pods, pod("a"));
  const patched = async (patch: object, part = ""): Promise<unknown> =>
    valueAt(
      (await site.ask("PATCH", `${pods}/a${part}`, JSON.stringify(patch), { type: merge })).body,
      "metadata",
      "generation",
    );
  expect(await patched({ metadata: { labels: { a: "b" } } })).toBe(1);
  expect(await patched({ status: { phase: "Running" } }, "/status")).toBe(1);
  expect(await patched({ spec: { activeDeadlineSeconds: 5 } })).toBe(2);
  expect(await patched({ spec: { activeDeadlineSeconds: 5 } })).toBe(2);
  expect(await patched({ metadata: { generation: 40 } })).toBe(2);
});
