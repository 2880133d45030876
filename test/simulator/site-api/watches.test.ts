import { describe, expect, test } from "vitest";
import { textAt } from "../../../agent/api/json.ts";
import { configMap, configMaps, failureOf, merge, partial, TestSite, table } from "./site.ts";

const labelled = (name: string, color: string) => configMap(name, { labels: { color } });
const revisionOf = async (site: TestSite): Promise<string> =>
  textAt((await site.get(configMaps)).body, "metadata", "resourceVersion");
const repaint = (site: TestSite, name: string, color: string) =>
  site.ask("PATCH", `${configMaps}/${name}`, { metadata: { labels: { color } } }, { type: merge });

describe("a watch", () => {
  test("from a revision sends the changes since then, and new ones", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const from = await revisionOf(site);
    await site.create(configMaps, configMap("b"));
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=${from}`);
    expect(await watch.newEvents()).toEqual(["ADDED b"]);
    await repaint(site, "a", "red");
    await site.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    await site.ask("DELETE", `${configMaps}/b`);
    expect(await watch.newEvents()).toEqual(["MODIFIED a", "DELETED b"]);
  });

  test.each(["", "&resourceVersion=0"])("without a revision (%j) begins with the current state", async (from) => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("b"));
    await site.create(configMaps, configMap("a"));
    const watch = await site.watch(`${configMaps}?watch=true${from}`);
    expect(await watch.newEvents()).toEqual(["ADDED a", "ADDED b"]);
    await site.create(configMaps, configMap("c"));
    expect(await watch.newEvents()).toEqual(["ADDED c"]);
  });

  test("shows whole objects, and a deleted object in its last state at the revision of its deletion", async () => {
    await using site = new TestSite();
    const created = await site.create(configMaps, configMap("a", {}, { key: "value" }));
    const watch = await site.watch(`${configMaps}?watch=1`);
    expect((await watch.next()).object).toEqual(created);
    await site.ask("DELETE", `${configMaps}/a`);
    const { type, object } = await watch.next();
    expect(type).toBe("DELETED");
    expect(object).toMatchObject({
      kind: "ConfigMap",
      data: { key: "value" },
      metadata: { resourceVersion: await revisionOf(site) },
    });
    expect(object.metadata).not.toHaveProperty("deletionTimestamp");
  });

  test("shows every change to every reader, once and in order", async () => {
    await using site = new TestSite();
    const watches = await Promise.all(
      [1, 2, 3].map(() => site.watch("/api/v1/configmaps?watch=true&resourceVersion=4")),
    );
    const expected: string[] = [];
    for (let i = 0; i < 300; i++) {
      await site.create(configMaps, configMap(`c${i}`));
      expected.push(`ADDED c${i}`);
    }
    for (const watch of watches) expect(await watch.newEvents()).toEqual(expected);
  });

  test("of one name works like any other", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4&fieldSelector=metadata.name=b`);
    for (const name of ["a", "b", "bb"]) await site.create(configMaps, configMap(name));
    expect(await watch.newEvents()).toEqual(["ADDED b"]);
  });

  test("shows only metadata, or rows of a table, if requested", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const meta = await site.watch(`${configMaps}?watch=true`, partial);
    expect((await meta.next()).object).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: expect.objectContaining({ name: "a" }),
    });
    const rows = await site.watch(`${configMaps}?watch=true`, table);
    expect((await rows.next()).object).toMatchObject({
      kind: "Table",
      columnDefinitions: [{ name: "Name" }, {}, {}],
      rows: [{ cells: ["a", 0, "0s"] }],
    });
    await site.clock.advance("90s");
    await site.create(configMaps, configMap("b"));
    await repaint(site, "a", "red");
    expect((await rows.next()).object).toMatchObject({ columnDefinitions: null, rows: [{ cells: ["b", 0, "0s"] }] });
    expect((await rows.next()).object).toMatchObject({ rows: [{ cells: ["a", 0, "90s"] }] });
  });
});

describe("a selection", () => {
  test("is entered and left: for its reader, objects appear and are deleted", async () => {
    await using site = new TestSite();
    await site.create(configMaps, labelled("a", "blue"));
    const watch = await site.watch(`${configMaps}?watch=true&labelSelector=color=red`);
    expect(await watch.newEvents()).toEqual([]);
    await repaint(site, "a", "red");
    expect(await watch.newEvents()).toEqual(["ADDED a"]);
    await site.ask("PATCH", `${configMaps}/a`, { data: { x: "y" } }, { type: merge });
    expect(await watch.newEvents()).toEqual(["MODIFIED a"]);
    await repaint(site, "a", "blue");
    const gone = await watch.next();
    expect(gone.type).toBe("DELETED");
    // As it was when the reader saw it last, at the revision of the change.
    expect(gone.object.metadata).toMatchObject({ labels: { color: "red" }, resourceVersion: await revisionOf(site) });
    await site.ask("DELETE", `${configMaps}/a`);
    expect(await watch.newEvents()).toEqual([]);
  });

  test("gives the same events to later watchers", async () => {
    await using site = TestSite.onDisk();
    await site.create(configMaps, labelled("a", "blue"));
    const from = await revisionOf(site);
    await repaint(site, "a", "red");
    await repaint(site, "a", "green");
    await site.restart();
    const watch = await site.watch(`${configMaps}?watch=true&labelSelector=color=red&resourceVersion=${from}`);
    expect(await watch.newEvents()).toEqual(["ADDED a", "DELETED a"]);
  });
});

describe("bookmarks", () => {
  test("show about once a minute how far the watch is, even without events", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4&allowWatchBookmarks=true`);
    await site.clock.advance("59s");
    expect(await watch.newEvents()).toEqual([]);
    await site.create("/api/v1/nodes", { metadata: { name: "n1" } });
    await site.clock.advance("1s");
    expect(await watch.next()).toEqual({
      type: "BOOKMARK",
      object: { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: "5" } },
    });
    await site.clock.advance("60s");
    expect(await watch.newEvents()).toEqual(["BOOKMARK 5"]);
  });

  test("are sent once more shortly before the end", async () => {
    await using site = new TestSite();
    const watch = await site.watch(
      `${configMaps}?watch=true&resourceVersion=4&allowWatchBookmarks=true&timeoutSeconds=30`,
    );
    await site.clock.advance("27s");
    expect(await watch.newEvents()).toEqual([]);
    await site.clock.advance("2s");
    expect(await watch.newEvents()).toEqual(["BOOKMARK 4"]);
    await site.clock.advance("1s");
    expect(await watch.newEvents()).toEqual([]);
    expect(watch.ended).toBe(true);
  });

  test("are not sent without a request for them", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4&timeoutSeconds=200`);
    await site.clock.advance("200s");
    expect(await watch.newEvents()).toEqual([]);
    expect(watch.ended).toBe(true);
  });
});

describe("a streamed list", () => {
  const streamed = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

  test("is the current state, a bookmark, and then the changes", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const watch = await site.watch(`${configMaps}?${streamed}`);
    expect((await watch.next()).object.metadata).toMatchObject({ name: "a" });
    const bookmark = await watch.next();
    expect(bookmark.type).toBe("BOOKMARK");
    expect(bookmark.object.metadata).toEqual({
      resourceVersion: "5",
      annotations: { "k8s.io/initial-events-end": "true" },
    });
    await site.create(configMaps, configMap("b"));
    expect(await watch.newEvents()).toEqual(["ADDED b"]);
  });

  test("is at least as new as requested", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?${streamed}&resourceVersion=2`);
    expect(await watch.newEvents()).toEqual(["BOOKMARK 4"]);
    expect(failureOf(await site.get(`${configMaps}?${streamed}&resourceVersion=99`))).toBe("504 Timeout");
  });

  test("is sent only on request", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const watch = await site.watch(`${configMaps}?${streamed.replace("Events=true", "Events=false")}`);
    expect(await watch.newEvents()).toEqual([]);
    await site.create(configMaps, configMap("b"));
    expect(await watch.newEvents()).toEqual(["ADDED b"]);
  });
});

describe("the end of a watch", () => {
  test("comes by itself after half an hour to an hour", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4`);
    await site.clock.advance("29m");
    expect(watch.ended).toBe(false);
    await site.clock.advance("31m");
    expect(watch.ended).toBe(true);
    expect(site.clock.timers).toBe(0);
  });

  test("comes when its reader closes, and leaves nothing behind", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4&allowWatchBookmarks=true`);
    expect(site.clock.timers).toBe(1);
    watch.close();
    await site.clock.settle();
    expect(watch.ended).toBe(true);
    expect(site.clock.timers).toBe(0);
  });

  test("comes with the server's end, and the next server resumes from the same revision", async () => {
    await using site = new TestSite();
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4`);
    await site.create(configMaps, configMap("a"));
    await site.restart();
    expect(await watch.newEvents()).toEqual(["ADDED a"]);
    expect(watch.ended).toBe(true);
  });
});

describe("history", () => {
  test("is kept for at least five minutes", async () => {
    await using site = new TestSite();
    site.run();
    await site.clock.advance("4m59s");
    await site.create(configMaps, configMap("a"));
    await site.clock.advance("5m");
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4`);
    expect(await watch.newEvents()).toEqual(["ADDED a"]);
  });

  test("that was compacted ends a watch that requests it", async () => {
    await using site = new TestSite();
    site.run();
    await site.create(configMaps, configMap("a"));
    await repaint(site, "a", "red");
    await site.clock.advance("11m");
    const watch = await site.watch(`${configMaps}?watch=true&resourceVersion=4`);
    const { type, object } = await watch.next();
    expect(type).toBe("ERROR");
    expect(object).toMatchObject({ kind: "Status", code: 410, reason: "Expired" });
    expect(watch.ended).toBe(true);
    const newer = await site.watch(`${configMaps}?watch=true&resourceVersion=6`);
    await repaint(site, "a", "blue");
    expect(await newer.newEvents()).toEqual(["MODIFIED a"]);
  });

  test("does not grow with time, because only the newest states are kept", async () => {
    await using site = new TestSite();
    site.run();
    await site.create(configMaps, configMap("a"));
    for (let i = 0; i < 50; i++) {
      await repaint(site, "a", `c${i}`);
      await site.clock.advance("1m");
    }
    expect(failureOf(await site.get(`${configMaps}?resourceVersion=30&resourceVersionMatch=Exact`))).toBe(
      "410 Expired",
    );
    expect((await site.get(`${configMaps}/a`)).status).toBe(200);
  });

  test("of Events ends after an hour", async () => {
    await using site = new TestSite();
    site.run();
    const events = "/api/v1/namespaces/default/events";
    const event = (name: string) => ({ metadata: { name }, involvedObject: { kind: "Node", name: "n1" } });
    await site.create(events, event("old"));
    await site.clock.advance("40m");
    await site.create(events, event("new"));
    await site.clock.advance("31m");
    expect((await site.get(`${events}/old`)).status).toBe(404);
    expect((await site.get(`${events}/new`)).status).toBe(200);
  });
});

describe("a client that reads nothing", () => {
  const burst = async (site: TestSite, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await repaint(site, "a", `c${i}`);
  };

  test("does not delay other clients, and gets the missed events from the log", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const signal = new AbortController().signal;
    const request = { method: "GET", path: `${configMaps}?watch=true&resourceVersion=5`, headers: {}, signal };
    const reader = (await site.api.handle(request)).body[Symbol.asyncIterator]();
    await burst(site, 3000);
    let lines = 0;
    while (lines < 3000) {
      const { value } = await reader.next();
      lines += Buffer.from(value).toString().trimEnd().split("\n").length;
    }
    expect(lines).toBe(3000);
    await reader.return?.();
  });

  test("is disconnected when it is too far behind", async () => {
    await using site = new TestSite();
    await site.create(configMaps, configMap("a"));
    const signal = new AbortController().signal;
    const request = { method: "GET", path: `${configMaps}?watch=true&resourceVersion=5`, headers: {}, signal };
    const reader = (await site.api.handle(request)).body[Symbol.asyncIterator]();
    await repaint(site, "a", "red");
    expect((await reader.next()).done).toBe(false);
    await burst(site, 10_001);
    expect((await reader.next()).done).toBe(true);
  });
});
