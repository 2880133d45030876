import { describe, expect, test } from "vitest";
import type { Pod, Service } from "../../../../agent/api/core.ts";
import { pods, services } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { enqueueOnPod, selectedPods } from "../../../../agent/controllers/service/mappings.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { countedSite } from "../counted-site.ts";
import { service, webPod } from "./objects.ts";

const siteWith = (objects: { readonly services?: readonly Service[]; readonly pods?: readonly Pod[] }) =>
  countedSite([
    [services, objects.services ?? []],
    [pods, objects.pods ?? []],
  ]);

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
  [...enqueueOnPod(0).keys({ key: "default/a", before, after }, on)].filter((key) => key !== undefined).sort();

const pod = webPod("a");
const changed = (change: Parameters<typeof webPod>[1]): Pod => webPod("a", { version: "2", ...change });

describe("a pod wakes the services whose selectors match it", () => {
  test("when it appears and when it is deleted", () => {
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
    ["its readiness changes", { ready: false }],
    ["its address changes", { ip: "10.9.9.9" }],
    ["it begins to terminate", { terminating: true }],
  ])("when %s", (_what, change) => {
    expect(woken(pod, changed(change))).toEqual(["default/all", "default/front"]);
  });

  test("with every update while it is terminating", () => {
    const leaving = webPod("a", { terminating: true });
    expect(woken(leaving, changed({ terminating: true }))).toEqual(["default/all", "default/front"]);
  });

  test("but not when something else changes", () => {
    expect(woken(pod, changed({}))).toEqual([]);
    expect(woken(pod, { ...changed({}), status: { ...pod.status, reason: "Whatever" } })).toEqual([]);
  });

  test("only before or only after the change, if only its labels change", () => {
    expect(woken(pod, changed({ labels: { app: "db" } }))).toEqual(["default/back", "default/front"]);
    expect(woken(pod, changed({ labels: { app: "web", tier: "x" } }))).toEqual(["default/tier"]);
  });

  test("before or after the change, if its labels and its readiness change", () => {
    expect(woken(pod, changed({ labels: { app: "db" }, ready: false }))).toEqual([
      "default/all",
      "default/back",
      "default/front",
    ]);
  });

  test("when another pod takes its name unnoticed", () => {
    const other = { ...changed({}), metadata: { ...pod.metadata, uid: "uid-other", resourceVersion: "2" } };
    expect(woken(pod, other)).toEqual(["default/all", "default/front"]);
  });

  test("but not in a sweep, in which each service is enqueued separately", () => {
    expect([
      ...enqueueOnPod(0).keys({ key: "default/a", before: undefined, after: pod, resync: "first" }, site),
    ]).toEqual([]);
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

test("a service's sync reads only its own pods", () => {
  const others = Array.from({ length: 500 }, (_, at) => webPod(`b${at}`, { labels: { app: `other-${at}` } }));
  const far = { ...webPod("c"), metadata: { ...webPod("c").metadata, namespace: "other" } };
  const { site: on, reads } = siteWith({ pods: [pod, ...others, far] });
  expect(atOnce(selectedPods(front, on)).map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(reads.count).toBe(1);
  expect(atOnce(selectedPods(all, on)).length).toBe(501);
});

test("a service's sync reads only its own pods even if all pods share one of its selector's labels", () => {
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

test("pods that have every label of the selector are read once", () => {
  const both = { app: "web", tier: "x" };
  const { site: on, reads } = siteWith({ pods: [1, 2, 3].map((at) => webPod(`a${at}`, { labels: both })) });
  expect(atOnce(selectedPods(tier, on)).length).toBe(3);
  expect(reads.count).toBe(3);
});

test("a service does not select any pod if each pod has only one of its selector's labels", () => {
  const one = webPod("a", { labels: { app: "web" } });
  const other = webPod("b", { labels: { tier: "x" } });
  expect(atOnce(selectedPods(tier, siteWith({ pods: [one, other] }).site))).toEqual([]);
});

test("a service's sync holds little of a large pod, and takes one step for each pod", () => {
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
