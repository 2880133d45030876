import { expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import { neverConnected } from "../../../agent/informer/watch-health.ts";
import { type ApiReader, CachedSiteView } from "../../../agent/loop/site-view.ts";
import { refusal } from "../../support/small-api.ts";
import { SmallCaches } from "../election/support/caches.ts";

const now = { mono: 7, wall: 7 };
const { signal } = new AbortController();

function viewWith(answer: (at: { namespace?: string; name: string }) => KubeObject) {
  const asked: object[] = [];
  const client: ApiReader = {
    get: async <T extends KubeObject>(_resource: object, at: { namespace?: string; name: string }) => {
      asked.push(at);
      return answer(at) as T;
    },
  };
  const caches = new SmallCaches();
  return { asked, caches, view: new CachedSiteView({ caches, client }, { now, signal }) };
}

const node = { metadata: { name: "pi-1", uid: "u", resourceVersion: "1" } };

test("a pass reads from the caches, at its one instant", () => {
  const { caches, view } = viewWith(() => node);
  caches.of(nodes).add(node);
  expect(view.lister(nodes).get("pi-1")).toBe(node);
  expect(view.watch(nodes)).toBe(neverConnected);
  expect(view.now).toBe(now);
});

test("a fetch bypasses the caches, for objects with and without a namespace", async () => {
  const { asked, view } = viewWith(() => node);
  expect(await view.fetch(nodes, "pi-1")).toBe(node);
  await view.fetch(pods, "shop/web-1");
  expect(asked).toEqual([{ name: "pi-1" }, { namespace: "shop", name: "web-1" }]);
});

test("an object that the API does not have is undefined, but an API that does not respond is an error", async () => {
  const gone = viewWith(() => {
    throw refusal("get", 404, "NotFound");
  });
  expect(await gone.view.fetch(nodes, "pi-1")).toBeUndefined();
  const silent = viewWith(() => {
    throw refusal("get", 0, "Timeout");
  });
  await expect(silent.view.fetch(nodes, "pi-1")).rejects.toMatchObject({ reason: "Timeout" });
});
