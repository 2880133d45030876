import { describe, expect, test } from "vitest";
import { endpointSlices, nodes, pods } from "../../../agent/api/resources.ts";
import { type Instant, sleep } from "../../../agent/base/clock.ts";
import { isPostponed, PostponedError } from "../../../agent/base/postponed.ts";
import { KubeClient } from "../../../agent/client/kube-client.ts";
import { Traffic } from "../../../agent/client/traffic.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport/transport.ts";
import type { DecidedAct, Decisions } from "../../../agent/decisions/decision-book.ts";
import type { Grounds } from "../../../agent/decisions/grounds.ts";
import type { Action, EventAction } from "../../../agent/execution/actions.ts";
import { Executor, effectOf, type SafetyValve } from "../../../agent/execution/executor.ts";
import { FencedError } from "../../../agent/execution/fence.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { create, deletion, patch, refusal, SmallApi, TestTerm } from "../../support/small-api.ts";

function setUp(
  inflight = 4,
  asked: {
    readonly isFrozen?: (board: string) => boolean;
    readonly isOutdated?: (since: Instant) => boolean;
    readonly isBack?: (grounds: Grounds) => boolean;
    readonly isPaused?: (controller: string) => boolean;
    readonly decisions?: Pick<Decisions, "acted">;
    readonly valve?: SafetyValve;
  } = {},
  clock = new FakeClock(),
) {
  const api = new SmallApi(clock);
  const said: EventAction[] = [];
  const ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
  const executor = new Executor(ambient, {
    client: api,
    events: { record: (event) => said.push(event) },
    inflight,
    ...asked,
  });
  return { clock, api, said, executor, term: new TestTerm() };
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const fails = (reason: string) => ({ ok: false, error: { reason } });

describe("every write names the object that was read:", () => {
  test("a patch carries uid and resourceVersion in addition to its changes to the metadata", async () => {
    const { api, executor, term } = setUp();
    const target = api.put("web");
    const action = patch(target, { metadata: { labels: { a: "b" } }, spec: {} });
    const outcomes = await executor.execute([action], term);
    const { uid, resourceVersion } = target;
    expect(api.requests[0]?.body).toEqual({ metadata: { labels: { a: "b" }, uid, resourceVersion }, spec: {} });
    expect(outcomes).toMatchObject([{ ok: true, object: { metadata: { uid } } }]);
    expect(outcomes[0]?.action).toBe(action);
  });

  test("a deletion carries the uid, and the resourceVersion if the decision depends on it", async () => {
    const { api, executor, term } = setUp();
    const { resourceVersion, ...anyState } = api.put("web");
    await executor.execute([{ do: "delete", target: anyState, gracePeriodSeconds: 0 }], term);
    expect(api.requests[0]?.body).toEqual({ uid: "uid-web", gracePeriodSeconds: 0 });
    api.put("api");
    await executor.execute([deletion({ ...anyState, name: "api", uid: "uid-api", resourceVersion: "7" })], term);
    expect(api.requests[1]?.body).toEqual({ uid: "uid-api", resourceVersion: "7" });
  });

  test("a change by another client in between is a conflict", async () => {
    const { api, executor, term } = setUp();
    const seen = api.put("web");
    api.put("web");
    expect(await executor.execute([patch(seen, {})], term)).toMatchObject([fails("Conflict")]);
  });

  test("deleting or evicting an object that is gone succeeds", async () => {
    const { api, executor, term } = setUp();
    const target = api.put("web");
    api.objects.clear();
    const outcomes = await executor.execute([deletion(target), { do: "evict", target }], term);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
  });
});

test("only the identity is kept from an answer, regardless of the size of the object", async () => {
  const { api, executor, term } = setUp();
  const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`label-${i}`, "x".repeat(60)]));
  const target = api.put("web");
  const made: Action = {
    do: "create",
    resource: pods,
    object: { apiVersion: "v1", kind: "Pod", metadata: { name: "new", labels } },
  };
  const outcomes = await executor.execute([made, patch(target, { metadata: { labels } })], term);
  expect(outcomes).toMatchObject([{ ok: true }, { ok: true }]);
  for (const outcome of outcomes) {
    const kept = outcome.ok ? (outcome.object?.metadata ?? {}) : {};
    expect(
      Object.keys(kept)
        .filter((name) => name !== "namespace")
        .sort(),
    ).toEqual(["name", "resourceVersion", "uid"]);
  }
});

describe("actions on one object", () => {
  test("run one after the other, and build on each other's resourceVersion", async () => {
    const { clock, api, executor, term } = setUp();
    api.latency = 50;
    const target = api.put("web");
    const running = executor.execute([patch(target, { a: 1 }), patch(target, { b: 2 }), deletion(target)], term);
    await clock.advance("1s");
    expect((await running).map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(api.mostInflight).toBe(1);
    expect(api.requests.map(({ verb }) => verb)).toEqual(["patch", "patch", "delete"]);
    expect(api.objects.size).toBe(0);
  });

  test("end with the first that fails, and the others get its disposition", async () => {
    const { api, said, executor, term } = setUp();
    const target = api.put("web");
    api.refuse = () => {
      throw refusal("patch", 422, "Invalid");
    };
    const outcomes = await executor.execute(
      [
        patch(target, { a: 1 }),
        patch(target, { b: 2 }),
        { do: "event", about: target, severity: "Normal", reason: "Changed", message: "changed" },
      ],
      term,
    );
    expect(outcomes).toMatchObject([
      fails("Invalid"),
      { ok: false, error: { disposition: "drop" } },
      { ok: false, error: { disposition: "drop" } },
    ]);
    expect(api.requests).toHaveLength(1);
    expect(said).toEqual([]);
  });

  test("do not delay actions on other objects, up to the limit that all share", async () => {
    const { clock, api, executor, term } = setUp(3);
    api.latency = 50;
    const targets = Array.from({ length: 20 }, (_, index) => api.put(`pod-${index}`));
    const running = [0, 10].map((from) => executor.execute(targets.slice(from, from + 10).map(deletion), term));
    await clock.advance("1s");
    const outcomes = (await Promise.all(running)).flat();
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(api.mostInflight).toBe(3);
  });

  test("return their outcomes in the order of the decision", async () => {
    const { api, executor, term } = setUp();
    const [a, b] = [api.put("a"), api.put("b")];
    const actions = [deletion(a), create("c"), patch(b, {}), create("d"), deletion(b)];
    const outcomes = await executor.execute(actions, term);
    expect(outcomes.map(({ action }) => action)).toEqual(actions);
    expect(await executor.execute([], term)).toEqual([]);
  });
});

describe("creations", () => {
  test("start slowly: 1, 2, 4, … concurrently", async () => {
    const { clock, api, executor, term } = setUp(100);
    api.latency = 100;
    const running = executor.execute(
      Array.from({ length: 12 }, (_, index) => create(`pod-${index}`)),
      term,
    );
    const sent: number[] = [];
    for (let batch = 0; batch < 4; batch++) {
      await clock.settle();
      sent.push(api.requests.length);
      await clock.advance(100);
    }
    expect(sent).toEqual([1, 3, 7, 12]);
    expect((await running).every(({ ok }) => ok)).toBe(true);
  });

  test("end after the first batch with a failure", async () => {
    const { api, executor, term } = setUp(100);
    api.refuse = ({ name }) => {
      if (name === "pod-2") throw refusal("create", 403, "Forbidden");
    };
    const outcomes = await executor.execute(
      Array.from({ length: 12 }, (_, index) => create(`pod-${index}`)),
      term,
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false, ...new Array(9).fill(false)]);
    expect(api.requests).toHaveLength(3);
    expect(outcomes[11]).toMatchObject({ error: { disposition: "drop" } });
  });

  test("do not hold up deletions of the same decision", async () => {
    const { api, executor, term } = setUp();
    api.refuse = ({ verb }) => {
      if (verb === "create") throw refusal("create", 403, "Forbidden");
    };
    const outcomes = await executor.execute([create("a"), create("b"), deletion(api.put("c"))], term);
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, true]);
  });
});

describe("the fence", () => {
  test("permits no request once the term has ended, not even an Event", async () => {
    const { api, said, executor, term } = setUp();
    const target = api.put("web");
    term.over = true;
    const outcomes = await executor.execute(
      [
        deletion(target),
        create("x"),
        { do: "event", about: api.put("y"), severity: "Normal", reason: "R", message: "m" },
      ],
      term,
    );
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: false, error: expect.any(FencedError) });
    expect(api.requests).toEqual([]);
    expect(said).toEqual([]);
  });

  test("stops queued requests when the term ends", async () => {
    const { clock, api, executor, term } = setUp(1);
    api.latency = 100;
    const targets = ["a", "b", "c"].map((name) => api.put(name));
    const running = executor.execute(targets.map(deletion), term);
    await clock.advance(50);
    term.over = true;
    await clock.advance("1s");
    expect((await running).map(({ ok }) => ok)).toEqual([true, false, false]);
    expect(api.requests).toHaveLength(1);
  });

  test("is checked again right before the bytes are sent", async () => {
    const { api, executor, term } = setUp();
    const target = api.put("web");
    const deleteFromApi = api.delete.bind(api);
    api.delete = async (...parameters) => {
      // The process was stopped while the request waited for its connection.
      term.over = true;
      await deleteFromApi(...parameters);
    };
    expect(await executor.execute([deletion(target)], term)).toMatchObject([{ ok: false }]);
    expect(api.requests).toEqual([]);
    expect(api.objects.has("web")).toBe(true);
  });

  test("aborts open requests at the end of the term", async () => {
    const { clock, api, executor, term } = setUp();
    api.latency = 60_000;
    const running = executor.execute([deletion(api.put("web"))], term);
    await clock.advance("1s");
    term.end();
    await clock.settle();
    expect(await running).toMatchObject([{ ok: false, error: { message: "over" } }]);
    expect(clock.timers).toBe(0);
  });
});

test("completed harmful acts are counted for an hour, excluding deletions of pods that no kubelet has started", async () => {
  const { clock, api, executor, term } = setUp();
  const cause = { board: "pi-3", verdict: "dead", rule: "silent" };
  const asking = { by: "daemonset", since: clock.now(), moved: () => {} };
  await executor.execute([{ ...deletion(api.put("a")), cause }, deletion(api.put("b"))], term, asking);
  await executor.execute([{ ...deletion(api.put("new")), cause: { ...cause, isHarmless: true } }], term, asking);
  api.refuse = () => {
    throw refusal("delete", 500, "InternalError");
  };
  await executor.execute([{ ...deletion(api.put("c")), cause }], term, asking);
  const counted = () => executor.acts(clock.now()).filter(({ total }) => total > 0);
  expect(counted()).toEqual([{ act: "pod-replaced", lastHour: 1, total: 1 }]);
  await clock.advance("66m");
  expect(counted()).toEqual([{ act: "pod-replaced", lastHour: 0, total: 1 }]);
});

test("acts with grounds are recorded as done or failed, except for conflicts, which are decided again", async () => {
  const acted: [string, string | undefined][] = [];
  const decisions = { acted: (act: DecidedAct, error?: Error) => acted.push([act.on.name, error?.message]) };
  const { clock, api, executor, term } = setUp(4, { decisions });
  const asking = { by: "taint-eviction", since: clock.now(), moved: () => {} };
  const grounds: Grounds = { act: "pod-evicted", board: "pi-3", because: { kind: "reported" }, gate: {} };
  const evict = (name: string): Action => ({ ...deletion(api.put(name)), grounds });
  const outdated: Action = { ...patch(api.put("b"), {}), grounds };
  api.put("b");
  await executor.execute([evict("a"), deletion(api.put("c")), outdated], term, asking);
  expect(acted).toEqual([["a", undefined]]);
  api.refuse = ({ verb }) => {
    throw refusal(verb, 403, "Forbidden");
  };
  const marked = api.put("d");
  await executor.execute([patch(marked, {}), { ...deletion(marked), grounds }], term, asking);
  expect(acted.slice(1)).toEqual([["d", expect.stringContaining("earlier write")]]);
  term.end();
  await executor.execute([evict("e")], term, asking);
  expect(acted).toHaveLength(2);
});

test("an order that is over when the bytes would be sent sends nothing, and has no effect", async () => {
  const { api, executor, term } = setUp();
  const order = new AbortController();
  const target = api.put("web");
  const patchInApi = api.patch.bind(api);
  api.patch = async (...parameters) => {
    // The answer went out while the request waited for its connection.
    order.abort(new Error("answered"));
    return await patchInApi(...parameters);
  };
  const [outcome] = await executor.execute([patch(target, {})], term, { isOver: order.signal });
  expect(outcome).toMatchObject({ ok: false, error: { name: "OrderOverError" } });
  expect(api.requests).toEqual([]);
  expect(effectOf(outcome)).toBe("none");
});

describe("evictions that were frozen after they were decided", () => {
  const cause = { board: "pi-3", verdict: "unproven", rule: "silent" };
  const other = { ...cause, board: "pi-4" };

  test("are not sent, and the key is retried soon; other boards, and acts without a verdict, continue", async () => {
    const { api, executor, term } = setUp(4, { isFrozen: (board) => board === "pi-3" });
    const [a, b, c] = [api.put("a"), api.put("b"), api.put("c")];
    const outcomes = await executor.execute(
      [{ ...deletion(a), cause }, { ...deletion(b), cause: other }, deletion(c)],
      term,
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, true]);
    expect(outcomes[0]).toMatchObject({ error: { name: "FrozenError", disposition: "refresh" } });
    expect([...api.objects.keys()].some((key) => key.endsWith("a"))).toBe(true);
  });

  test("are not sent if the freeze begins while they are queued, either", async () => {
    let isFrozen = false;
    const { clock, api, executor, term } = setUp(1, { isFrozen: () => isFrozen });
    const [a, b] = [api.put("a"), api.put("b")];
    const work = executor.execute(
      [
        { ...deletion(a), cause },
        { ...deletion(b), cause },
      ],
      term,
    );
    isFrozen = true;
    await clock.advance("1m");
    expect((await work).filter(({ ok }) => ok).length).toBeLessThan(2);
    expect(api.objects.size).toBeGreaterThan(0);
  });

  test("are sent if an operator's command ordered them", async () => {
    const { api, executor, term } = setUp(4, { isFrozen: () => true });
    const ordered = { ...deletion(api.put("a")), cause: { ...cause, isOrdered: true as const } };
    expect(await executor.execute([ordered], term)).toMatchObject([{ ok: true }]);
  });

  const onTaint = (taint: string): Grounds => ({
    act: "pod-evicted",
    board: "pi-3",
    because: { kind: "taints", taints: [taint], toleratedMs: 0, ranMs: 0 },
    gate: { ready: "False" },
  });

  test.each([
    ["node.kubernetes.io/not-ready", false],
    ["ops/drain", true],
  ])("are not sent even if a kubelet's report is their reason: for %s, sent: %s", async (taint, isSent) => {
    const { api, executor, term } = setUp(4, { isFrozen: (board) => board === "pi-3" });
    const evict = (name: string, board: string): Action => ({
      ...deletion(api.put(name)),
      grounds: { ...onTaint(taint), board },
    });
    const outcomes = await executor.execute([evict("a", "pi-3"), evict("b", "pi-4")], term);
    expect(outcomes.map(({ ok }) => ok)).toEqual([isSent, true]);
  });

  test("are not prepared: a taint for a kubelet's report is not set, but one is removed, and conditions are written", async () => {
    const { api, executor, term } = setUp(4, { isFrozen: () => true });
    const node = (name: string) => ({ ...api.put(name), resource: nodes });
    const because = { kind: "reported" } as const;
    const tainted: Grounds = { act: "board-tainted", board: "pi-3", because, gate: { ready: "False" } };
    const outcomes = await executor.execute(
      [
        { ...patch(node("pi-3"), { spec: { taints: [{ key: "node.kubernetes.io/not-ready" }] } }), grounds: tainted },
        patch(node("pi-4"), { spec: { taints: [] } }),
        { ...patch(node("pi-5"), { status: {} }), grounds: { ...tainted, act: "board-marked" } },
      ],
      term,
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, true]);
    expect(outcomes[0]).toMatchObject({ error: { name: "FrozenError" } });
  });

  test("are not sent if the freeze begins while they wait for an API server that is busy", async () => {
    let isFrozen = false;
    const { clock, api, executor, term } = setUp(1, { isFrozen: () => isFrozen });
    api.latency = 30_000;
    const evictions = ["a", "b"].map((name) => ({
      ...deletion(api.put(name)),
      grounds: onTaint("node.kubernetes.io/not-ready"),
    }));
    const work = executor.execute(evictions, term);
    await clock.advance("1s");
    isFrozen = true;
    await clock.advance("1m");
    expect((await work).map(({ ok }) => ok)).toEqual([true, false]);
    expect([...api.objects.keys()]).toEqual(["b"]);
  });

  test("leave no mark on the pod and no Event, which would announce them", async () => {
    const { api, said, executor, term } = setUp(4, { isFrozen: () => true });
    const pod = api.put("a");
    const grounds = onTaint("node.kubernetes.io/not-ready");
    const event: Action = { do: "event", about: pod, severity: "Normal", reason: "TaintManagerEviction", message: "" };
    const outcomes = await executor.execute([event, patch(pod, { status: {} }), { ...deletion(pod), grounds }], term);
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, false]);
    expect(outcomes[2]).toMatchObject({ error: { name: "NotAttemptedError", disposition: "refresh" } });
    expect([api.requests, said]).toEqual([[], []]);
  });

  test("still permit what follows a deletion that was sent, and other writes to the same board", async () => {
    let isFrozen = false;
    const { api, said, executor, term } = setUp(4, { isFrozen: () => isFrozen });
    const pod = api.put("a");
    const moved = (): void => {
      isFrozen = true;
    };
    const event: Action = { do: "event", about: pod, severity: "Normal", reason: "Deleted", message: "" };
    const pass = { by: "taint-eviction", since: { mono: 0, wall: 0 }, moved };
    await executor.execute([{ ...deletion(pod), cause }, event], term, pass);
    expect(said).toHaveLength(1);
    const node = { ...api.put("pi-3"), resource: nodes };
    const outcomes = await executor.execute([patch(node, { status: {} }), { ...patch(node, {}), cause }], term, pass);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false]);
  });

  test("still permit marks, which do not evict any pod", async () => {
    const { api, executor, term } = setUp(4, { isFrozen: () => true });
    const mark = { ...patch(api.put("a"), { status: {} }), cause };
    expect(await executor.execute([mark], term)).toMatchObject([{ ok: true }]);
  });
});

describe("an act that a verdict permitted before an outage", () => {
  const cause = { board: "pi-3", verdict: "unproven", rule: "silent" };
  const observed: Instant = { mono: 1000, wall: 1000 };
  const asking = { by: "taint-eviction", since: observed, moved: () => {} };

  test("is not done after it, and the key is retried soon; acts without a verdict continue", async () => {
    const asked: Instant[] = [];
    const { api, executor, term } = setUp(4, {
      isOutdated: (since) => {
        asked.push(since);
        return true;
      },
    });
    const [a, b, c] = [api.put("a"), api.put("b"), api.put("c")];
    const mark = { ...patch(b, { status: {} }), cause };
    const outcomes = await executor.execute([{ ...deletion(a), cause }, mark, deletion(c)], term, asking);
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, true]);
    expect(outcomes[0]).toMatchObject({ error: { name: "OutdatedError", disposition: "refresh" } });
    expect(api.requests.map(({ name }) => name)).toEqual(["c"]);
    expect(asked).toEqual([observed, observed]);
  });

  test("is not done after it even if it only marks the board as silent", async () => {
    const { api, executor, term } = setUp(4, { isOutdated: () => true });
    const grounds: Grounds = { act: "board-marked", board: "pi-3", because: { kind: "silence" } as never, gate: {} };
    const mark = { ...patch(api.put("pi-3"), { status: {} }), grounds };
    expect(await executor.execute([mark], term, asking)).toMatchObject([{ error: { name: "OutdatedError" } }]);
    expect(api.requests).toEqual([]);
  });

  test.each([
    ["node.kubernetes.io/not-ready", false],
    ["ops/drain", true],
  ])("is done after it: an eviction for %s without a verdict: %s", async (taint, isDone) => {
    const { api, executor, term } = setUp(4, { isOutdated: () => true });
    const because = { kind: "taints", taints: [taint], toleratedMs: 0, ranMs: 0 } as const;
    const grounds: Grounds = { act: "pod-evicted", board: "pi-3", because, gate: { ready: "False" } };
    const [outcome] = await executor.execute([{ ...deletion(api.put("a")), grounds }], term, asking);
    expect(outcome?.ok).toBe(isDone);
  });

  test("leaves no mark on a pod whose eviction for a kubelet's report is not done", async () => {
    const { api, executor, term } = setUp(4, { isOutdated: () => true });
    const pod = api.put("a");
    const because = { kind: "taints", taints: ["node.kubernetes.io/not-ready"], toleratedMs: 0, ranMs: 0 } as const;
    const grounds: Grounds = { act: "pod-evicted", board: "pi-3", because, gate: { ready: "False" } };
    const outcomes = await executor.execute([patch(pod, {}), { ...deletion(pod), grounds }], term, asking);
    expect(outcomes).toMatchObject([{ error: { name: "OutdatedError" } }, { error: { disposition: "refresh" } }]);
    expect(api.requests).toEqual([]);
  });

  test("is not done if the outage begins while it is queued, either", async () => {
    let isOver = false;
    const { clock, api, executor, term } = setUp(1, { isOutdated: () => isOver });
    api.latency = 30_000;
    const harmful = ["a", "b"].map((name) => ({ ...deletion(api.put(name)), cause }));
    const work = executor.execute(harmful, term, asking);
    await clock.advance("1s");
    isOver = true;
    await clock.advance("1m");
    expect((await work).map(({ ok }) => ok)).toEqual([true, false]);
    expect([...api.objects.keys()]).toEqual(["b"]);
  });
});

test("once a board is back, no more of its pods are collected or marked as failed, although the pass goes on", async () => {
  let isBack = false;
  const { clock, api, executor, term } = setUp(1, { isBack: ({ board }) => isBack && board === "pi-3" });
  api.latency = 30_000;
  const collected = (name: string, board: string) => {
    const pod = api.put(name);
    const grounds: Grounds = { act: "pod-collected", board, because: { kind: "out-of-service" }, gate: {} };
    return [patch(pod, { status: { phase: "Failed" } }), { ...deletion(pod), grounds }];
  };
  const pods = [...collected("a", "pi-3"), ...collected("b", "pi-3"), ...collected("c", "pi-4")];
  const work = executor.execute(pods, term, { by: "pod-gc", since: clock.now(), moved: () => {} });
  await clock.advance("45s");
  isBack = true;
  await clock.advance("5m");
  expect((await work).map(({ ok }) => ok)).toEqual([true, true, false, false, true, true]);
  expect([...api.objects.keys()]).toEqual(["b"]);
});

test("a controller that is paused sends nothing more of a running pass, except the deletion of a pod that it marked as failed", async () => {
  let [isPaused, isBack] = [false, false];
  const asked = { isPaused: (controller: string) => isPaused && controller === "pod-gc", isBack: () => isBack };
  const { clock, api, executor, term } = setUp(1, asked);
  api.latency = 30_000;
  const actions = ["a", "b", "c"].flatMap((name) => {
    const pod = api.put(name);
    const grounds: Grounds = { act: "pod-collected", board: "pi-3", because: { kind: "node-deleted" }, gate: {} };
    return [patch(pod, { status: { phase: "Failed" } }), { ...deletion(pod), grounds }];
  });
  const work = executor.execute(actions, term, { by: "pod-gc", since: clock.now(), moved: () => {} });
  const other = executor.execute([patch(api.put("d"), {})], term, {
    by: "daemonset",
    since: clock.now(),
    moved: () => {},
  });
  await clock.advance("10s");
  // The mark of the first pod is under way.
  isPaused = isBack = true;
  await clock.advance("5m");
  expect((await work).map(({ ok }) => ok)).toEqual([true, true, false, false, false, false]);
  expect((await other).map(({ ok }) => ok)).toEqual([true]);
  expect([...api.objects.keys()]).toEqual(["b", "c", "d"]);
});

describe("a pass whose patience ends", () => {
  const asking = { by: "judge", since: { mono: 0, wall: 0 }, moved: () => {}, patience: 100 };

  test("postpones the writes that had not begun, and continues those that were sent", async () => {
    const { clock, api, executor, term } = setUp(1);
    api.latency = 150;
    const running = executor.execute(
      [patch(api.put("a"), {}), patch(api.put("b"), {}), patch(api.put("c"), {})],
      term,
      asking,
    );
    await clock.advance("1s");
    const outcomes = await running;
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, false]);
    expect(outcomes.filter((outcome) => !outcome.ok && isPostponed(outcome.error))).toHaveLength(2);
    expect(api.requests).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  test("still sends its Events, except those about writes that did not happen", async () => {
    const { clock, api, said, executor, term } = setUp(1);
    api.latency = 150;
    const [a, b] = [api.put("a"), api.put("b")];
    const about = (target: typeof a, reason: string) =>
      ({ do: "event", about: target, severity: "Normal", reason, message: "" }) as const;
    const actions = [patch(a, {}), about(b, "Before"), patch(b, {}), about(b, "After")];
    const running = executor.execute(actions, term, asking);
    await clock.advance("1s");
    expect((await running).map((outcome) => outcome.ok || isPostponed(outcome.error))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(said.map(({ reason }) => reason)).toEqual(["Before"]);
  });

  test("is fenced, and not postponed, if its term ends first", async () => {
    const { clock, api, executor, term } = setUp(1);
    api.latency = 50;
    const running = executor.execute([patch(api.put("a"), {}), patch(api.put("b"), {})], term, asking);
    await clock.advance("10ms");
    term.end();
    await clock.advance("1s");
    expect((await running).flatMap((outcome) => (outcome.ok ? [] : [isPostponed(outcome.error)]))).toEqual([
      false,
      false,
    ]);
  });
});

describe("the safety valve", () => {
  const cause = { board: "pi-3", verdict: "unproven", rule: "silent" };
  const acting = (by: string) => ({ by, since: { mono: 0, wall: 0 }, moved: () => {} });

  /** A valve that admits as many acts as it has room for, and remembers their effects. */
  class Valve implements SafetyValve {
    readonly effects: string[] = [];
    room = 1;

    readonly namespaces: (string | undefined)[] = [];

    async admit(act: string, namespace: string | undefined): Promise<(effect: string) => void> {
      if (this.room === 0) throw new PostponedError("the valve is shut");
      this.room--;
      this.namespaces.push(namespace);
      return (effect) => void this.effects.push(`${act}: ${effect}`);
    }
  }

  test("admits deletions and taints that a verdict caused, each by the name of its act and object", async () => {
    const valve = new Valve();
    valve.room = 9;
    const { api, executor, term } = setUp(1, { valve });
    const node = { ...api.put("pi-3"), resource: nodes };
    const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
    const tainting: Action = { do: "patch", target: node, type: "merge", patch: { spec: { taints: [taint] } }, cause };
    await executor.execute([tainting], term, acting("node-lifecycle"));
    for (const by of ["taint-eviction", "pod-gc", "daemonset"]) {
      await executor.execute([{ ...deletion(api.put(`of-${by}`)), cause }], term, acting(by));
    }
    expect(valve.effects).toEqual([
      "node-lifecycle patch uid-pi-3: done",
      "taint-eviction delete uid-of-taint-eviction: done",
      "pod-gc delete uid-of-pod-gc: done",
      "daemonset delete uid-of-daemonset: done",
    ]);
    expect(valve.namespaces).toEqual([undefined, "default", "default", "default"]);
  });

  test("lets an act that the Lease counts be sent, even if that took longer than the patience of its pass", async () => {
    const clock = new FakeClock();
    const valve: SafetyValve = {
      admit: async () => {
        await sleep(clock, 5000, new AbortController().signal);
        return () => {};
      },
    };
    const { api, executor, term } = setUp(1, { valve }, clock);
    const pass = { ...acting("taint-eviction"), patience: 4000 };
    const running = executor.execute([{ ...deletion(api.put("a")), cause }], term, pass);
    await clock.advance("10s");
    expect((await running).map(({ ok }) => ok)).toEqual([true]);
  });

  test("is not consulted about acts without a verdict, acts ordered by an operator, or acts that a heartbeat takes back", async () => {
    const valve = new Valve();
    valve.room = 0;
    const { api, executor, term } = setUp(1, { valve });
    const dead = { ...cause, verdict: "dead" };
    const outcomes = [
      await executor.execute([deletion(api.put("a"))], term, acting("taint-eviction")),
      await executor.execute([{ ...deletion(api.put("b")), cause: dead }], term, acting("taint-eviction")),
      await executor.execute(
        [{ ...deletion(api.put("new")), cause: { ...cause, isHarmless: true } }],
        term,
        acting("pod-gc"),
      ),
      await executor.execute([{ ...patch(api.put("c"), {}), cause }], term, acting("node-lifecycle")),
      await executor.execute(
        [{ ...patch({ ...api.put("d"), resource: endpointSlices }, {}), cause }],
        term,
        acting("endpoint-slice"),
      ),
    ];
    expect(outcomes.flat().map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
  });

  test("holds an act with all that prepares and reports it, does not record a failure, and lets acts on other objects continue", async () => {
    const valve = new Valve();
    const acted: string[] = [];
    const decisions = { acted: ({ on }: DecidedAct, error?: Error) => acted.push(`${on.name} ${error?.message}`) };
    const { api, said, executor, term } = setUp(1, { valve, decisions });
    const because = { kind: "taints", taints: ["unreachable"], toleratedMs: 0, ranMs: 0 } as const;
    const eviction = (name: string): readonly Action[] => {
      const target = api.put(name);
      return [
        { do: "event", about: target, severity: "Normal", reason: "TaintManagerEviction", message: name },
        { ...patch(target, { status: {} }), cause },
        { ...deletion(target), cause, grounds: { act: "pod-evicted", board: "pi-3", because, gate: {} } },
      ];
    };
    const actions = [...eviction("a"), ...eviction("b"), ...eviction("c"), patch(api.put("d"), {})];
    const outcomes = await executor.execute(actions, term, acting("taint-eviction"));
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true, false, false, false, false, false, false, true]);
    expect(outcomes.every((outcome) => outcome.ok || isPostponed(outcome.error))).toBe(true);
    expect(api.requests.map(({ verb, name }) => `${verb} ${name}`)).toEqual(["patch a", "delete a", "patch d"]);
    expect(said.map(({ message }) => message)).toEqual(["a"]);
    expect(acted).toEqual(["a undefined"]);
  });

  test.each([
    ["a conflict", refusal("delete", 409, "Conflict"), "none"],
    ["a missing permission", refusal("delete", 403, "Forbidden"), "none"],
    ["too many requests", refusal("delete", 429, "TooManyRequests"), "none"],
    ["an error of the server", refusal("delete", 500, "InternalError"), "uncertain"],
    ["no answer", refusal("delete", 0, "Timeout"), "uncertain"],
    ["an error of another kind", new Error("the connection broke"), "uncertain"],
    ["the end of the term before it was sent", new FencedError("over"), "none"],
    ["the end of its pass before it was sent", new PostponedError("no time left"), "none"],
  ])("learns what %s means for an act", async (_, error, effect) => {
    const valve = new Valve();
    const { api, executor, term } = setUp(1, { valve });
    api.refuse = () => {
      throw error;
    };
    await executor.execute([{ ...deletion(api.put("a")), cause }], term, acting("taint-eviction"));
    expect(valve.effects).toEqual([`taint-eviction delete uid-a: ${effect}`]);
  });

  test.each([
    ["a server error and a conflict, which may be with our own write", [504, 409], "uncertain"],
    ["a server error, and the board is frozen before it is sent again", [503, "frozen"], "uncertain"],
    ["too many requests and a conflict", [429, 409], "none"],
  ] as const)("learns what it means if an act that the client repeats gets %s", async (_, [first, then], effect) => {
    const clock = new FakeClock();
    const ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
    const valve = new Valve();
    let sent = 0;
    const transport = async ({ guard }: HttpRequest): Promise<HttpResponse> => {
      guard?.();
      const code = sent++ === 0 ? first : then;
      const body = Buffer.from(JSON.stringify({ kind: "Status", reason: code === 409 ? "Conflict" : "", code }));
      return { status: Number(code), headers: sent === 1 ? { "retry-after": "1" } : {}, body: chunks(body) };
    };
    const client = new KubeClient(ambient, {
      transport,
      traffic: new Traffic(),
      limiter: { take: async () => {} },
      timeouts: { read: 1000, list: 1000, watch: 1000, write: 1000 },
      userAgent: "siteward/1",
    });
    const executor = new Executor(ambient, {
      client,
      events: { record: () => {} },
      inflight: 1,
      valve,
      isFrozen: () => sent > 0 && then === "frozen",
    });
    const target = { resource: nodes, namespace: undefined, name: "pi-3", uid: "u", resourceVersion: "1" };
    const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
    const tainting: Action = { do: "patch", target, type: "merge", patch: { spec: { taints: [taint] } }, cause };
    const running = executor.execute([tainting], new TestTerm(), acting("node-lifecycle"));
    await clock.advance("5s");
    expect(await running).toMatchObject([{ ok: false }]);
    expect(valve.effects).toEqual([`node-lifecycle patch u: ${effect}`]);
  });

  test("learns that an act has no effect if its preparation failed, whether or not that was sent", async () => {
    const valve = new Valve();
    const { api, executor, term } = setUp(1, { valve });
    api.refuse = () => {
      throw refusal("patch", 500, "InternalError");
    };
    const target = api.put("a");
    const actions: Action[] = [
      { ...patch(target, { status: {} }), cause },
      { ...deletion(target), cause },
    ];
    await executor.execute(actions, term, acting("taint-eviction"));
    expect(valve.effects).toEqual(["taint-eviction delete uid-a: none"]);
  });

  test("is not consulted by a leader whose term has ended", async () => {
    const valve = new Valve();
    const { api, executor, term } = setUp(1, { valve });
    term.end();
    await executor.execute([{ ...deletion(api.put("a")), cause }], term, acting("taint-eviction"));
    expect(valve.room).toBe(1);
  });
});
