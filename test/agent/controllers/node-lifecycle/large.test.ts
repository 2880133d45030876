import { expect, test } from "vitest";
import type { KubeObject } from "../../../../agent/api/meta.ts";
import { pods, type Resource, resourceName } from "../../../../agent/api/resources.ts";
import type { Steps } from "../../../../agent/base/steps.ts";
import { siteKey } from "../../../../agent/controllers/node-lifecycle/controller.ts";
import { registry } from "../../../../agent/controllers/registry.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { SiteModel } from "../site-model.ts";

const tolerations = Array.from({ length: 2000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" }));

/** The site, the number of pods that a pass decodes, and the most names of boards that one of its steps reads. */
function counted(site: SiteView) {
  let [decoded, names, mostNames] = [0, 0, 0];
  const view: SiteView = {
    ...site,
    lister<T extends KubeObject>(resource: Resource<T>) {
      const lister = site.lister(resource);
      const isOfPods = resourceName(resource) === resourceName(pods);
      const byIndex = function* (index: string, value: string): IterableIterator<T> {
        for (const object of lister.byIndex(index, value)) {
          if (isOfPods) decoded++;
          yield object;
        }
      };
      const indexValues = function* (index: string): IterableIterator<string> {
        for (const value of lister.indexValues(index)) {
          mostNames = Math.max(mostNames, ++names);
          yield value;
        }
      };
      return { ...lister, byIndex, indexValues };
    },
    inTurns<T>(steps: Steps<T>): T {
      for (;;) {
        names = 0;
        const step = steps.next();
        if (step.done) return step.value;
      }
    },
  };
  return { view, decoded: () => decoded, mostNamesInAStep: () => mostNames };
}

test("a verdict does not wait for pods: the pods of a silent board are found without being decoded", async () => {
  const site = new SiteModel();
  site.board("other");
  site.board("pi", { silent: true });
  for (let i = 0; i < 50; i++) {
    site.pod(`web-${i}`, { on: "pi", tolerations });
    site.pod(`never-ran-${i}`, { on: "pi", tolerations, conditions: [] });
  }
  await site.run("44s");
  const { view, decoded } = counted({ ...site.view, now: { mono: site.now.mono + 1000, wall: site.now.wall } });
  const controller = registry["node-lifecycle"]({
    nodeLifecycle: { settings: site.settings, inherited: () => undefined },
  });
  const state = await controller.observe(siteKey, view, site.memory);
  const held = state !== undefined && "pods" in state ? [...state.pods.values()].flat() : [];
  expect(held.map(({ name }) => name)).toEqual(Array.from({ length: 50 }, (_, i) => `web-${i}`).sort());
  expect(decoded()).toBe(0);
});

test("board names in pods, of which a tenant may invent thousands, are read in steps, and only while a board is silent", async () => {
  const site = new SiteModel();
  site.board("other");
  site.board("pi", { silent: true });
  for (let i = 0; i < 1000; i++) site.pod(`web-${i}`, { on: `never-was-${i}` });
  const { view, mostNamesInAStep } = counted(site.view);
  const controller = registry["node-lifecycle"]({
    nodeLifecycle: { settings: site.settings, inherited: () => undefined },
  });
  await controller.observe(siteKey, view, site.memory);
  expect(mostNamesInAStep()).toBe(0);
  await site.run("44s");
  const now = { mono: site.now.mono + 1000, wall: site.now.wall };
  await controller.observe(siteKey, { ...view, now }, site.memory);
  expect(mostNamesInAStep()).toBe(64);
});
