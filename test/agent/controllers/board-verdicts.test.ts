import { beforeEach, describe, expect, test } from "vitest";
import { leases, nodes } from "../../../agent/api/resources.ts";
import { type BoardVerdicts, sightOf } from "../../../agent/controllers/board-verdicts.ts";
import { firstMemory, type SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import { closed, heard, opened, proven, unheard, type WatchHealth } from "../../../agent/informer/watch-health.ts";
import { noQuarantine } from "../../../agent/judgement/link.ts";
import { CachedSiteView } from "../../../agent/site/site-view.ts";
import { lifecycleSettings } from "../../replay/settings.ts";
import { lease, node } from "../../support/builders.ts";
import { refusal } from "../election/support/api.ts";
import { SmallCaches } from "../election/support/caches.ts";

const settings = lifecycleSettings({});
const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

let caches: SmallCaches;
let judge: SiteMemory | "by nobody" | undefined;

beforeEach(() => {
  caches = new SmallCaches();
  caches.of(nodes).add(node("pi-1"));
  caches.of(leases).add(lease("pi-1"));
  judge = firstMemory;
});

/** Both watches, as this health has them. */
function sight(seconds: number, health: WatchHealth): BoardVerdicts {
  for (const resource of [nodes, leases]) caches.of(resource).health = health;
  const client = {
    get: async (): Promise<never> => {
      throw refusal("get", 404, "NotFound");
    },
  };
  const pass = { now: at(seconds), signal: new AbortController().signal };
  return sightOf({ settings, judge: () => judge }, new CachedSiteView({ caches, client }, pass));
}

const live = (seconds: number): WatchHealth =>
  proven(heard(opened(unheard, settings, at(0)), settings, at(seconds)), at(seconds));

describe("what is held back", () => {
  test("everything while a watch is not live", () => {
    const deaf = closed(live(0), settings, at(10));
    expect(sight(60, deaf).held).toBe("our view of the API is not live");
    expect(sight(60, deaf).verdictOn("pi-1")?.verdict).toBe("unknown");
    expect(sight(60, live(60)).held).toBeUndefined();
  });

  test("everything before those who judge the boards have looked, and before a board was looked at", () => {
    judge = undefined;
    expect(sight(1, live(1)).held).toBe("no board was looked at yet");
    judge = firstMemory;
    expect(sight(1, live(1)).held).toBeUndefined();
    expect(sight(1, live(1)).verdictOn("pi-1")).toEqual({ verdict: "unknown", rule: "was not looked at yet" });
  });

  test("everything in a quarantine, as long as those who judge the boards hold it", () => {
    const restoredAt = at(100);
    const back = { ...live(105), restoredAt };
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt } };
    expect(sight(105, back).held).toMatch(/since the last outage/);
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt, releasedAt: at(103) } };
    expect(sight(105, back).held).toBeUndefined();
  });

  test("everything from the end of an outage on, though those who judge the boards have not looked since", () => {
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt: at(100), releasedAt: at(110) } };
    const back = { ...live(400), restoredAt: at(400) };
    expect(sight(401, back).held).toMatch(/since the last outage/);
    expect(sight(401, back).verdictOn("pi-1")?.verdict).toBe("unknown");
    expect(sight(440, back).held).toBeUndefined();
  });

  test("where nobody judges boards, a grace period after an outage, and no verdicts", () => {
    judge = "by nobody";
    const back = { ...live(100), restoredAt: at(100) };
    expect(sight(139.999, back).held).toMatch(/since the last outage/);
    expect(sight(140, back).held).toBeUndefined();
    expect(sight(140, back).verdictOn("pi-1")).toBeUndefined();
  });
});

test("a board without a Node has no verdict", () => {
  expect(sight(1, live(1)).verdictOn("pi-9")).toBeUndefined();
});

test("a freeze of the zone of a board covers it, and one of another zone does not", () => {
  caches.of(nodes).add(node("pi-2", { zone: "a" }));
  const end = at(100);
  const freeze = {
    scope: "zone",
    target: "a",
    end,
    slowEnd: end,
    by: "ops:alice",
    reason: undefined,
    foreign: {},
  } as const;
  const holds = () => ({ ...noHolds, freezes: new Map([["zone/a", freeze]]) });
  const client = { get: () => Promise.reject(refusal("get", 404, "NotFound")) };
  const view = (seconds: number) =>
    sightOf(
      { settings, judge: () => judge, holds },
      new CachedSiteView({ caches, client }, { now: at(seconds), signal: new AbortController().signal }),
    );
  expect(view(1).freezeOn("pi-2")?.by).toBe("ops:alice");
  expect(view(1).freezeOn("pi-1")).toBeUndefined();
  expect(view(100).freezeOn("pi-2")).toBeUndefined();
});
