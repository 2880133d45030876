import { expect, test } from "vitest";
import type { Node } from "../../../agent/api/core.ts";
import { leases, nodes, pods } from "../../../agent/api/resources.ts";
import { noExecuteTaints } from "../../../agent/api/taints.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { read } from "../../../agent/base/schema.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import type { BoardRecord } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { openValve, type ValveAt } from "../../../agent/controllers/safety-valve.ts";
import { DecisionBook } from "../../../agent/decisions/decision-book.ts";
import type { DecisionRecord } from "../../../agent/decisions/decision-record.ts";
import type { EventAction } from "../../../agent/execution/actions.ts";
import { Executor } from "../../../agent/execution/executor.ts";
import { caseOf, recordedCase, replayCase } from "../../../agent/judgement/recorded-case.ts";
import { controlLoops, type TermLoopsDeps } from "../../../agent/leading/control-loops.ts";
import { OverlaidSite } from "../../../agent/shadow/overlaid-site.ts";
import { ShadowClient } from "../../../agent/shadow/shadow-client.ts";
import { Database } from "../../../storage/database/database.ts";
import { DecisionLog } from "../../../storage/decision-log.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { condition, lease, node, pod, shown, taint, toleration } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { TestTerm } from "../../support/small-api.ts";
import { statePragmas } from "../../support/state-pragmas.ts";
import { defaults } from "../controllers/site-model.ts";
import { SiteInMemory } from "./site-in-memory.ts";

const { config: act } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });
const shadow = { mode: "shadow" } as const;

/**
 * Two boards with a controller in shadow mode for each kind of work, under policy `kubernetes`. `site` is what the API
 * server has; nothing but the test writes to it.
 */
async function setUp(controllers: Partial<Config["controllers"]> = {}, most?: number) {
  const clock = new FakeClock();
  const ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
  const site = new SiteInMemory(clock);
  for (const name of ["pi-2", "pi-3"]) {
    await site.put(nodes, node(name, { heartbeat: timestamp(clock.now()) }));
    await site.put(leases, lease(name));
  }
  await site.put(pods, pod("web", { on: "pi-3", tolerations: [toleration("unreachable", 30)] }));
  const log = new DecisionLog(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas: statePragmas }), {
    rows: 500,
    bytes: 256 * 1024,
  });
  const book = { log, board: "pi-1", bootId: "b1" };
  const records = (): readonly DecisionRecord[] => {
    shadowed.flush();
    acting.flush();
    return log.newest(undefined, 100).map((text) => JSON.parse(text) as DecisionRecord);
  };
  const shadowed = new DecisionBook(ambient, { ...book, pretence: "shadow" });
  const acting = new DecisionBook(ambient, { ...book, shadow: shadowed });
  const overlaid = new OverlaidSite(clock, site, most);
  const client = new ShadowClient(clock, { site: overlaid, reader: site });
  const events: EventAction[] = [];
  const sent: string[] = [];
  const refuseAll = new Proxy({}, { get: (_, name) => () => Promise.reject(new Error(`${String(name)} was sent`)) });
  const executorOf = (more: object) =>
    new Executor(ambient, {
      events: { record: (event: EventAction) => events.push(event) },
      inflight: 4,
      ...more,
    } as never);
  const executor = executorOf({ client, decisions: shadowed, events: { record: () => {} } });
  const real = executorOf({
    client: {
      ...refuseAll,
      delete: (_: unknown, at: { name: string }) => {
        sent.push(`delete ${at.name}`);
        return Promise.resolve();
      },
      patch: (_: unknown, at: { name: string }, _type: string, patch: object) => {
        sent.push(`patch ${at.name}`);
        return Promise.resolve({ ...patch, metadata: { name: at.name, uid: "", resourceVersion: "" } });
      },
    },
    decisions: acting,
  });
  const recordOf = (board: string): BoardRecord | "no judge" | undefined =>
    loops.judgeMemory ? loops.judgeMemory()?.boards.get(board) : "no judge";
  const valve: ValveAt = () => openValve;
  const judge = () => loops.judgeMemory?.() ?? ("no judge" as const);
  const parts = {
    nodeLifecycle: { settings: defaults, inherited: () => undefined },
    taintEviction: { settings: defaults, boot: "b1", inherited: () => undefined, recordOf },
    podGC: { verdictDeps: { settings: defaults, judge, valve }, terminatedThreshold: 0 },
  };
  const config = {
    ...act,
    controllers: { ...act.controllers, nodeLifecycle: shadow, taintEviction: shadow, podGC: shadow, ...controllers },
  };
  const deps = {
    ...parts,
    config,
    workloads: [],
    verdictDeps: parts.podGC.verdictDeps,
    client: site,
    executor: real,
    memo: { entries: () => [], set: () => {}, delete: () => {} },
    decisions: acting,
    caches: site,
    uncontested: site,
    shadow: { ...parts, caches: overlaid, client, executor, decisions: shadowed },
  };
  const loops = controlLoops(ambient, deps as unknown as TermLoopsDeps);
  const term = new TestTerm();
  const running = [overlaid.run(term.signal), ...loops.loops.map((loop) => loop.run(term))];
  const end = async () => {
    term.end();
    await Promise.all(running);
  };
  const heard = async (...names: readonly string[]) => {
    for (const name of names) await site.put(leases, lease(name));
  };
  /** Time passes, and these boards renew their Leases every ten seconds. */
  const live = async (seconds: number, ...names: readonly string[]) => {
    for (let left = seconds; left > 0; left -= 10) {
      await heard(...names);
      await clock.advance(Math.min(10, left) * 1000);
    }
  };
  const would = (): readonly string[] =>
    records().map(({ shadow: isShadow, act, on, state }) => `${isShadow ? "would " : ""}${act} ${on.name} ${state}`);
  const realNode = (name: string): Promise<Node> => site.get(nodes, { name });
  const seenTaints = (name: string): readonly string[] =>
    noExecuteTaints(overlaid.nodes.lister.get(name) ?? node(name)).map(shown);
  return { clock, site, overlaid, loops, events, sent, records, would, live, realNode, seenTaints, heard, end };
}

const marked = "would board-marked pi-3 done";
const tainted = "would board-tainted pi-3 done";
const evicted = "would pod-evicted web done";

test("a silent board would be marked, tainted and left by its pods, each once, and nothing is written", async () => {
  const { site, overlaid, events, sent, would, live, realNode, seenTaints, end } = await setUp();
  const before = await realNode("pi-3");
  await live(100, "pi-2");
  expect(would()).toEqual([marked, tainted, evicted]);
  expect(seenTaints("pi-3")).toEqual(["unreachable:NoExecute"]);
  expect(overlaid.pods.lister.get("default/web")?.metadata.deletionTimestamp).toBeDefined();
  // Later passes see what they pretended, and decide nothing again.
  await live(600, "pi-2");
  expect(would()).toEqual([marked, tainted, evicted]);
  expect(await realNode("pi-3")).toBe(before);
  expect((await site.get(pods, { namespace: "default", name: "web" })).metadata.deletionTimestamp).toBeUndefined();
  expect([events, sent]).toEqual([[], []]);
  await end();
});

test("more silent boards than pods that can be overlaid are each marked and tainted once", async () => {
  const { site, overlaid, would, live, end } = await setUp({}, 2);
  const healthy = ["pi-2", ...Array.from({ length: 20 }, (_, n) => `ok-${n}`)];
  const silent = ["pi-3", "pi-4", "pi-5", "pi-6"];
  for (const name of [...healthy, ...silent]) await site.put(nodes, node(name, { heartbeat: "2026-01-01T00:00:00Z" }));
  await live(200, ...healthy);
  const done = silent.flatMap((name) => [`would board-marked ${name} done`, `would board-tainted ${name} done`]);
  expect(would().filter((one) => one.includes("board-"))).toHaveLength(done.length);
  expect(would()).toEqual(expect.arrayContaining(done));
  expect(overlaid.nodes.pretended().size).toBe(4);
  await end();
});

test("evictions that do not fit are each decided once, and done as soon as there is room", async () => {
  const { site, overlaid, records, would, live, end } = await setUp({}, 2);
  for (const name of ["api", "db", "job"])
    await site.put(pods, pod(name, { on: "pi-3", tolerations: [toleration("unreachable", 30)] }));
  await live(300, "pi-2");
  const evictions = () => would().filter((one) => one.includes("pod-evicted"));
  expect(evictions()).toHaveLength(4);
  expect(evictions().filter((one) => one.endsWith("done"))).toHaveLength(2);
  const left = records().filter(({ state }) => state === "failed");
  expect(left.map(({ error }) => error)).toEqual([
    expect.stringContaining("in shadow mode, at most 2 pods are shown"),
    expect.stringContaining("in shadow mode, at most 2 pods are shown"),
  ]);
  for (const key of [...overlaid.pods.pretended().keys()]) await site.remove(pods, key);
  await live(1200, "pi-2");
  expect(evictions().filter((one) => one.endsWith("done"))).toHaveLength(4);
  expect(evictions()).toHaveLength(4);
  await end();
});

test("an exported record of a shadowed controller gives the same decision", async () => {
  const { records, live, end } = await setUp();
  await live(100, "pi-2");
  const replayed = records().map((record) => {
    const exported = caseOf(record, { id: record.on.name, note: "a test" });
    const taken = read(recordedCase, JSON.parse(JSON.stringify(exported)));
    if ("problem" in taken) throw new Error(JSON.stringify(taken.problem));
    return replayCase(taken.value);
  });
  expect(replayed.map(({ decision, differences }) => [decision.ruling, differences])).toEqual([
    ["act", []],
    ["act", []],
    ["act", []],
  ]);
  await end();
});

/** What another program makes of a silent board. */
const judgedByOther = (silent: Node): Node => ({
  ...silent,
  spec: { ...silent.spec, taints: [taint("unreachable:NoExecute", "2026-01-01T00:00:50Z")] },
  status: { conditions: [condition("Ready", "Unknown")] },
});

test("once another program does the same, its writes are seen instead, and nothing is decided again", async () => {
  const { site, overlaid, would, live, realNode, seenTaints, end } = await setUp();
  await live(60, "pi-2");
  await site.put(nodes, judgedByOther(await realNode("pi-3")));
  const shownNode = overlaid.nodes.lister.get("pi-3");
  expect(noExecuteTaints(shownNode ?? node("pi-3"))).toEqual([taint("unreachable:NoExecute", "2026-01-01T00:00:50Z")]);
  await live(100, "pi-2");
  expect(would()).toEqual([marked, tainted, evicted]);
  await site.put(pods, pod("web", { on: "pi-3", deletionTimestamp: "2026-01-01T00:02:00Z" }));
  await live(100, "pi-2");
  expect(would()).toEqual([marked, tainted, evicted]);
  // The other program withdraws the taint of the board that is back; what was pretended does not come back.
  await site.put(nodes, node("pi-3", { heartbeat: "2026-01-01T00:05:00Z" }));
  await live(20, "pi-2", "pi-3");
  expect(seenTaints("pi-3")).toEqual([]);
  expect(overlaid.nodes.pretended().size).toBe(0);
  await end();
});

test("a board that another program taints first is not tainted again, only its pods are decided on", async () => {
  const { site, would, live, realNode, end } = await setUp();
  await live(30, "pi-2");
  await site.put(nodes, judgedByOther(await realNode("pi-3")));
  await live(100, "pi-2");
  expect(would()).toEqual([evicted]);
  await end();
});

test("a board that returns is seen as its kubelet left it, although nobody has to undo anything, and dies anew", async () => {
  const { overlaid, would, live, seenTaints, end } = await setUp();
  await live(100, "pi-2");
  // Its kubelet renews the Lease and, as its Node still says Ready, reports nothing for minutes.
  await live(20, "pi-2", "pi-3");
  expect(seenTaints("pi-3")).toEqual([]);
  expect(overlaid.nodes.pretended().size).toBe(0);
  expect(overlaid.pods.pretended().size).toBe(0);
  await live(100, "pi-2");
  expect(would()).toEqual([marked, tainted, evicted, marked, tainted, evicted]);
  await end();
});

test("pods whose Node was deleted would be collected once, and are seen no more", async () => {
  const { site, overlaid, would, live, end } = await setUp();
  await live(20, "pi-2", "pi-3");
  await site.remove(nodes, "pi-3");
  await live(120, "pi-2");
  expect(would()).toEqual(["would pod-collected web done"]);
  expect(overlaid.pods.lister.get("default/web")).toBeUndefined();
  expect([...overlaid.pods.lister.byIndex("byNode", "pi-3")]).toEqual([]);
  await end();
});

test("the end of a term forgets what was pretended", async () => {
  const { overlaid, live, end } = await setUp();
  await live(100, "pi-2");
  expect(overlaid.nodes.pretended().size).toBe(1);
  await end();
  expect([overlaid.nodes.pretended().size, overlaid.pods.pretended().size]).toEqual([0, 0]);
});

test("a controller that acts beside shadowed ones sees only real taints, and its acts are real", async () => {
  const { site, sent, would, live, realNode, end } = await setUp({ taintEviction: { mode: "act" } });
  await live(150, "pi-2");
  expect(would()).toEqual([marked, tainted]);
  expect(sent).toEqual([]);
  await site.put(nodes, judgedByOther(await realNode("pi-3")));
  await live(60, "pi-2");
  expect(would()).toEqual([marked, tainted, "pod-evicted web done"]);
  expect(sent).toContain("delete web");
  await end();
});

test("a shadowed eviction beside a judge that acts rests on the real taint", async () => {
  const { site, sent, would, live, realNode, end } = await setUp({ nodeLifecycle: { mode: "act" } });
  await live(60, "pi-2");
  expect(would()).toEqual(["board-marked pi-3 done", "board-tainted pi-3 done"]);
  expect(sent).toContain("patch pi-3");
  await site.put(nodes, judgedByOther(await realNode("pi-3")));
  await live(60, "pi-2");
  expect(would()).toContain(evicted);
  expect(sent.filter((one) => one.startsWith("delete"))).toEqual([]);
  await end();
});

test("the status shows each controller of a shadowed setting as such", async () => {
  const { clock, loops, end } = await setUp();
  await clock.advance(1000);
  expect(Object.fromEntries(loops.loops.map((loop) => [loop.name, loop.stats(clock.now()).state]))).toEqual({
    "node-lifecycle": "shadow",
    "node-taints": "shadow",
    "pod-readiness": "shadow",
    "out-of-service": "shadow",
    "taint-eviction": "shadow",
    "pod-gc": "shadow",
  });
  // Nothing waits to be evicted by this agent.
  expect(loops.timers).toBeUndefined();
  await end();
});
