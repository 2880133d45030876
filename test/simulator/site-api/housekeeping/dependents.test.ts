import { describe, expect, test } from "vitest";
import { type JsonObject, textAt, valueAt } from "../../../../agent/api/json.ts";
import { configMap, configMaps, merge, pod, pods, TestSite } from "../site.ts";

const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";

async function owner(site: TestSite, name: string, metadata: JsonObject = {}): Promise<JsonObject> {
  const created = await site.create(configMaps, configMap(name, metadata));
  const uid = textAt(created, "metadata", "uid");
  return { apiVersion: "v1", kind: "ConfigMap", name, uid };
}

const of = (...ownerReferences: JsonObject[]) => ({ ownerReferences });
const blocking = (reference: JsonObject): JsonObject => ({ ...reference, blockOwnerDeletion: true });

const remove = (site: TestSite, at: string, propagationPolicy: string) => site.ask("DELETE", at, { propagationPolicy });

const isThere = async (site: TestSite, at: string): Promise<boolean> => (await site.get(at)).status === 200;

async function ownersOf(site: TestSite, at: string): Promise<unknown> {
  return valueAt((await site.get(at)).body, "metadata", "ownerReferences");
}

describe("an owner that is deleted and leaves orphans", () => {
  test("is deleted when its dependents of every kind are released", async () => {
    await using site = new TestSite();
    site.run();
    const set = await owner(site, "set");
    const other = await owner(site, "other");
    await site.create(pods, pod("a", { nodeName: "n1" }, of(blocking(set))));
    await site.create(revisions, { metadata: { name: "b", ...of(set, other) }, revision: 1 });
    await site.create(pods, pod("c", {}, of(other)));
    await remove(site, `${configMaps}/set`, "Orphan");
    expect(await isThere(site, `${configMaps}/set`)).toBe(true);
    expect(await ownersOf(site, `${pods}/a`)).toEqual([blocking(set)]);
    await site.clock.advance("1s");
    expect(await isThere(site, `${configMaps}/set`)).toBe(false);
    expect(await ownersOf(site, `${pods}/a`)).toBeUndefined();
    expect(await ownersOf(site, `${revisions}/b`)).toEqual([other]);
    expect(await ownersOf(site, `${pods}/c`)).toEqual([other]);
    expect(valueAt((await site.get(`${pods}/a`)).body, "metadata", "deletionTimestamp")).toBeUndefined();
  });

  test("still waits for other finalizers before that", async () => {
    await using site = new TestSite();
    site.run();
    const set = await owner(site, "set", { finalizers: ["example.org/hold"] });
    await site.create(pods, pod("a", {}, of(set)));
    await remove(site, `${configMaps}/set`, "Orphan");
    await site.clock.advance("1s");
    expect(await ownersOf(site, `${pods}/a`)).toBeUndefined();
    const { body } = await site.get(`${configMaps}/set`);
    expect(valueAt(body, "metadata", "finalizers")).toEqual(["example.org/hold"]);
  });
});

describe("an owner that is deleted in the foreground", () => {
  test("is deleted after the dependents that block it, and not before", async () => {
    await using site = new TestSite();
    site.run();
    const set = await owner(site, "set");
    await site.create(pods, pod("a", { nodeName: "n1" }, of(blocking(set))));
    await site.create(pods, pod("b", { nodeName: "n1" }, of(set)));
    await site.create(pods, pod("c", { nodeName: "n1" }));
    await remove(site, `${configMaps}/set`, "Foreground");
    await site.clock.advance("10s");
    for (const name of ["a", "b"]) {
      const { body } = await site.get(`${pods}/${name}`);
      expect(valueAt(body, "metadata", "deletionGracePeriodSeconds")).toBe(30);
    }
    expect(valueAt((await site.get(`${pods}/c`)).body, "metadata", "deletionTimestamp")).toBeUndefined();
    expect(await isThere(site, `${configMaps}/set`)).toBe(true);
    await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    await site.clock.advance("1s");
    expect(await isThere(site, `${configMaps}/set`)).toBe(false);
    expect(await isThere(site, `${pods}/b`)).toBe(true);
  });

  test("takes dependents of dependents with it, the last ones first", async () => {
    await using site = new TestSite();
    site.run();
    const set = await owner(site, "set");
    const middle = await owner(site, "middle", of(blocking(set)));
    await site.create(pods, pod("a", { nodeName: "n1" }, of(blocking(middle))));
    await remove(site, `${configMaps}/set`, "Foreground");
    await site.clock.advance("10s");
    expect(await isThere(site, `${configMaps}/middle`)).toBe(true);
    await site.ask("DELETE", `${pods}/a`, { gracePeriodSeconds: 0 });
    await site.clock.advance("2s");
    expect(await isThere(site, `${configMaps}/middle`)).toBe(false);
    expect(await isThere(site, `${configMaps}/set`)).toBe(false);
  });

  test("keeps dependents with another owner, which are only released", async () => {
    await using site = new TestSite();
    site.run();
    const set = await owner(site, "set");
    const other = await owner(site, "other");
    await site.create(pods, pod("a", {}, of(blocking(set), other)));
    await remove(site, `${configMaps}/set`, "Foreground");
    await site.clock.advance("2s");
    expect(await isThere(site, `${configMaps}/set`)).toBe(false);
    expect(await ownersOf(site, `${pods}/a`)).toEqual([other]);
  });

  test("does not wait forever for a dependent that waits for it", async () => {
    await using site = new TestSite();
    site.run();
    const first = await owner(site, "first");
    const second = await owner(site, "second", of(blocking(first)));
    const circle = { metadata: of(blocking(second)) };
    await site.ask("PATCH", `${configMaps}/first`, circle, { type: merge });
    await remove(site, `${configMaps}/first`, "Foreground");
    await site.clock.advance("5s");
    expect(await isThere(site, `${configMaps}/first`)).toBe(false);
    expect(await isThere(site, `${configMaps}/second`)).toBe(false);
  });

  test("is not forgotten by a server that starts again", async () => {
    await using site = TestSite.onDisk();
    const set = await owner(site, "set");
    await site.create(pods, pod("a", {}, of(blocking(set))));
    await remove(site, `${configMaps}/set`, "Foreground");
    await site.restart();
    site.run();
    await site.clock.advance("2s");
    expect(await isThere(site, `${configMaps}/set`)).toBe(false);
    expect(await isThere(site, `${pods}/a`)).toBe(false);
  });
});
