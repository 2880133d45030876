import { beforeEach, describe, expect, test } from "vitest";
import { leases, nodes } from "../../../agent/api/resources.ts";
import { type BoardVerdicts, boardVerdicts } from "../../../agent/controllers/board-verdicts.ts";
import { firstMemory, type SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import {
  neverConnected,
  recordClose,
  recordOpen,
  recordProof,
  recordReceipt,
  type WatchHealth,
} from "../../../agent/informer/watch-health.ts";
import { noQuarantine } from "../../../agent/judgement/link.ts";
import { CachedSiteView } from "../../../agent/loop/site-view.ts";
import { lifecycleSettings } from "../../replay/settings.ts";
import { lease, node } from "../../support/builders.ts";
import { refusal } from "../../support/small-api.ts";
import { SmallCaches } from "../election/support/caches.ts";

const settings = lifecycleSettings({});
const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

let caches: SmallCaches;
let judge: SiteMemory | "no judge" | undefined;

beforeEach(() => {
  caches = new SmallCaches();
  caches.of(nodes).add(node("pi-1"));
  caches.of(leases).add(lease("pi-1"));
  judge = firstMemory;
});

/** Both watches, as this health has them. */
function verdictsAt(seconds: number, health: WatchHealth): BoardVerdicts {
  for (const resource of [nodes, leases]) caches.of(resource).health = health;
  const client = {
    get: async (): Promise<never> => {
      throw refusal("get", 404, "NotFound");
    },
  };
  const pass = { now: at(seconds), signal: new AbortController().signal };
  return boardVerdicts({ settings, judge: () => judge }, new CachedSiteView({ caches, client }, pass));
}

const live = (seconds: number): WatchHealth =>
  recordProof(recordReceipt(recordOpen(neverConnected, settings, at(0)), settings, at(seconds)), at(seconds));

describe("harmful acts", () => {
  test("are held while a watch is not live", () => {
    const deaf = recordClose(live(0), settings, at(10));
    expect(verdictsAt(60, deaf).held).toBe("the watches of Nodes and their Leases are not live");
    expect(verdictsAt(60, deaf).verdictOn("pi-1")?.verdict).toBe("unknown");
    expect(verdictsAt(60, live(60)).held).toBeUndefined();
  });

  test("are held before the first monitor pass, and before the board's first examination", () => {
    judge = undefined;
    expect(verdictsAt(1, live(1)).held).toBe("no board has been checked yet");
    judge = firstMemory;
    expect(verdictsAt(1, live(1)).held).toBeUndefined();
    expect(verdictsAt(1, live(1)).verdictOn("pi-1")).toEqual({
      verdict: "unknown",
      rule: "the board has not been checked yet",
    });
  });

  test("are held in a quarantine, as long as the judging controller holds them", () => {
    const restoredAt = at(100);
    const back = { ...live(105), restoredAt };
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt } };
    expect(verdictsAt(105, back).held).toMatch(/since the last outage/);
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt, releasedAt: at(103) } };
    expect(verdictsAt(105, back).held).toBeUndefined();
  });

  test("are held from the end of an outage, even before the next monitor pass", () => {
    judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt: at(100), releasedAt: at(110) } };
    const back = { ...live(400), restoredAt: at(400) };
    expect(verdictsAt(401, back).held).toMatch(/since the last outage/);
    expect(verdictsAt(401, back).verdictOn("pi-1")?.verdict).toBe("unknown");
    expect(verdictsAt(440, back).held).toBeUndefined();
  });

  test("without a judge are held for a grace period after an outage, and there are no verdicts", () => {
    judge = "no judge";
    const back = { ...live(100), restoredAt: at(100) };
    expect(verdictsAt(139.999, back).held).toMatch(/since the last outage/);
    expect(verdictsAt(140, back).held).toBeUndefined();
    expect(verdictsAt(140, back).verdictOn("pi-1")).toBeUndefined();
  });
});

test("a board without a Node has no verdict", () => {
  expect(verdictsAt(1, live(1)).verdictOn("pi-9")).toBeUndefined();
});

test("a freeze of a board's zone holds harmful acts; a freeze of another zone does not", () => {
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
    boardVerdicts(
      { settings, judge: () => judge, holds },
      new CachedSiteView({ caches, client }, { now: at(seconds), signal: new AbortController().signal }),
    );
  expect(view(1).freezeOn("pi-2")?.by).toBe("ops:alice");
  expect(view(1).freezeOn("pi-1")).toBeUndefined();
  expect(view(100).freezeOn("pi-2")).toBeUndefined();
});
