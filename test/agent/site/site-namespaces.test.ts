import { beforeEach, expect, test } from "vitest";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { daemonSets, namespaces, pods, type Resource, services } from "../../../agent/api/resources.ts";
import { siteNamespaces } from "../../../agent/site/site-namespaces.ts";
import { pod } from "../../support/builders.ts";
import { SmallCaches } from "../election/support/caches.ts";

const named = (name: string, namespace?: string): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", ...(namespace !== undefined && { namespace }) },
});

let caches: SmallCaches;

beforeEach(() => {
  claimed = [];
  caches = new SmallCaches();
  caches.of(namespaces).add(named("ours"));
  caches.of(services).add(named("web", "ours"), named("web", "theirs"));
  caches.of(daemonSets).add(named("logs", "ours"), named("logs", "theirs"));
  caches
    .of(pods)
    .add(
      pod("waits", { namespace: "ours" }),
      pod("waits", { namespace: "theirs" }),
      pod("runs", { namespace: "theirs", on: "pi-1" }),
    );
});

/** Namespaces that an older site claims. */
let claimed: readonly string[];
const claims = {
  get noNamespaces() {
    return claimed.length === 0;
  },
  claimantOfNamespace: (name: string) =>
    claimed.includes(name)
      ? { site: "first", lease: "kube-system/siteward-first", selector: [], namespaces: [], namespaceSelector: "" }
      : undefined,
};

const shown = (resource: Resource<KubeObject>, scope: object): readonly string[] =>
  [...siteNamespaces(caches, scope, claims).informer(resource).lister.list()].map(keyOf);

const part = { nodeSelector: "site=a", namespaceSelector: "site=a" };

test("a site that is the whole cluster sees everything", () => {
  expect(shown(services, {})).toEqual(["ours/web", "theirs/web"]);
  expect(shown(pods, {})).toHaveLength(3);
});

test("workloads of other namespaces are hidden, and so are their pods that wait for a board", () => {
  expect(shown(services, part)).toEqual(["ours/web"]);
  expect(shown(daemonSets, part)).toEqual(["ours/logs"]);
  expect(shown(pods, part)).toEqual(["ours/waits", "theirs/runs"]);
});

test("on a site with all boards every pod is visible, but workloads only in its namespaces", () => {
  const scope = { namespaceSelector: "site=a" };
  expect(shown(services, scope)).toEqual(["ours/web"]);
  expect(shown(pods, scope)).toHaveLength(3);
});

test("a namespace that joins adds its workloads, and removes them when it leaves", () => {
  const view = siteNamespaces(caches, part, claims);
  const notified: string[] = [];
  view.informer(services).onChange((changes) => notified.push(...changes.map(({ key }) => key)));
  caches.of(services).add(named("web", "theirs"));
  expect(notified).toEqual([]);
  caches.of(namespaces).add(named("theirs"));
  expect(shown(services, part)).toEqual(["ours/web", "theirs/web"]);
  caches.of(services).add(named("web", "theirs"));
  expect(notified).toEqual(["theirs/web"]);
  caches.of(namespaces).remove("theirs");
  expect(shown(services, part)).toEqual(["ours/web"]);
});

test("workloads of a namespace that an older site claims are hidden, regardless of what else belongs to the site", () => {
  claimed = ["ours"];
  expect(shown(services, part)).toEqual([]);
  expect(shown(services, {})).toEqual(["theirs/web"]);
  // Its bound pods belong to their boards.
  expect(shown(pods, part)).toEqual(["theirs/runs"]);
  claimed = [];
  expect(shown(services, part)).toEqual(["ours/web"]);
});
