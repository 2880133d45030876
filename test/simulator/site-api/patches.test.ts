import { describe, expect, test } from "vitest";
import { itemsAt, textAt, valueAt } from "../../../agent/api/json.ts";
import { configMap, configMaps, failureOf, jsonPatch, merge, node, pod, pods, strategic, TestSite } from "./site.ts";

const nodes = "/api/v1/nodes";
const apply = "application/apply-patch+yaml";

test("a merge patch changes the fields that it names", async () => {
  await using site = new TestSite();
  await site.create(configMaps, configMap("a", { labels: { keep: "1", drop: "2" } }, { x: "y" }));
  const patch = { metadata: { labels: { drop: null, add: "3" } } };
  const { status, body } = await site.ask("PATCH", `${configMaps}/a`, patch, { type: merge });
  expect(status).toBe(200);
  expect(body).toMatchObject({ metadata: { labels: { keep: "1", add: "3" } }, data: { x: "y" } });
  expect(valueAt(body, "metadata", "labels", "drop")).toBeUndefined();
});

test("a JSON patch tests before it changes", async () => {
  await using site = new TestSite();
  const created = await site.create(nodes, node("n1"));
  const version = {
    op: "test",
    path: "/metadata/resourceVersion",
    value: textAt(created, "metadata", "resourceVersion"),
  };
  const taint = { op: "add", path: "/spec/taints/-", value: { key: "a", effect: "NoExecute" } };
  const { body } = await site.ask("PATCH", `${nodes}/n1`, [version, taint], { type: jsonPatch });
  expect(itemsAt(body, "spec", "taints")).toHaveLength(2);
  expect(failureOf(await site.ask("PATCH", `${nodes}/n1`, [version, taint], { type: jsonPatch }))).toBe("422 Invalid");
});

test("a strategic merge patch merges conditions by type and replaces taints", async () => {
  await using site = new TestSite();
  const status = {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "DiskPressure", status: "False" },
    ],
  };
  await site.create(nodes, node("n1", { status }));
  const conditions = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
  const { body } = await site.ask("PATCH", `${nodes}/n1/status`, conditions, { type: strategic });
  expect(valueAt(body, "status", "conditions")).toEqual([
    { type: "Ready", status: "Unknown" },
    { type: "DiskPressure", status: "False" },
  ]);
  const taints = { spec: { taints: [{ key: "a", effect: "NoExecute" }] } };
  const tainted = await site.ask("PATCH", `${nodes}/n1`, taints, { type: strategic });
  expect(tainted.body.spec).toEqual(taints.spec);
});

describe("preconditions in a patch", () => {
  test("bind it to one version of one object", async () => {
    await using site = new TestSite();
    const { metadata } = await site.create(pods, pod("a"));
    const { uid, resourceVersion } = metadata as { uid: string; resourceVersion: string };
    const patched = async (given: object) =>
      site.ask(
        "PATCH",
        `${pods}/a`,
        { metadata: { ...given, labels: { n: Object.keys(given).join("-") } } },
        { type: merge },
      );
    expect((await patched({ uid, resourceVersion })).status).toBe(200);
    expect(failureOf(await patched({ uid, resourceVersion }))).toBe("409 Conflict");
    expect((await patched({ uid })).status).toBe(200);
    expect(failureOf(await patched({ uid: "another" }))).toBe("422 Invalid");
  });
});

test("a patch that changes nothing writes nothing", async () => {
  await using site = new TestSite();
  const created = await site.create(configMaps, configMap("a", { labels: { x: "y" } }));
  const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=5`);
  expect(
    (await site.ask("PATCH", `${configMaps}/a`, { metadata: { labels: { x: "y" } } }, { type: merge })).body,
  ).toEqual(created);
  expect(await watch.newEvents()).toEqual([]);
});

test("a patch as a dry run returns the result", async () => {
  await using site = new TestSite();
  const created = await site.create(configMaps, configMap("a"));
  const { body } = await site.ask("PATCH", `${configMaps}/a?dryRun=All`, { data: { x: "y" } }, { type: merge });
  expect(body).toMatchObject({ data: { x: "y" } });
  expect((await site.get(`${configMaps}/a`)).body).toEqual(created);
});

describe("server-side apply", () => {
  const applied = (site: TestSite, object: object, query = "?fieldManager=me") =>
    site.ask("PATCH", `${configMaps}/a${query}`, JSON.stringify(object), { type: apply });

  test("creates a missing object, and merges into an existing one", async () => {
    await using site = new TestSite();
    const first = await applied(site, configMap("a", {}, { x: "1" }));
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({ metadata: { managedFields: [{ manager: "me", operation: "Apply" }] } });
    const second = await applied(site, configMap("a", { labels: { l: "1" } }, { y: "2" }));
    expect(second.status).toBe(200);
    expect(second.body).toMatchObject({ metadata: { labels: { l: "1" } }, data: { x: "1", y: "2" } });
  });

  test("writes nothing if it is repeated unchanged", async () => {
    await using site = new TestSite();
    const first = await applied(site, configMap("a", {}, { x: "1" }));
    await site.clock.advance("10s");
    expect((await applied(site, configMap("a", {}, { x: "1" }))).body).toEqual(first.body);
    const other = await applied(site, configMap("a", {}, { x: "1" }), "?fieldManager=you");
    expect(valueAt(other.body, "metadata", "managedFields")).toMatchObject([{ manager: "me" }, { manager: "you" }]);
  });

  test("drops managedFields when a single empty entry is written", async () => {
    await using site = new TestSite();
    await applied(site, configMap("a", {}, { x: "1" }));
    const reset = JSON.stringify({ metadata: { managedFields: [{}] }, data: { y: "2" } });
    const { body } = await site.ask("PATCH", `${configMaps}/a`, reset, { type: merge });
    expect(body).toMatchObject({ data: { x: "1", y: "2" } });
    expect(valueAt(body, "metadata", "managedFields")).toBeUndefined();
  });

  test("accepts YAML, and requires a field manager", async () => {
    await using site = new TestSite();
    const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: y}\n";
    expect(failureOf(await site.ask("PATCH", `${configMaps}/a`, yaml, { type: apply }))).toBe("422 Invalid");
    const created = await site.ask("PATCH", `${configMaps}/a?fieldManager=me`, yaml, { type: apply });
    expect(created).toMatchObject({ status: 201, body: { data: { x: "y" } } });
    expect(failureOf(await applied(site, configMap("b")))).toBe("400 BadRequest");
  });
});
