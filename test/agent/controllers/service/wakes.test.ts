import { describe, expect, test } from "vitest";
import type { Pod, Service } from "../../../../agent/api/core.ts";
import { type KubeObject, keyOf } from "../../../../agent/api/meta.ts";
import { pods, type Resource, resourceName, services } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { podWake, selectedPods } from "../../../../agent/controllers/service/wakes.ts";
import { kindOf } from "../../../../agent/informer/kinds.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { at, service, webPod } from "./objects.ts";

/** A site that counts how many objects were read. */
function siteWith(objects: { readonly services?: readonly Service[]; readonly pods?: readonly Pod[] }) {
  const reads = { count: 0 };
  const all: Readonly<Record<string, readonly KubeObject[]>> = {
    [resourceName(services)]: objects.services ?? [],
    [resourceName(pods)]: objects.pods ?? [],
  };
  const view: Pick<SiteView, "now" | "lister"> = {
    now: at(0),
    lister<T extends KubeObject>(resource: Resource<T>) {
      // What stands under a resource is of its type.
      const list = (all[resourceName(resource)] ?? []) as readonly T[];
      const counted = function* (found: readonly T[]): IterableIterator<T> {
        for (const one of found) {
          reads.count++;
          yield one;
        }
      };
      const { indices } = kindOf(resource);
      const having = (index: string, value: string) => list.filter((one) => indices[index]?.(one).includes(value));
      return {
        get: (key: string) => list.find((one) => keyOf(one) === key),
        list: () => counted(list),
        byIndex: (index: string, value: string) => counted(having(index, value)),
        indexValues: (index: string) => new Set(list.flatMap((one) => indices[index]?.(one) ?? [])).values(),
        countByIndex: (index: string, value: string) => having(index, value).length,
        size: list.length,
      };
    },
  };
  return { site: view as SiteView, reads };
}

const named = (name: string, selector: Service["spec"], namespace = "default"): Service =>
  service(selector, { name, namespace, uid: `uid-${namespace}-${name}` });

const front = named("front", { selector: { app: "web" } });
const back = named("back", { selector: { app: "db" } });
const tier = named("tier", { selector: { app: "web", tier: "x" } });
const all = named("all", { selector: {} });
const { selector: _none, ...noSelector } = front.spec ?? {};
const byHand: Service = { ...front, metadata: { ...front.metadata, name: "by-hand" }, spec: noSelector };
const elsewhere = named("elsewhere", { selector: { app: "web" } }, "other");
const { site } = siteWith({ services: [front, back, tier, all, byHand, elsewhere] });

const woken = (before: Pod | undefined, after: Pod | undefined, on: SiteView = site): readonly string[] =>
  [...podWake(0).keys({ key: "default/a", before, after }, on)].filter((key) => key !== undefined).sort();

const pod = webPod("a");
const changed = (change: Parameters<typeof webPod>[1]): Pod => webPod("a", { version: "2", ...change });

describe("a pod wakes the services whose selector matches it", () => {
  test("when it comes and when it goes", () => {
    expect(woken(undefined, pod)).toEqual(["default/all", "default/front"]);
    expect(woken(pod, undefined)).toEqual(["default/all", "default/front"]);
    expect(woken(undefined, webPod("a", { labels: { app: "web", tier: "x" } }))).toEqual([
      "default/all",
      "default/front",
      "default/tier",
    ]);
    expect(woken(undefined, webPod("a", { labels: {} }))).toEqual(["default/all"]);
  });

  test.each([
    ["its readiness", { ready: false }],
    ["its address", { ip: "10.9.9.9" }],
    ["it begins to go", { terminating: true }],
  ])("when %s changes", (_what, change) => {
    expect(woken(pod, changed(change))).toEqual(["default/all", "default/front"]);
  });

  test("with every update while it is on its way out", () => {
    const leaving = webPod("a", { terminating: true });
    expect(woken(leaving, changed({ terminating: true }))).toEqual(["default/all", "default/front"]);
  });

  test("not when something else changes", () => {
    expect(woken(pod, changed({}))).toEqual([]);
    expect(woken(pod, { ...changed({}), status: { ...pod.status, reason: "Whatever" } })).toEqual([]);
  });

  test("those it left and those it joined, when only its labels change", () => {
    expect(woken(pod, changed({ labels: { app: "db" } }))).toEqual(["default/back", "default/front"]);
    expect(woken(pod, changed({ labels: { app: "web", tier: "x" } }))).toEqual(["default/tier"]);
  });

  test("all of them, when its labels and its readiness change", () => {
    expect(woken(pod, changed({ labels: { app: "db" }, ready: false }))).toEqual([
      "default/all",
      "default/back",
      "default/front",
    ]);
  });

  test("when another pod took its place without anybody seeing it go", () => {
    const other = { ...changed({}), metadata: { ...pod.metadata, uid: "uid-other", resourceVersion: "2" } };
    expect(woken(pod, other)).toEqual(["default/all", "default/front"]);
  });

  test("nobody while all that is cached is gone through: each service comes by itself", () => {
    expect([...podWake(0).keys({ key: "default/a", before: undefined, after: pod, swept: true }, site)]).toEqual([]);
  });
});

test("a pod's event costs the same on a site of ten services and on one of a thousand", () => {
  const many = (count: number) =>
    siteWith({
      services: Array.from({ length: count }, (_, at) => named(`s${at}`, { selector: { app: `app-${at}` } })),
    });
  const cost = (count: number): number => {
    const { site: on, reads } = many(count);
    expect(woken(undefined, webPod("a", { labels: { app: "app-7", tier: "x" } }), on)).toEqual(["default/s7"]);
    return reads.count;
  };
  expect(cost(10)).toBe(1);
  expect(cost(1000)).toBe(1);
});

test("a service's sync reads its own pods and no others", () => {
  const others = Array.from({ length: 500 }, (_, at) => webPod(`b${at}`, { labels: { app: `other-${at}` } }));
  const far = { ...webPod("c"), metadata: { ...webPod("c").metadata, namespace: "other" } };
  const { site: on, reads } = siteWith({ pods: [pod, ...others, far] });
  expect(atOnce(selectedPods(front, on)).map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(reads.count).toBe(1);
  expect(atOnce(selectedPods(all, on)).length).toBe(501);
});

test("and so where all pods share one of the labels that it selects by, whichever it names first", () => {
  const all = (count: number) => [
    ...Array.from({ length: count }, (_, at) => webPod(`b${at}`, { labels: { part: "site", app: `other-${at}` } })),
    webPod("z", { labels: { part: "site", app: "web" } }),
  ];
  for (const selector of [
    { part: "site", app: "web" },
    { app: "web", part: "site" },
  ]) {
    for (const count of [10, 1000]) {
      const { site: on, reads } = siteWith({ pods: all(count) });
      expect(atOnce(selectedPods(named("web", { selector }), on)).map(({ metadata }) => metadata.name)).toEqual(["z"]);
      expect(reads.count).toBeLessThanOrEqual(2);
    }
  }
});

test("pods that all labels find are read once", () => {
  const both = { app: "web", tier: "x" };
  const { site: on, reads } = siteWith({ pods: [1, 2, 3].map((at) => webPod(`a${at}`, { labels: both })) });
  expect(atOnce(selectedPods(tier, on)).length).toBe(3);
  expect(reads.count).toBe(3);
});

test("no pod has all the labels that others have one by one", () => {
  const one = webPod("a", { labels: { app: "web" } });
  const other = webPod("b", { labels: { tier: "x" } });
  expect(atOnce(selectedPods(tier, siteWith({ pods: [one, other] }).site))).toEqual([]);
});

test("of a large pod a service's sync holds little, and it takes a step for each pod", () => {
  const tolerations = Array.from({ length: 5000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" }));
  const large = [1, 2, 3].map((i) => ({
    ...webPod(`a${i}`),
    spec: { ...webPod(`a${i}`).spec, containers: [], tolerations },
  }));
  const steps = selectedPods(front, siteWith({ pods: large }).site);
  for (let step = 0; step < 3; step++) expect(steps.next().done).toBe(false);
  const found = steps.next();
  expect(found.done && found.value.map(({ metadata }) => metadata.name)).toEqual(["a1", "a2", "a3"]);
  expect(JSON.stringify(found.value).length).toBeLessThan(3000);
});
