import { describe, expect, test } from "vitest";
import { itemsAt, numberAt, textAt } from "../../../agent/api/json.ts";
import {
  type Answer,
  configMap,
  configMaps,
  failureOf,
  merge,
  node,
  partial,
  partsOf,
  pod,
  pods,
  TestSite,
} from "./site.ts";

const namesIn = ({ body }: Answer): string[] => itemsAt(body, "items").map((item) => textAt(item, "metadata", "name"));

const withConfigMaps = async (site: TestSite, ...names: string[]): Promise<void> => {
  for (const name of names)
    await site.create(configMaps, configMap(name, { labels: { half: name < "c" ? "1" : "2" } }));
};

describe("a list", () => {
  test("has the state of one revision, ordered by namespace and name", async () => {
    await using site = new TestSite();
    await withConfigMaps(site, "b", "a");
    await site.create("/api/v1/namespaces/kube-system/configmaps", configMap("z"));
    const answer = await site.get("/api/v1/configmaps");
    expect(answer.body).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "7" } });
    expect(namesIn(answer)).toEqual(["a", "b", "z"]);
    expect(namesIn(await site.get(configMaps))).toEqual(["a", "b"]);
    expect(namesIn(await site.get("/api/v1/namespaces/nowhere/configmaps"))).toEqual([]);
  });

  test("shows items without kind, and only metadata if requested", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a", {}, { key: "value" }));
    expect(itemsAt((await site.get(configMaps)).body, "items")[0]).not.toHaveProperty("kind");
    const answer = await site.get(configMaps, partial.replace("Metadata;", "MetadataList;"));
    expect(answer.body).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
    expect(itemsAt(answer.body, "items")).toEqual([
      { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: expect.objectContaining({ name: "a" }) },
    ]);
  });

  test("of thousands is sent in parts, and is complete", async () => {
    await using site = new TestSite();
    for (let i = 0; i < 1000; i++) await site.create(configMaps, configMap(`c${i}`));
    const signal = new AbortController().signal;
    const { body } = await site.api.handle({ method: "GET", path: configMaps, headers: {}, signal });
    const parts = await partsOf(body);
    expect(parts.length).toBeGreaterThan(4);
    expect(JSON.parse(parts.join("")).items).toHaveLength(1000);
  });
});

describe("selectors", () => {
  test.each([
    ["labelSelector=half=1", ["a", "b"]],
    ["labelSelector=half!=1", ["c", "plain"]],
    ["labelSelector=half", ["a", "b", "c"]],
    ["labelSelector=!half", ["plain"]],
    ["labelSelector=half in (2,3)", ["c"]],
    ["labelSelector=half notin (2,3)", ["a", "b", "plain"]],
    ["fieldSelector=metadata.name=b", ["b"]],
    ["fieldSelector=metadata.name!=b", ["a", "c", "plain"]],
    ["fieldSelector=metadata.name=b,metadata.namespace=default", ["b"]],
    ["fieldSelector=metadata.name=b,metadata.namespace=other", []],
    ["fieldSelector=metadata.name=a/b", []],
    ["labelSelector=half=1&fieldSelector=metadata.name!=a", ["b"]],
  ])("%s", async (query, names) => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b", "c");
    await site.create(configMaps, configMap("plain"));
    expect(namesIn(await site.get(`${configMaps}?${new URLSearchParams(query)}`))).toEqual(names);
    expect(namesIn(await site.get(`/api/v1/configmaps?${new URLSearchParams(query)}`))).toEqual(names);
  });

  test("pods are selected by board and phase", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("on-1", { nodeName: "n1" }));
    await site.create(pods, pod("on-2", { nodeName: "n2" }));
    await site.create(pods, pod("nowhere"));
    await site.ask("PATCH", `${pods}/on-1/status`, { status: { phase: "Running" } }, { type: merge });
    const selected = async (selector: string): Promise<string[]> =>
      namesIn(await site.get(`/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`));
    expect(await selected("spec.nodeName=n1")).toEqual(["on-1"]);
    expect(await selected("spec.nodeName=")).toEqual(["nowhere"]);
    expect(await selected("spec.nodeName!=,status.phase!=Running")).toEqual(["on-2"]);
    expect(await selected("spec.hostNetwork=false,spec.nodeName=n1")).toEqual(["on-1"]);
  });

  test("events are selected by their object and by their reporter", async () => {
    await using site = new TestSite();
    const events = "/api/v1/namespaces/default/events";
    const about = (name: string) => ({
      involvedObject: { kind: "Node", name },
      reason: "Ready",
      type: "Normal",
      source: { component: "kubelet" },
    });
    await site.create(events, { metadata: { name: "1" }, ...about("n1") });
    await site.create(events, { metadata: { name: "2" }, ...about("n2") });
    const selector = encodeURIComponent("involvedObject.kind=Node,involvedObject.name=n2,reason=Ready,source=kubelet");
    expect(namesIn(await site.get(`${events}?fieldSelector=${selector}`))).toEqual(["2"]);
  });

  test("nodes are selected by whether they accept pods", async () => {
    await using site = new TestSite();
    await site.create("/api/v1/nodes", node("open"));
    await site.create("/api/v1/nodes", node("closed", { spec: { unschedulable: true } }));
    const selected = async (selector: string): Promise<string[]> =>
      namesIn(await site.get(`/api/v1/nodes?fieldSelector=${encodeURIComponent(selector)}`));
    expect(await selected("spec.unschedulable=true")).toEqual(["closed"]);
    expect(await selected("spec.unschedulable=false")).toEqual(["open"]);
    expect(await selected("spec.unschedulable!=false")).toEqual(["closed"]);
    expect(await selected("spec.unschedulable=")).toEqual([]);
  });
});

describe("pages", () => {
  test("belong to one revision, regardless of what is written in the meantime", async () => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b", "c", "d", "e");
    const first = await site.get(`${configMaps}?limit=2`);
    expect(namesIn(first)).toEqual(["a", "b"]);
    expect(numberAt(first.body, "metadata", "remainingItemCount")).toBe(3);
    await site.ask("DELETE", `${configMaps}/d`);
    await site.create(configMaps, configMap("bb"));
    await site.ask("PATCH", `${configMaps}/c`, { data: { changed: "yes" } }, { type: merge });
    const token = textAt(first.body, "metadata", "continue");
    const second = await site.get(`${configMaps}?limit=2&continue=${token}`);
    expect(namesIn(second)).toEqual(["c", "d"]);
    expect(itemsAt(second.body, "items")[0]).not.toHaveProperty("data.changed");
    expect(textAt(second.body, "metadata", "resourceVersion")).toBe(textAt(first.body, "metadata", "resourceVersion"));
    const third = await site.get(`${configMaps}?limit=2&continue=${textAt(second.body, "metadata", "continue")}`);
    expect(namesIn(third)).toEqual(["e"]);
    expect(third.body.metadata).toEqual({ resourceVersion: textAt(first.body, "metadata", "resourceVersion") });
  });

  test("that are exactly full have no next page", async () => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b");
    expect((await site.get(`${configMaps}?limit=2`)).body.metadata).toEqual({ resourceVersion: "6" });
  });

  test("of a selection are filled with selected objects, and do not count the others", async () => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b", "c", "d");
    const first = await site.get(`${configMaps}?limit=1&labelSelector=half=2`);
    expect(namesIn(first)).toEqual(["c"]);
    expect(first.body.metadata).toEqual({ resourceVersion: "8", continue: expect.any(String) });
    const rest = await site.get(
      `${configMaps}?limit=9&labelSelector=half=2&continue=${textAt(first.body, "metadata", "continue")}`,
    );
    expect(namesIn(rest)).toEqual(["d"]);
  });

  test("expire with the history, and can be continued with the current state", async () => {
    await using site = new TestSite();
    site.run();
    await withConfigMaps(site, "a", "b", "c");
    const first = await site.get(`${configMaps}?limit=1`);
    await site.ask("DELETE", `${configMaps}/b`);
    await site.clock.advance("11m");
    const token = textAt(first.body, "metadata", "continue");
    const late = await site.get(`${configMaps}?limit=1&continue=${token}`);
    expect(failureOf(late)).toBe("410 Expired");
    const rest = await site.get(`${configMaps}?continue=${textAt(late.body, "metadata", "continue")}`);
    expect(namesIn(rest)).toEqual(["c"]);
  });

  test("cannot be requested at another revision", async () => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b");
    const token = textAt((await site.get(`${configMaps}?limit=1`)).body, "metadata", "continue");
    expect(failureOf(await site.get(`${configMaps}?limit=1&continue=${token}&resourceVersion=3`))).toBe(
      "400 BadRequest",
    );
    expect((await site.get(`${configMaps}?limit=1&continue=${token}&resourceVersion=0`)).status).toBe(200);
  });
});

describe("the listed state", () => {
  test.each([
    // The namespaces of the start have revisions 1 to 4; a, b, c have 5, 6, 7.
    ["", ["a", "b", "c"], "7"],
    ["resourceVersion=0", ["a", "b", "c"], "7"],
    ["resourceVersion=5", ["a", "b", "c"], "7"],
    ["resourceVersion=5&resourceVersionMatch=NotOlderThan", ["a", "b", "c"], "7"],
    ["resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=1", ["a"], "7"],
    ["resourceVersion=6&resourceVersionMatch=Exact", ["a", "b"], "6"],
    ["resourceVersion=6&resourceVersionMatch=Exact&limit=1", ["a"], "6"],
    // With a limit and no word on it, a version means exactly that one, and any version means all of it.
    ["resourceVersion=6&limit=5", ["a", "b"], "6"],
    ["resourceVersion=0&limit=1", ["a", "b", "c"], "7"],
  ])("%s", async (query, names, revision) => {
    await using site = new TestSite();
    await withConfigMaps(site, "a", "b", "c");
    const answer = await site.get(`${configMaps}?${query}`);
    expect(namesIn(answer)).toEqual(names);
    expect(textAt(answer.body, "metadata", "resourceVersion")).toBe(revision);
  });

  test("is never one of the future", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    for (const path of [`${configMaps}?resourceVersion=999`, `${configMaps}/a?resourceVersion=999`]) {
      const answer = await site.get(path);
      expect(failureOf(answer)).toBe("504 Timeout");
      expect(answer.headers["retry-after"]).toBe("1");
      expect(answer.body.details).toEqual({
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      });
    }
  });

  test("is never one that was compacted", async () => {
    await using site = new TestSite();
    site.run();
    await withConfigMaps(site, "a", "b");
    await site.clock.advance("11m");
    expect(failureOf(await site.get(`${configMaps}?resourceVersion=5&resourceVersionMatch=Exact`))).toBe("410 Expired");
    expect((await site.get(`${configMaps}?resourceVersion=6&resourceVersionMatch=Exact`)).status).toBe(200);
  });
});
