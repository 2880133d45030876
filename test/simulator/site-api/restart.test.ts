import { expect, test } from "vitest";
import { textAt } from "../../../agent/api/json.ts";
import { configMap, configMaps, failureOf, merge, TestSite } from "./site.ts";

test("a site that is started again has its objects, its revisions and its history", async () => {
  await using site = TestSite.onDisk();
  const created = await site.create(configMaps, configMap("a", {}, { x: "1" }));
  await site.ask("PATCH", `${configMaps}/a`, { data: { x: "2" } }, { type: merge });
  await site.create(configMaps, configMap("b"));
  await site.ask("DELETE", `${configMaps}/b`);
  await site.restart();
  expect((await site.get(`${configMaps}/a`)).body).toMatchObject({
    data: { x: "2" },
    metadata: { uid: textAt(created, "metadata", "uid") },
  });
  const watch = await site.watch(
    `${configMaps}?watch=true&resourceVersion=${textAt(created, "metadata", "resourceVersion")}`,
  );
  expect(await watch.newEvents()).toEqual(["MODIFIED a", "ADDED b", "DELETED b"]);
  const next = await site.create(configMaps, configMap("c"));
  expect(Number(textAt(next, "metadata", "resourceVersion"))).toBe(9);
  expect(await watch.newEvents()).toEqual(["ADDED c"]);
});

test("the emptying of a namespace continues after a restart", async () => {
  await using site = TestSite.onDisk();
  await site.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  await site.create("/api/v1/namespaces/shop/configmaps", configMap("a"));
  await site.ask("DELETE", "/api/v1/namespaces/shop");
  await site.restart();
  site.run();
  await site.clock.advance("5s");
  expect((await site.get("/api/v1/namespaces/shop")).status).toBe(404);
});

test("compacted revisions stay compacted", async () => {
  await using site = TestSite.onDisk();
  await site.create(configMaps, configMap("a"));
  await site.ask("PATCH", `${configMaps}/a`, { data: { x: "2" } }, { type: merge });
  site.run();
  await site.clock.advance("6m");
  await site.restart();
  expect(failureOf(await site.get(`${configMaps}?resourceVersion=5&resourceVersionMatch=Exact`))).toBe("410 Expired");
});

test("the same story with the same seed gives the same site", async () => {
  const answer = async (): Promise<string> => {
    await using site = new TestSite();
    for (const prefix of ["a-", "b-"]) await site.create(configMaps, { metadata: { generateName: prefix } });
    return (await site.get(configMaps)).text;
  };
  expect(await answer()).toBe(await answer());
});
