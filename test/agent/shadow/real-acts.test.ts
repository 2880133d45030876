import { describe, expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import type { DecidedAct } from "../../../agent/decisions/decision-book.ts";
import type { RecordedAct } from "../../../agent/decisions/grounds.ts";
import type { ObjectChange } from "../../../agent/loop/controller.ts";
import type { Caches } from "../../../agent/loop/site-view.ts";
import { actsOnPod, RealActs } from "../../../agent/shadow/real-acts.ts";
import { collapse } from "../../../storage/delta-fifo/collapse.ts";
import type { DeltaType } from "../../../storage/object.ts";
import { type NodeOptions, node, pod, taint } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { TestTerm } from "../../support/small-api.ts";
import { SiteInMemory } from "./site-in-memory.ts";

const all: readonly RecordedAct[] = ["board-marked", "board-tainted", "pod-evicted", "pod-collected"];

async function setUp(acts: readonly RecordedAct[] = all, isCurrent = true) {
  const clock = new FakeClock();
  const site = new SiteInMemory(clock);
  const seen: DecidedAct[] = [];
  let resumedAt: Instant | undefined;
  const resumes = () => {
    resumedAt = clock.now();
  };
  const caches: Caches = {
    informer: (resource) => {
      const cache = site.informer(resource);
      return {
        ...cache,
        get health() {
          return { ...cache.health, resumedAt };
        },
      };
    },
  };
  const real = new RealActs({
    caches,
    clock,
    limits: { stall: 40_000, blip: 10_000 },
    book: { seen: (act) => seen.push(act) },
    by: "another program",
    acts: new Set(acts),
    verdictOn: (board) => (board === "pi-3" ? { verdict: "cut-off", rule: "it answers on the LAN" } : undefined),
  });
  const board = (options: NodeOptions = {}) => site.put(nodes, node("pi-3", options));
  await board();
  await site.put(pods, pod("web", { on: "pi-3" }));
  let isBehind = !isCurrent;
  const catchesUp = () => {
    isBehind = false;
  };
  const end = real.follow(new TestTerm(7), () => isBehind);
  const found = () => seen.map(({ grounds, on }) => `${grounds.act} ${on.name}`);
  return { clock, site, seen, board, found, end, resumes, catchesUp };
}

const silent: NodeOptions = { conditions: { Ready: "Unknown" } };
const tainted: NodeOptions = { ...silent, taints: [taint("unreachable:NoExecute")] };

describe("what other programs do", () => {
  test("to a silent board and its pods is recorded once, with our verdict at that time", async () => {
    const { site, seen, board, found } = await setUp();
    await board(silent);
    await board(tainted);
    await board({ ...tainted, labels: { other: "change" } });
    await board({ ...silent, taints: [taint("not-ready:NoExecute")] });
    await site.put(pods, pod("web", { on: "pi-3", deletionTimestamp: "2026-01-01T00:02:00Z" }));
    await site.remove(pods, "default/web");
    expect(found()).toEqual(["board-marked pi-3", "board-tainted pi-3", "pod-evicted web"]);
    expect(seen[0]).toMatchObject({
      by: "another program",
      term: 7,
      on: { kind: "Node", name: "pi-3", uid: "uid-pi-3" },
      grounds: { board: "pi-3", because: { kind: "seen", verdict: "cut-off", rule: "it answers on the LAN" } },
    });
  });

  test("to the pods of a deleted board is recorded as collected", async () => {
    const { site, found } = await setUp();
    await site.remove(nodes, "pi-3");
    await site.remove(pods, "default/web");
    expect(found()).toEqual(["pod-collected web"]);
  });

  test.each<[string, NodeOptions | undefined]>([
    ["deleted", undefined],
    ["that is out of service", { ...tainted, taints: [taint("node.kubernetes.io/out-of-service:NoExecute")] }],
  ])("to a terminating pod of a board %s is recorded as collected once it is gone", async (_, options) => {
    const { site, board, found } = await setUp();
    if (options) await board(options);
    else await site.remove(nodes, "pi-3");
    await site.put(pods, pod("web", { on: "pi-3", deletionTimestamp: "2026-01-01T00:02:00Z" }));
    await site.remove(pods, "default/web");
    expect(found().filter((one) => one.startsWith("pod-"))).toEqual(["pod-collected web"]);
  });

  test("is not recorded if this agent does it itself, nor after the term", async () => {
    const { site, board, found, end } = await setUp(["pod-evicted"]);
    await board(tainted);
    expect(found()).toEqual([]);
    end();
    await site.remove(pods, "default/web");
    expect(found()).toEqual([]);
  });

  test.each<[string, (site: SiteInMemory, board: (options?: NodeOptions) => Promise<unknown>) => Promise<unknown>]>([
    ["a rollout deletes a pod on a healthy board", (site) => site.remove(pods, "default/web")],
    ["a board reports itself not ready", (_, board) => board({ conditions: { Ready: "False" } })],
    ["another taint is set", (_, board) => board({ taints: [taint("maintenance:NoExecute")] })],
    ["a new Node arrives tainted", (_, board) => board({ ...tainted, uid: "another" })],
  ])("is not concluded if %s", async (_, happens) => {
    const { site, board, found } = await setUp();
    await happens(site, board);
    expect(found()).toEqual([]);
  });

  test("before this board caught up, or while its watches were interrupted, gets no verdict and no certain time", async () => {
    const { clock, site, seen, board, resumes, catchesUp } = await setUp(all, false);
    const verdicts = () => seen.map(({ grounds: { act, because } }) => [act, because]);
    const late = { kind: "seen", late: true };
    await board(tainted);
    catchesUp();
    await site.remove(pods, "default/web");
    const inTime = { kind: "seen", verdict: "cut-off", rule: "it answers on the LAN" };
    expect(verdicts()).toEqual([
      ["board-marked", late],
      ["board-tainted", late],
      ["pod-evicted", inTime],
    ]);
    await board();
    resumes();
    await board(silent);
    await clock.advance("10s");
    await board(tainted);
    expect(verdicts().slice(3)).toEqual([
      ["board-marked", late],
      ["board-tainted", inTime],
    ]);
  });

  test.each<[string, string[], string[]]>([
    ["at once", ["Deleted"], ["pod-evicted"]],
    ["with its end in the same batch", ["Updated", "Deleted"], ["pod-evicted"]],
    ["before", ["Updated"], ["pod-evicted"]],
  ])("to a pod that was deleted %s is recorded", (_, types, expected) => {
    const known = pod("web", { on: "pi-3" });
    const terminating = pod("web", { on: "pi-3", deletionTimestamp: "2026-01-01T00:02:00Z" });
    const { uid } = known.metadata;
    const rows = types.map((type, n) => ({ type: type as DeltaType, uid, version: `9${n}`, hasObject: true, n }));
    const objectOf = ({ n }: { readonly n: number }): Pod => ({
      ...terminating,
      metadata: { ...terminating.metadata, resourceVersion: `9${n}` },
    });
    const { changes, after } = collapse<Pod, (typeof rows)[number]>("default/web", known, rows, objectOf);
    const actsOf = (change: ObjectChange<Pod>) => actsOnPod(change, node("pi-3", tainted)).map(({ act }) => act);
    expect(changes.flatMap(actsOf)).toEqual(expected);
    // Its end later is no second deletion.
    const end = [{ type: "Deleted" as const, uid, version: "99", hasObject: true, n: 9 }];
    expect(collapse("default/web", after, end, objectOf).changes.flatMap(actsOf)).toEqual([]);
  });

  test("is not concluded from a daemon pod, which its own controller replaces", () => {
    const before = pod("logs", { on: "pi-3", owner: "DaemonSet" });
    expect(actsOnPod({ key: "default/logs", before, after: undefined }, node("pi-3", tainted))).toEqual([]);
  });

  test("to a pod that no kubelet has started is not recorded, as nothing is recorded of what would be done to it", async () => {
    const { site, board, found } = await setUp();
    await site.put(pods, pod("new", { on: "pi-3", conditions: [] }));
    await board(tainted);
    await site.remove(pods, "default/new");
    await site.remove(pods, "default/web");
    expect(found()).toEqual(["board-marked pi-3", "board-tainted pi-3", "pod-evicted web"]);
  });

  test("to a daemon pod of a deleted board is recorded as collected, as Pod GC collects it", () => {
    const before = pod("logs", { on: "pi-3", owner: "DaemonSet" });
    const [act, ...others] = actsOnPod({ key: "default/logs", before, after: undefined }, undefined);
    expect([act?.act, others]).toEqual(["pod-collected", []]);
  });

  test("is not concluded from a pod that only left the site's selection", () => {
    const before = pod("web", { on: "pi-3" });
    const left = { key: "default/web", before, after: undefined, released: true } as const;
    expect(actsOnPod(left, undefined)).toEqual([]);
    const { released: _, ...deleted } = left;
    expect(actsOnPod(deleted, undefined)).toHaveLength(1);
  });
});
