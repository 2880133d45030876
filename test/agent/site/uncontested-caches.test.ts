import { beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { keyOf } from "../../../agent/api/meta.ts";
import { events, leases, nodes, pods, type Resource } from "../../../agent/api/resources.ts";
import { matchesLabels, parseLabelSelector } from "../../../agent/api/selectors.ts";
import type { Caches } from "../../../agent/loop/site-view.ts";
import { uncontestedCaches } from "../../../agent/site/uncontested-caches.ts";
import { lease, node, pod } from "../../support/builders.ts";
import { SmallCaches } from "../election/support/caches.ts";

const north = { area: "north" };
const onBoard = (board: string): readonly string[] =>
  [...view.informer(pods).lister.referencesByIndex("byNode", board)].map(keyOf);
let caches: SmallCaches;
let claimed: string | undefined;
let view: Caches;

beforeEach(() => {
  caches = new SmallCaches();
  claimed = "area=north";
  view = uncontestedCaches(caches, {
    get none() {
      return claimed === undefined;
    },
    claimant: (labels) => {
      const selector = parseLabelSelector(claimed ?? "");
      return claimed !== undefined && matchesLabels(selector, labels)
        ? {
            site: "north",
            lease: "kube-system/siteward-north",
            selector,
            namespaces: undefined,
            namespaceSelector: "-",
          }
        : undefined;
    },
  });
  caches.of(nodes).add(node("n-1", { labels: north }), node("s-1"));
  caches.of(leases).add(lease("n-1"), lease("s-1"), lease("n-1", "1", "elsewhere"));
  caches
    .of(pods)
    .add(pod("on-n-1", { on: "n-1" }), pod("on-s-1", { on: "s-1" }), pod("waits"), pod("lost", { on: "gone" }));
});

const shown = (resource: Resource<KubeObject>): readonly string[] =>
  [...view.informer(resource).lister.list()].map(keyOf);

test("a board that an older site claims is hidden, with its Lease and its pods", () => {
  expect(shown(nodes)).toEqual(["s-1"]);
  expect(shown(leases)).toEqual(["kube-node-lease/s-1", "elsewhere/n-1"]);
  expect(shown(pods)).toEqual(["default/on-s-1", "default/waits", "default/lost"]);
  expect(view.informer(nodes).lister.get("n-1")).toBeUndefined();
  expect(view.informer(nodes).lister.get("s-1")?.metadata.name).toBe("s-1");
  expect(view.informer(pods).lister.get("default/on-n-1")).toBeUndefined();
  expect(view.informer(pods).lister.size).toBe(3);
});

test("whether the pods of a board are shown is known without decoding any of them", () => {
  const { lister } = caches.of(pods);
  let decoded = 0;
  lister.byIndex = () => {
    decoded++;
    return [].values();
  };
  lister.indexValues = (index) =>
    ["gone", "n-1", "s-1"].map((on) => (index === "byPlace" ? `${on}/shop` : on)).values();
  lister.referencesByIndex = (_index, board) => [pod(`on-${board}`, { on: board })].values();
  expect([...view.informer(pods).lister.indexValues("byNode")]).toEqual(["gone", "s-1"]);
  expect([...view.informer(pods).lister.indexValues("byPlace")]).toEqual(["gone/shop", "s-1/shop"]);
  expect([onBoard("n-1"), onBoard("s-1"), onBoard("gone")]).toEqual([[], ["default/on-s-1"], ["default/on-gone"]]);
  expect(decoded).toBe(0);
});

test("when the claim has ended, everything is immediately visible again", () => {
  claimed = undefined;
  expect(shown(nodes)).toEqual(["n-1", "s-1"]);
  expect(shown(pods)).toHaveLength(4);
});

test("a change of labels makes a board disappear or appear; a board that was never visible does not cause a notification", () => {
  const notified: string[] = [];
  const listen = view.informer(nodes).onChange((changes) => {
    for (const { key, before, after } of changes)
      notified.push(`${key}: ${before ? "there" : "-"} > ${after ? "there" : "-"}`);
  });
  caches.of(nodes).add(node("n-1", { labels: { area: "north", more: "x" } }));
  caches.of(nodes).add(node("s-1", { labels: north }));
  caches.of(nodes).add(node("n-1", { labels: { area: "south" } }));
  caches.of(nodes).remove("s-1");
  expect(notified.filter((one) => !one.endsWith("- > -"))).toEqual(["s-1: there > -", "n-1: - > there"]);
  listen();
  caches.of(nodes).remove("n-1");
  expect(notified).toHaveLength(2);
});

test("pods of a claimed board do not wake any key, but pods of other boards do", () => {
  const notified: string[] = [];
  view.informer(pods).onChange((changes) => notified.push(...changes.map(({ key }) => key)));
  caches.of(pods).add(pod("another", { on: "n-1" }));
  caches.of(pods).add(pod("one-more", { on: "s-1" }));
  expect(notified).toEqual(["default/one-more"]);
});

test("an object without a board is visible, regardless of what others claim", () => {
  const about = { metadata: { name: "n-1", namespace: "default", uid: "e", resourceVersion: "1", labels: north } };
  caches.of(events).add(about);
  expect(shown(events)).toEqual(["default/n-1"]);
});
