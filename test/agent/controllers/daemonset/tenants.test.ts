import { expect, test } from "vitest";
import { controllerRevisions, pods } from "../../../../agent/api/resources.ts";
import { DaemonSite, podOf, revisionOf, set } from "./support/daemon-site.ts";

const elsewhere = { namespace: "tenant" } as const;

test("a pod of another namespace that names the set as its owner does not occupy a board, and is not deleted", async () => {
  const site = new DaemonSite();
  site.boards("n1", "n2");
  site.put(set(), podOf(set(), "n1", { ...elsewhere, name: "planted", creationTimestamp: "2020-01-01T00:00:00Z" }));
  await site.begin();
  const made = site.site.api.all(pods).filter(({ metadata }) => metadata.namespace === "default");
  expect(made).toHaveLength(2);
  expect(site.site.api.find(pods, "tenant/planted")?.metadata.deletionTimestamp).toBeUndefined();
  expect(site.writes("patch").filter((key) => key.includes("planted"))).toEqual([]);
});

test("a revision of another namespace that names the set as its owner is not part of the set's history", async () => {
  const site = new DaemonSite();
  site.boards("n1");
  const planted = revisionOf(set(), 7, "planted");
  site.put(set(), { ...planted, metadata: { ...planted.metadata, ...elsewhere } });
  await site.begin();
  const own = site.site.api.all(controllerRevisions).filter(({ metadata }) => metadata.namespace === "default");
  expect(own).toMatchObject([{ revision: 1 }]);
  expect(site.site.api.find(controllerRevisions, "tenant/planted")?.revision).toBe(7);
});
