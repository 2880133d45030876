import { expect, test } from "vitest";
import { endpointSlices, nodes, pods } from "../../../agent/api/resources.ts";
import { notReady, unreachable } from "../../../agent/api/taints.ts";
import { actOf } from "../../../agent/execution/act-counts.ts";
import type { Action, EventAction } from "../../../agent/execution/actions.ts";

const cause = { board: "pi-3", verdict: "unproven", rule: "silent" };
const pod = { resource: pods, namespace: "default", name: "web", uid: "1" };
const node = { resource: nodes, namespace: undefined, name: "pi-3", uid: "2" };
const slice = { resource: endpointSlices, namespace: "default", name: "web-1", uid: "3" };
const patch = (target: typeof pod | typeof node | typeof slice, patch: object, more: object = {}) =>
  ({ do: "patch", target, type: "strategic", patch, ...more }) as const;

test.each<[string, string | undefined, Exclude<Action, EventAction>, string | undefined]>([
  [
    "a taint that the site's judge adds",
    "node-lifecycle",
    patch(node, { spec: { taints: [unreachable] } }, { cause }),
    "board-tainted",
  ],
  [
    "a taint for a board's own report",
    "node-lifecycle",
    patch(node, { spec: { taints: [notReady] } }),
    "board-tainted",
  ],
  [
    "a taint that is removed",
    "node-lifecycle",
    patch(node, { spec: { taints: [{ key: "a", effect: "NoExecute" }] } }),
    undefined,
  ],
  ["a NoSchedule taint", "node-taints", patch(node, { spec: { taints: [unreachable] } }), undefined],
  ["Ready=Unknown", "node-lifecycle", patch(node, { status: {} }, { subresource: "status" }), "board-marked"],
  ["a pod of a silent board", "node-lifecycle", patch(pod, { status: {} }, { cause }), "pod-marked"],
  ["a pod that arrived on a silent board", "pod-readiness", patch(pod, { status: {} }, { cause }), "pod-marked"],
  ["the condition that precedes an eviction", "taint-eviction", patch(pod, { status: {} }, { cause }), undefined],
  ["an eviction that silence caused", "taint-eviction", { do: "delete", target: pod, cause }, "pod-evicted"],
  ["an eviction that an operator's taint caused", "taint-eviction", { do: "delete", target: pod }, "pod-evicted"],
  ["a pod of a board that was deleted", "pod-gc", { do: "delete", target: pod, cause }, "pod-collected"],
  ["a pod that had ended", "pod-gc", { do: "delete", target: pod }, undefined],
  ["a daemon pod on a silent board", "daemonset", { do: "delete", target: pod, cause }, "pod-replaced"],
  ["a daemon pod of an old version", "daemonset", { do: "delete", target: pod }, undefined],
  ["endpoints of a silent board", "endpoint-slice", patch(slice, { endpoints: [] }, { cause }), "endpoints-withdrawn"],
  ["endpoints that changed", "endpoint-slice", patch(slice, { endpoints: [] }), undefined],
  ["an operator's drain", undefined, { do: "evict", target: pod }, undefined],
])("%s has its own counter", (_what, by, action, act) => {
  expect(actOf(action, by)).toBe(act);
});
