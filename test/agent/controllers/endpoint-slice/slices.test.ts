import { describe, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../agent/api/core.ts";
import { decide, decideAfterWrites, type SlicesState } from "../../../../agent/controllers/endpoint-slice/decide.ts";
import type { SilentBoards } from "../../../../agent/controllers/service/readiness.ts";
import { noMemory, type SliceMemory } from "../../../../agent/controllers/slices/memory.ts";
import type { Action, Outcome } from "../../../../agent/execution/actions.ts";
import type { Decision } from "../../../../agent/loop/controller.ts";
import { at, clear, endpoint, service, silent, slice, webPod } from "../service/objects.ts";

const state = (
  pods: readonly ReturnType<typeof webPod>[],
  slices: readonly EndpointSlice[],
  silence: SilentBoards = clear,
  boards: readonly string[] = ["pi-1", "pi-2"],
): SlicesState => ({
  kind: "selected",
  service: service(),
  pods,
  slices,
  shares: "not asked",
  zones: new Map(boards.map((board) => [board, undefined])),
  silence,
});

/** "a" ready, "-a" not, "~a" on its way out. */
const endpointsIn = (action: Action | undefined): string => {
  const body = action?.do === "patch" ? action.patch : action?.do === "create" ? action.object : {};
  const { endpoints = [] } = body as Pick<EndpointSlice, "endpoints">;
  return (endpoints ?? [])
    .map(
      ({ conditions, targetRef }) =>
        `${conditions?.terminating ? "~" : conditions?.ready ? "" : "-"}${targetRef?.name}`,
    )
    .join();
};

const wrote = (actions: readonly Action[]): readonly Outcome[] =>
  actions.map((action, index) => ({
    action,
    ok: true,
    object: slice(action.do === "patch" ? action.target.name : `new-${index}`, [], {
      metadata: { resourceVersion: "20" },
    }),
  }));

describe("when a board falls silent and its pods are marked not ready", () => {
  const pods = [webPod("a", { ready: false }), webPod("b", { on: "pi-2" })];
  const ready = [slice("s", [endpoint("a"), { ...endpoint("b"), nodeName: "pi-2" }])];

  test("their endpoints stay ready while the board's state is unknown, and are checked again", () => {
    for (const silence of [silent("unknown"), silent("cut-off"), silent("unproven", "blind")]) {
      const { actions, requeueAfter } = decide(state(pods, ready, silence), noMemory, 100, at(0));
      expect(actions).toEqual([]);
      expect(requeueAfter).toBe(5000);
    }
  });

  test("all other updates continue in the meantime", () => {
    const more = [...pods, webPod("c", { on: "pi-2" })];
    const { actions } = decide(state(more, ready, silent("unknown")), noMemory, 100, at(0));
    expect(actions.map(endpointsIn)).toEqual(["a,b,c"]);
  });

  test("they become unready once the board is proven silent, and the write names the cause", () => {
    const { actions } = decide(state(pods, ready, silent("dead")), noMemory, 100, at(0));
    expect(actions.map(endpointsIn)).toEqual(["-a,b"]);
    expect(actions[0]?.cause).toMatchObject({ board: "pi-1", verdict: "dead" });
  });

  test("a deleted pod is shown as terminating, even during an outage", () => {
    const leaving = [webPod("a", { ready: false, terminating: true }), webPod("b", { on: "pi-2" })];
    const { actions } = decide(state(leaving, ready, silent("unknown")), noMemory, 100, at(0));
    expect(actions.map(endpointsIn)).toEqual(["~a,b"]);
  });
});

describe("the writes of one decision", () => {
  // p and q move into new slices of another port; the old ones are two, and one of them is left over.
  const pods = ["a", "b", "c"].map((name) => webPod(name));
  const stranger = slice("theirs", [endpoint("x")], { metadata: { ownerReferences: [] } });
  const old = slice("old", [endpoint("a"), endpoint("z")]);
  const first = decide(state(pods, [stranger, old]), noMemory, 2, at(0));

  const kinds = (decision: Decision<SliceMemory>): string => decision.actions.map((action) => action.do).join();

  test("are made in this order: creations, updates, deletions", () => {
    expect(kinds(first)).toBe("create");
    const second = decideAfterWrites(first, wrote(first.actions), at(0));
    expect(kinds(second)).toBe("patch");
    const third = decideAfterWrites(second, wrote(second.actions), at(0));
    expect(kinds(third)).toBe("delete");
    const last = decideAfterWrites(third, wrote(third.actions), at(0));
    expect(last.actions).toEqual([]);
    expect([...last.memory.expected.keys()].sort()).toEqual(["uid-new-0", "uid-old", "uid-theirs"]);
    expect(last.memory.reported?.service).toBe("2026-01-01T00:00:00Z");
  });

  test("stop when one part fails, so that no endpoint leaves a slice before it is in another", () => {
    const [action] = first.actions;
    if (action === undefined) throw new Error("nothing was decided");
    const refused = Object.assign(new Error("refused: Invalid"), { status: 422, disposition: "drop" });
    const next = decideAfterWrites(first, [{ action, ok: false, error: refused }], at(0));
    expect(next.actions).toMatchObject([
      { do: "event", reason: "FailedToUpdateEndpointSlices", about: { name: "web" } },
    ]);
    expect(next.memory).toMatchObject({ reported: undefined, parts: [] });
    expect(decideAfterWrites(next, wrote(next.actions), at(0)).actions).toEqual([]);
  });
});

describe("a pod whose board has no Node", () => {
  const pods = [webPod("a"), webPod("b", { on: "pi-2" })];
  const look = (memory: SliceMemory, seconds: number, boards = ["pi-2"]) =>
    decide(
      state(pods, [slice("s", [{ ...endpoint("b"), nodeName: "pi-2" }])], clear, boards),
      memory,
      100,
      at(seconds),
    );

  test("is left out, gets one Event, and is checked again after one, two and four seconds", () => {
    const first = look(noMemory, 0);
    expect(first.actions).toMatchObject([
      {
        do: "event",
        message:
          "Error updating Endpoint Slices for Service default/web: skipping Pod a for Service default/web: Node pi-1 Not Found",
      },
    ]);
    expect(first.requeueAfter).toBe(1000);
    const early = look(first.memory, 0.4);
    expect(early.actions).toEqual([]);
    expect(early.requeueAfter).toBe(600);
    const second = look(early.memory, 1);
    expect([second.actions.length, second.requeueAfter]).toEqual([1, 2000]);
    expect(look(second.memory, 3).requeueAfter).toBe(4000);
  });

  test("is added as soon as its board has one, and its backoff starts again the next time", () => {
    const there = look(look(noMemory, 0).memory, 5, ["pi-1", "pi-2"]);
    expect(endpointsIn(there.actions[0])).toBe("b,a");
    expect(there.requeueAfter).toBeUndefined();
    expect(look(there.memory, 6).requeueAfter).toBe(1000);
  });
});

test("no decision is made while the cache lacks our writes, and the key is retried with backoff", () => {
  const expected = new Map([["uid-s", { key: "default/s", version: "9", at: at(0) }]]);
  let memory = noMemory;
  const waits = Array.from({ length: 8 }, () => {
    const decision = decide({ kind: "behind", expected }, memory, 100, at(0));
    expect(decision.actions).toEqual([]);
    ({ memory } = decision);
    return decision.requeueAfter;
  });
  expect(waits).toEqual([50, 100, 200, 400, 800, 1600, 2000, 2000]);
});

test("a reused slice requires the version that was read, and does not keep any of its content", () => {
  const before = slice("s", [endpoint("x")], {
    ports: [{ name: "old", port: 1, protocol: "TCP" }],
    metadata: { annotations: { note: "old" }, labels: { stale: "x", "kubernetes.io/service-name": "web" } },
  });
  const [patch] = decide(state([webPod("a")], [before]), noMemory, 100, at(0)).actions;
  expect(patch).toMatchObject({
    do: "patch",
    type: "merge",
    target: { name: "s", uid: "uid-s", resourceVersion: "5" },
    patch: {
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      metadata: { annotations: { note: null }, labels: { stale: null } },
    },
  });
});
