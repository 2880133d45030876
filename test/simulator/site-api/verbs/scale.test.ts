import { expect, test } from "vitest";
import { textAt, valueAt } from "../../../../agent/api/json.ts";
import { failureOf, jsonPatch, merge, TestSite } from "../site.ts";

const sets = "/apis/apps/v1/namespaces/default/replicasets";

async function withSet(site: TestSite): Promise<void> {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "x" }] } };
  await site.create(sets, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
  });
}

test("the scale of a ReplicaSet shows the desired and the current number", async () => {
  await using site = new TestSite();
  await withSet(site);
  await site.ask("PATCH", `${sets}/web/status`, { status: { replicas: 1 } }, { type: merge });
  const { status, body } = await site.get(`${sets}/web/scale`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "web" } });
  expect([body.spec, body.status]).toEqual([{ replicas: 2 }, { replicas: 1, selector: "app=web" }]);
});

test("a new number of pods is a new generation, and changes nothing else", async () => {
  await using site = new TestSite();
  await withSet(site);
  const before = (await site.get(`${sets}/web`)).body;
  const { status, body } = await site.ask("PATCH", `${sets}/web/scale`, { spec: { replicas: 5 } }, { type: merge });
  expect([status, valueAt(body, "spec", "replicas")]).toEqual([200, 5]);
  const after = (await site.get(`${sets}/web`)).body;
  expect(valueAt(after, "spec")).toEqual({ ...Object(valueAt(before, "spec")), replicas: 5 });
  expect(valueAt(after, "metadata", "generation")).toBe(2);
});

test("an update that is outdated or invalid is refused", async () => {
  await using site = new TestSite();
  await withSet(site);
  const { body } = await site.get(`${sets}/web/scale`);
  const asked = (replicas: number): Promise<unknown> =>
    site.ask("PUT", `${sets}/web/scale`, { ...body, spec: { replicas } }).then(failureOf);
  expect(textAt(body, "metadata", "resourceVersion")).not.toBe("");
  expect(await asked(3)).toBe("200 undefined");
  expect(await asked(4)).toBe("409 Conflict");
  const patched = (patch: object, type: string): Promise<string> =>
    site.ask("PATCH", `${sets}/web/scale`, JSON.stringify(patch), { type }).then(failureOf);
  expect(await patched({ spec: { replicas: -1 } }, merge)).toBe("422 Invalid");
  expect(await patched({ spec: { replicas: null } }, merge)).toBe("422 Invalid");
  expect(await patched([], jsonPatch)).toBe("415 UnsupportedMediaType");
  expect(failureOf(await site.ask("DELETE", `${sets}/web/scale`))).toBe("405 MethodNotAllowed");
  expect(failureOf(await site.get(`${sets}/none/scale`))).toBe("404 NotFound");
});
