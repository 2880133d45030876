import { expect, test } from "vitest";
import type { Node } from "../../../agent/api/core.ts";
import { isBoardBack } from "../../../agent/controllers/board-verdicts.ts";
import { takeOutOfService } from "../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import type { Grounds } from "../../../agent/decisions/grounds.ts";
import { lease, node } from "../../support/builders.ts";

const seven = lease("pi-3", "7");
const now = { mono: 0, wall: 0 };
const silent = { conditions: { Ready: "Unknown" } };
const outOfService = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

const collected = (kind: "node-deleted" | "out-of-service"): Grounds => ({
  ...{ act: "pod-collected", board: "pi-3", because: { kind }, gate: {} },
});

/** Confirmed dead after the Lease that it had in version 7. */
function confirmed(): Node {
  const before = node("pi-3", silent);
  const action = takeOutOfService(before, seven, { by: "ops:jo" }, now);
  const { metadata, spec } = "patch" in action ? (action.patch as Pick<Node, "metadata" | "spec">) : before;
  return { ...before, metadata: { ...before.metadata, ...metadata }, ...(spec && { spec }) };
}

/** The confirmed board, after its kubelet removed the mark. */
const unmarked = (): Node => ({ ...confirmed(), metadata: node("pi-3").metadata });

/** The confirmed board, after an administrator set the taint by hand in place of ours. */
const retainted = (): Node => ({ ...confirmed(), spec: { taints: [outOfService] } });

test.each<[string, "node-deleted" | "out-of-service", Node | undefined, string, boolean]>([
  ["has a Node again", "node-deleted", node("pi-3"), "7", true],
  ["has no Node", "node-deleted", undefined, "7", false],
  ["has no Node any more", "out-of-service", undefined, "7", false],
  ["has lost the taint", "out-of-service", node("pi-3", silent), "7", true],
  ["is ready", "out-of-service", node("pi-3", { taints: [outOfService] }), "7", true],
  ["has a taint that others set", "out-of-service", node("pi-3", { ...silent, taints: [outOfService] }), "8", false],
  ["has such a taint in place of ours", "out-of-service", retainted(), "8", false],
  ["has lost the mark beside our taint", "out-of-service", unmarked(), "7", true],
  ["has been silent since the confirmation", "out-of-service", confirmed(), "7", false],
  ["has renewed its Lease since the confirmation", "out-of-service", confirmed(), "8", true],
])("a board that %s (%s)", (_, kind, now, version, isBack) => {
  expect(isBoardBack(collected(kind), now, lease("pi-3", version))).toBe(isBack);
});

const evicted = (taints: readonly string[], gate: Grounds["gate"] = {}): Grounds => ({
  ...{ act: "pod-evicted", board: "pi-3", because: { kind: "taints", taints, toleratedMs: 0, ranMs: 0 }, gate },
});
const [unreachable, byHand] = ["node.kubernetes.io/unreachable", "example.com/maintenance"];

test.each<[string, Grounds, Node, string, boolean]>([
  ["is silent", evicted([unreachable]), node("pi-3", silent), "7", false],
  ["is ready", evicted([unreachable]), node("pi-3"), "7", true],
  ["is ready, under policy kubernetes", evicted([unreachable], { policy: "kubernetes" }), node("pi-3"), "7", false],
  ["is ready, and has a taint that others set", evicted([unreachable, byHand]), node("pi-3"), "7", false],
  [
    "has been silent since it was confirmed dead",
    evicted([outOfService.key], { confirmed: "silent" }),
    confirmed(),
    "7",
    false,
  ],
  ["has renewed its Lease since then", evicted([outOfService.key], { confirmed: "silent" }), confirmed(), "8", true],
  ["has lost the taint of that", evicted([outOfService.key], { confirmed: "silent" }), node("pi-3", silent), "7", true],
  ["has lost the mark of that", evicted([outOfService.key], { confirmed: "silent" }), unmarked(), "7", true],
])("a board whose pod is evicted, and that %s", (_, grounds, now, version, isBack) => {
  expect(isBoardBack(grounds, now, lease("pi-3", version))).toBe(isBack);
});
