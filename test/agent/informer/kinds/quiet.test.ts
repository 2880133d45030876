import { expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import { isLeaseRenewal, isNodeHeartbeat } from "../../../../agent/informer/kinds/quiet.ts";
import { trimLease, trimNode } from "../../../../agent/informer/kinds/trim.ts";
import { lease, node } from "../objects.ts";

const version = <T extends { readonly metadata: object }>(object: T, resourceVersion: string): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});

const stored = trimNode(node("pi-3"));
const beat = version(trimNode(node("pi-3", { heartbeat: "2026-01-01T00:05:00Z" })), "8");

test("a Node with only a new heartbeat is quiet", () => {
  expect(isNodeHeartbeat(stored, beat)).toBe(true);
  expect(isNodeHeartbeat(stored, stored)).toBe(true);
});

const changes: readonly [what: string, changed: Node][] = [
  ["a condition changes", { ...beat, status: { conditions: [{ type: "Ready", status: "False" }] } }],
  [
    "a condition appears",
    { ...beat, status: { conditions: [...(beat.status?.conditions ?? []), { type: "X", status: "True" }] } },
  ],
  ["the conditions disappear", { ...beat, status: {} }],
  ["a taint appears", { ...beat, spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }],
  ["it is cordoned", { ...beat, spec: { unschedulable: true } }],
  ["a label appears", { ...beat, metadata: { ...beat.metadata, labels: { resourceVersion: "1" } } }],
  [
    "an address appears",
    { ...beat, status: { ...beat.status, addresses: [{ type: "InternalIP", address: "192.0.2.1" }] } },
  ],
  ["its board was restarted", { ...beat, status: { ...beat.status, nodeInfo: { bootID: "boot-2" } } }],
  ["it is another object", { ...beat, metadata: { ...beat.metadata, uid: "other" } }],
  ["it is being deleted", { ...beat, metadata: { ...beat.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }],
];

test.each(changes)("a Node is not quiet when %s", (_what, changed) => {
  expect(isNodeHeartbeat(stored, changed)).toBe(false);
});

test("a Lease that was only renewed is quiet, but one with another holder or proof is not", () => {
  const held = trimLease(lease("pi-3"));
  expect(isLeaseRenewal(held, version(held, "9"))).toBe(true);
  expect(isLeaseRenewal(lease("pi-3"), version(lease("pi-3", "2026-01-01T00:00:10.000000Z"), "9"))).toBe(true);
  expect(isLeaseRenewal(lease("pi-3"), { ...lease("pi-3"), spec: { holderIdentity: "other" } })).toBe(false);
  const annotations = { "siteward.dev/vouched-by": "pi-1@4" };
  expect(isLeaseRenewal(held, { ...held, metadata: { ...held.metadata, annotations } })).toBe(false);
});
