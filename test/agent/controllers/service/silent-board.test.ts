import { expect, test } from "vitest";
import type { EndpointSlice, Endpoints } from "../../../../agent/api/core.ts";
import { endpointSlices, endpoints, nodes, pods, services } from "../../../../agent/api/resources.ts";
import { endpointSlicesOfServices } from "../../../../agent/controllers/endpoint-slice/controller.ts";
import { endpointsOfServices } from "../../../../agent/controllers/endpoints/controller.ts";
import { firstMemory, type SiteMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { lifecycleSettings } from "../../../replay/settings.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";
import { node } from "../../../support/builders.ts";
import { service, webPod } from "./objects.ts";

/** A site with one service, two boards and a pod on each, and what those who judge the boards say of them. */
class ServingSite {
  readonly site = new Site(new CaseTime());
  judge: SiteMemory | "no judge" | undefined = firstMemory;

  constructor() {
    const { api } = this.site;
    for (const board of ["pi-1", "pi-2"]) api.put(nodes, node(board));
    api.put(pods, webPod("a"));
    api.put(pods, webPod("b", { on: "pi-2" }));
    api.put(services, service());
    const verdictDeps = {
      settings: { ...lifecycleSettings({}), policy: "evidence" as const },
      judge: () => this.judge,
    };
    this.site.start(this.site.loopOf(endpointsOfServices({ verdictDeps, batch: 0 })));
    this.site.start(this.site.loopOf(endpointSlicesOfServices({ verdictDeps, most: 100, batch: 0 })));
  }

  /** Its Node becomes Unknown, and its pod is marked not ready. */
  fallsSilent(): void {
    this.site.api.put(nodes, node("pi-1", { conditions: { Ready: "Unknown" } }));
    this.site.api.put(pods, webPod("a", { ready: false }));
  }

  /** The names of the ready pods, as both kinds say. */
  async serving(): Promise<readonly [endpoints: string, slices: string]> {
    await this.site.clock.advance(0);
    const one: Endpoints | undefined = this.site.api.find(endpoints, "default/web");
    const slices: readonly EndpointSlice[] = this.site.api.all(endpointSlices);
    const named = (list: readonly ({ readonly targetRef?: { readonly name?: string } } | undefined)[]): string =>
      list.map((address) => address?.targetRef?.name).join();
    return [
      named((one?.subsets ?? []).flatMap(({ addresses = [] }) => addresses)),
      named(slices.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready)),
    ];
  }
}

test("an endpoint of a silent board is kept while the site is in quarantine, and is removed once the verdict permits it", async () => {
  const story = new ServingSite();
  expect(await story.serving()).toEqual(["a,b", "a,b"]);
  const restoredAt = story.site.clock.now();
  story.judge = { ...firstMemory, quarantine: { restoredAt, liveFor: 0, countedAt: undefined, releasedAt: undefined } };
  story.fallsSilent();
  expect(await story.serving()).toEqual(["a,b", "a,b"]);
  await story.site.clock.advance(600_000);
  expect(await story.serving()).toEqual(["a,b", "a,b"]);

  story.site.api.put(pods, webPod("c", { on: "pi-2" }));
  expect(await story.serving()).toEqual(["a,b,c", "a,b,c"]);

  story.judge = "no judge";
  await story.site.clock.advance(5000);
  expect(await story.serving()).toEqual(["b,c", "b,c"]);
  await story.site.endTerm();
});

test("an endpoint is kept while its board has not been judged yet, and before the first monitor pass", async () => {
  const story = new ServingSite();
  await story.serving();
  story.fallsSilent();
  expect(await story.serving()).toEqual(["a,b", "a,b"]);
  story.judge = undefined;
  await story.site.clock.advance(5000);
  expect(await story.serving()).toEqual(["a,b", "a,b"]);
  await story.site.endTerm();
});

test("a report of a living kubelet takes effect immediately, even in a quarantine", async () => {
  const story = new ServingSite();
  await story.serving();
  story.judge = undefined;
  story.site.api.put(pods, webPod("a", { ready: false }));
  expect(await story.serving()).toEqual(["b", "b"]);
  await story.site.endTerm();
});

test("the endpoint of a deleted pod is removed immediately, even if its board is silent", async () => {
  const story = new ServingSite();
  await story.serving();
  story.judge = undefined;
  story.fallsSilent();
  await story.serving();
  story.site.api.remove(pods, "default/a");
  expect(await story.serving()).toEqual(["b", "b"]);
  await story.site.endTerm();
});
