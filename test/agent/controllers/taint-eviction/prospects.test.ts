import { expect, test } from "vitest";
import { nodes, persistentVolumeClaims, pods, type Resource, resourceName } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { ownWordOf, Prospects } from "../../../../agent/controllers/taint-eviction/prospects.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { node, pod } from "../../../support/builders.ts";
import { listerOf } from "../../../support/lister.ts";

const web = pod("web", { on: "pi-3", owner: "ReplicaSet", claims: ["data"] });

/** A site of three boards whose API server answers each read in this way. */
function siteThat(fetch: (resource: string) => Promise<undefined>): SiteView {
  const lists = new Map<string, unknown>([
    [resourceName(pods), listerOf(pods, () => [web])],
    [resourceName(nodes), listerOf(nodes, () => ["pi-1", "pi-2", "pi-3"].map((name) => node(name)))],
  ]);
  return {
    now: { mono: 0, wall: 0 },
    lister: (resource: Resource<never>) => lists.get(resourceName(resource)),
    fetch: (resource: Resource<never>) => fetch(resourceName(resource)),
    inTurns: atOnce,
    // No other member is used.
  } as unknown as SiteView;
}

const moveOf = (site: SiteView) =>
  new Prospects(() => true).of("default/web", { board: "pi-3", word: ownWordOf(web), isShut: false }, site);

test("without permission to read namespaces and volumes a pod is evicted as before", async () => {
  const refused = Object.assign(new Error("no"), { isForbidden: true });
  expect(await moveOf(siteThat(() => Promise.reject(refused)))).toEqual({ owner: "other" });
});

test("a read without a response decides nothing", async () => {
  const failed = new Error("timed out");
  const isClaim = (resource: string): boolean => resource === resourceName(persistentVolumeClaims);
  for (const fails of [() => true, isClaim]) {
    const site = siteThat((one) => (fails(one) ? Promise.reject(failed) : Promise.resolve(undefined)));
    await expect(moveOf(site)).rejects.toBe(failed);
  }
});
