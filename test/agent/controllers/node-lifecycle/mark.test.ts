import { expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import {
  confirmedDeadBy,
  confirmerOf,
  outOfServiceAnnotation,
  sinceConfirmed,
} from "../../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import { lease, node } from "../../../support/builders.ts";

const heartbeat = "2026-01-01T00:00:00Z";
const fitting = JSON.stringify({ v: 1, by: "ops:alice", lease: "7", heartbeat });

/** A silent board with this out-of-service taint and this annotation. */
function board(value: string | undefined, mark: string | undefined): Node {
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" as const, ...(value && { value }) }];
  const { metadata } = node("pi-3");
  return {
    metadata: { ...metadata, ...(mark !== undefined && { annotations: { [outOfServiceAnnotation]: mark } }) },
    spec: value === "none" ? {} : { taints },
    status: { conditions: [{ type: "Ready", status: "Unknown", lastHeartbeatTime: heartbeat }] },
  };
}

test.each([
  ["our taint and a fitting mark", board("siteward", fitting), "silent", "ops:alice"],
  ["our taint and an unreadable mark", board("siteward", "{"), "heard", undefined],
  ["our taint and no mark", board("siteward", undefined), "heard", undefined],
  ["a taint set by hand", board("nodeshutdown", undefined), undefined, undefined],
  ["a taint set by hand, which a kubelet marks", board("nodeshutdown", fitting), undefined, undefined],
  ["a taint set by hand without a value, which a kubelet marks", board(undefined, fitting), undefined, undefined],
  ["no taint, and a mark", board("none", fitting), undefined, undefined],
] as const)("a board with %s", (_, marked, since, by) => {
  expect([sinceConfirmed(marked, lease("pi-3", "7")), confirmedDeadBy(marked, "7")]).toEqual([since, by]);
  expect(confirmerOf(marked)?.by).toBe(by);
});
