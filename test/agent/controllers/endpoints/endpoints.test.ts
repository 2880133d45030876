import { describe, expect, test } from "vitest";
import type { Endpoints } from "../../../../agent/api/core.ts";
import { endpoints as resource } from "../../../../agent/api/resources.ts";
import { decide, decideAfterWrites, type EndpointsState } from "../../../../agent/controllers/endpoints/decide.ts";
import { noMemory } from "../../../../agent/controllers/endpoints/memory.ts";
import type { SilentBoards } from "../../../../agent/controllers/service/readiness.ts";
import type { Action, Outcome } from "../../../../agent/execution/actions.ts";
import { at, clear, service, silent, webPod, written } from "../service/objects.ts";

const state = (
  pods: readonly ReturnType<typeof webPod>[],
  endpoints: Endpoints | undefined,
  silence: SilentBoards = clear,
): EndpointsState => ({ kind: "selected", service: service(), pods, endpoints, silence });

/** The addresses of a write, by the names of the pods. */
function addressesIn(actions: readonly Action[]): { readonly ready: string; readonly notReady: string } | undefined {
  const [action] = actions;
  const body = action?.do === "patch" ? action.patch : action?.do === "create" ? action.object : undefined;
  if (body === undefined) return undefined;
  const { subsets = [] } = body as Pick<Endpoints, "subsets">;
  const names = (list: "addresses" | "notReadyAddresses") =>
    subsets.flatMap((subset) => (subset[list] ?? []).map(({ targetRef }) => targetRef?.name)).join();
  return { ready: names("addresses"), notReady: names("notReadyAddresses") };
}

describe("when a board falls silent and its pods are marked not ready", () => {
  const pods = [webPod("a", { ready: false }), webPod("b", { on: "pi-2" })];

  test("their endpoints stay ready while the board's state is unknown, and are checked again", () => {
    for (const silence of [silent("unknown"), silent("cut-off"), silent("dead", "in quarantine")]) {
      const { actions, requeueAfter } = decide(state(pods, written(["a", "b@pi-2"]), silence), noMemory);
      expect(actions).toEqual([]);
      expect(requeueAfter).toBe(5000);
    }
  });

  test("in the meantime a new pod is added, and a pod that its kubelet reports unready is removed", () => {
    const more = [...pods, webPod("c", { on: "pi-2" }), webPod("d", { on: "pi-2", ready: false })];
    const { actions } = decide(state(more, written(["a", "b@pi-2", "d@pi-2"]), silent("unknown")), noMemory);
    expect(addressesIn(actions)).toEqual({ ready: "a,b,c", notReady: "d" });
    expect(actions[0]?.cause).toBeUndefined();
  });

  test("they become unready once the board is proven silent, and the write names the cause", () => {
    const { actions, requeueAfter } = decide(state(pods, written(["a", "b@pi-2"]), silent("unproven")), noMemory);
    expect(addressesIn(actions)).toEqual({ ready: "b", notReady: "a" });
    expect(actions[0]?.cause).toEqual({ board: "pi-1", verdict: "unproven", rule: "as the test says" });
    expect(requeueAfter).toBeUndefined();
  });

  test("a pod that was not ready before is not added, and a deleted one is removed", () => {
    expect(decide(state(pods, written(["b@pi-2"], ["a"]), silent("unknown")), noMemory).actions).toEqual([]);
    const leaving = [webPod("a", { ready: false, terminating: true }), webPod("b", { on: "pi-2" })];
    const { actions } = decide(state(leaving, written(["a", "b@pi-2"]), silent("unknown")), noMemory);
    expect(addressesIn(actions)).toEqual({ ready: "b", notReady: "" });
  });

  test("a service that publishes all of its pods keeps them regardless of the verdict, and no harmful act is counted", () => {
    const all = service({ publishNotReadyAddresses: true });
    for (const silence of [silent("unknown"), silent("dead")]) {
      const wanting = { ...state(pods, written(["a", "b@pi-2"]), silence), service: all };
      expect(decide(wanting, noMemory)).toMatchObject({ actions: [] });
      expect(decide(wanting, noMemory).requeueAfter).toBeUndefined();
    }
  });

  test("when its pods are deleted by force, their endpoints are removed even during an outage", () => {
    const { actions } = decide(
      state([webPod("b", { on: "pi-2" })], written(["a", "b@pi-2"]), silent("unknown")),
      noMemory,
    );
    expect(addressesIn(actions)).toEqual({ ready: "b", notReady: "" });
  });
});

describe("the trigger time", () => {
  const first = decide(state([webPod("a")], undefined), noMemory);
  const [create] = first.actions;
  if (create?.do !== "create") throw new Error("nothing was created");
  const made = written(["a"], [], "12");

  test("is not written a second time while the cache lacks it", () => {
    const { memory, actions } = decideAfterWrites(first, [{ action: create, ok: true, object: made }], at(1));
    expect(actions).toEqual([]);
    expect([...memory.expected.keys()]).toEqual(["uid-endpoints"]);
    const waiting = decide({ kind: "behind", expected: memory.expected }, memory);
    expect(waiting.actions).toEqual([]);
    expect(waiting.requeueAfter).toBe(50);
    expect(decide({ kind: "behind", expected: memory.expected }, waiting.memory).requeueAfter).toBe(100);
  });

  test("is reported again if the write failed", () => {
    const failed: Outcome = { action: create, ok: false, error: new Error("no answer") };
    const { memory } = decideAfterWrites(first, [failed], at(1));
    expect(memory.reported).toBeUndefined();
    const again = decide(state([webPod("a")], undefined), memory);
    expect(again.actions).toEqual(first.actions);
    const { memory: done } = decideAfterWrites(again, [{ action: create, ok: true, object: made }], at(2));
    expect(done.reported?.service).toBe("2026-01-01T00:00:00Z");
  });

  test("a refusal by the API is reported in an Event, but a conflict is not", () => {
    const refused = Object.assign(new Error("refused: Invalid"), { status: 422, disposition: "drop" });
    const [event] = decideAfterWrites(first, [{ action: create, ok: false, error: refused }], at(1)).actions;
    expect(event).toMatchObject({ do: "event", severity: "Warning", reason: "FailedToCreateEndpoint" });
    const faster = Object.assign(new Error("refused: AlreadyExists"), { status: 409, disposition: "refresh" });
    expect(decideAfterWrites(first, [{ action: create, ok: false, error: faster }], at(1)).actions).toEqual([]);
    const ending = Object.assign(new Error("forbidden"), { status: 403, causes: [{ reason: "NamespaceTerminating" }] });
    expect(decideAfterWrites(first, [{ action: create, ok: false, error: ending }], at(1)).actions).toEqual([]);
  });

  test("an update keeps the fields of other writers, requires the version that was read, and removes outdated fields", () => {
    const cached: Endpoints = {
      ...written(["a"], [], "9"),
      metadata: {
        ...written([]).metadata,
        resourceVersion: "9",
        labels: { old: "x" },
        annotations: { note: "kept", "endpoints.kubernetes.io/over-capacity": "truncated" },
      },
    };
    const [patch] = decide(state([webPod("a")], cached), {
      ...noMemory,
      reported: { service: "2026-01-01T00:00:00Z", pods: new Map([["a", "2026-01-01T00:00:00Z"]]) },
    }).actions;
    expect(patch).toMatchObject({
      do: "patch",
      type: "merge",
      target: { resource, uid: "uid-endpoints", resourceVersion: "9" },
      patch: {
        metadata: {
          labels: { old: null, "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
          annotations: { "endpoints.kubernetes.io/over-capacity": null },
        },
      },
    });
  });
});

test("the Endpoints of a deleted service are deleted, unless they have been written since they were read", () => {
  const [action] = decide({ kind: "gone", endpoints: written(["a"]) }, noMemory).actions;
  expect(action).toEqual({
    do: "delete",
    target: { resource, namespace: "default", name: "web", uid: "uid-endpoints", resourceVersion: "7" },
  });
});

test("a service whose endpoints another writer manages is left alone", () => {
  expect(decide({ kind: "foreign" }, noMemory)).toEqual({ actions: [], memory: noMemory });
});
