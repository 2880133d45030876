import { expect, test } from "vitest";
import type { Node } from "../../../agent/api/core.ts";
import { isLeaseRenewal, isNodeHeartbeat } from "../../../agent/informer/quiet.ts";
import { trimLease, trimNode } from "../../../agent/informer/trim.ts";
import { lease, node } from "./objects.ts";

const version = <T extends { readonly metadata: object }>(object: T, resourceVersion: string): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});

const stored = trimNode(node("pi-3"));
const beat = version(trimNode(node("pi-3", { heartbeat: "2026-01-01T00:05:00Z" })), "8");

test("a node that only reported again is quiet", () => {
  expect(isNodeHeartbeat(stored, beat)).toBe(true);
  expect(isNodeHeartbeat(stored, stored)).toBe(true);
});

const changes: readonly [what: string, changed: Node][] = [
  ["a condition turned", { ...beat, status: { conditions: [{ type: "Ready", status: "False" }] } }],
  [
    "a condition came",
    { ...beat, status: { conditions: [...(beat.status?.conditions ?? []), { type: "X", status: "True" }] } },
  ],
  ["the conditions went", { ...beat, status: {} }],
  ["a taint came", { ...beat, spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }],
  ["it was cordoned", { ...beat, spec: { unschedulable: true } }],
  ["a label came", { ...beat, metadata: { ...beat.metadata, labels: { resourceVersion: "1" } } }],
  [
    "an address came",
    { ...beat, status: { ...beat.status, addresses: [{ type: "InternalIP", address: "192.0.2.1" }] } },
  ],
  ["it is another object", { ...beat, metadata: { ...beat.metadata, uid: "other" } }],
  ["it is being deleted", { ...beat, metadata: { ...beat.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }],
];

test.each(changes)("a node is not quiet when %s", (_what, changed) => {
  expect(isNodeHeartbeat(stored, changed)).toBe(false);
});

test("a lease that was only renewed is quiet, vouched for or taken over it is not", () => {
  const held = trimLease(lease("pi-3"));
  expect(isLeaseRenewal(held, version(held, "9"))).toBe(true);
  expect(isLeaseRenewal(lease("pi-3"), version(lease("pi-3", "2026-01-01T00:00:10.000000Z"), "9"))).toBe(true);
  expect(isLeaseRenewal(lease("pi-3"), { ...lease("pi-3"), spec: { holderIdentity: "other" } })).toBe(false);
  const annotations = { "siteward.dev/vouched-by": "pi-1@4" };
  expect(isLeaseRenewal(held, { ...held, metadata: { ...held.metadata, annotations } })).toBe(false);
});
