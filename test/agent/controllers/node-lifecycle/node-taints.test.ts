import { describe, expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import { decideNodeTaints } from "../../../../agent/controllers/node-lifecycle/node-taints.ts";
import { laggingLabels, scheduledTaints } from "../../../../agent/controllers/node-lifecycle/taints.ts";
import { node, shown, taint } from "../../../support/builders.ts";

const now = { mono: 0, wall: Date.parse("2026-03-01T12:00:00Z") };
const taintsOf = (of: Node): readonly string[] | "as it is" => scheduledTaints(of, now)?.map(shown) ?? "as it is";

describe("NoSchedule taints follow the conditions", () => {
  test.each([
    ["a healthy board carries none", node("pi"), "as it is"],
    [
      "the network is unavailable",
      node("pi", { conditions: { NetworkUnavailable: "True" } }),
      ["network-unavailable:NoSchedule"],
    ],
    ["unreachable", node("pi", { conditions: { Ready: "Unknown" } }), ["unreachable:NoSchedule"]],
    ["not ready", node("pi", { conditions: { Ready: "False" } }), ["not-ready:NoSchedule"]],
    ["never reported", node("pi", { conditions: { Ready: "-" } }), "as it is"],
    [
      "NoExecute is not touched",
      node("pi", { conditions: { Ready: "False" }, taints: [taint("not-ready:NoExecute")] }),
      ["not-ready:NoExecute", "not-ready:NoSchedule"],
    ],
    [
      "all pressures",
      node("pi", { conditions: { MemoryPressure: "True", DiskPressure: "True", PIDPressure: "True" } }),
      ["memory-pressure:NoSchedule", "disk-pressure:NoSchedule", "pid-pressure:NoSchedule"],
    ],
    ["an Unknown pressure gives no taint", node("pi", { conditions: { MemoryPressure: "Unknown" } }), "as it is"],
    ["cordoned", node("pi", { unschedulable: true }), ["unschedulable:NoSchedule"]],
    ["uncordoned", node("pi", { taints: [taint("unschedulable:NoSchedule")] }), []],
    [
      "one replaces the other, and other clients' taints are kept",
      node("pi", {
        conditions: { Ready: "False" },
        taints: [taint("dedicated=gpu:NoSchedule"), taint("unreachable:NoSchedule")],
      }),
      ["dedicated=gpu:NoSchedule", "not-ready:NoSchedule"],
    ],
    ["already there", node("pi", { unschedulable: true, taints: [taint("unschedulable:NoSchedule")] }), "as it is"],
    ["an invalid status", node("pi", { conditions: { Ready: "Perhaps", DiskPressure: "Yes" } }), "as it is"],
  ])("taints of a Node: %s", (_name, of, expected) => {
    expect(taintsOf(of)).toEqual(expected);
  });

  test("a Node without spec, labels and status is not changed", () => {
    const bare: Node = { metadata: { name: "pi", uid: "u", resourceVersion: "1" } };
    expect(decideNodeTaints(bare, undefined, now).actions).toEqual([]);
  });
});

describe("old labels follow the stable ones", () => {
  const beta = { "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64" };
  const stable = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" };
  test.each([
    ["none", {}, undefined],
    ["only old ones", beta, undefined],
    ["the old ones are missing", stable, beta],
    ["the old ones differ", { ...stable, "beta.kubernetes.io/os": "windows", "beta.kubernetes.io/arch": "arm" }, beta],
    ["they agree", { ...stable, ...beta }, undefined],
    [
      "one of them differs",
      { ...stable, ...beta, "beta.kubernetes.io/arch": "arm64" },
      { "beta.kubernetes.io/arch": "amd64" },
    ],
  ])("%s", (_name, labels, expected) => {
    expect(laggingLabels(node("pi", { labels }))).toEqual(expected);
  });
});

test("taints and labels are written in one patch", () => {
  const { actions } = decideNodeTaints(
    node("pi", { version: "7", unschedulable: true, labels: { "kubernetes.io/os": "linux" } }),
    undefined,
    now,
  );
  expect(actions).toEqual([
    {
      do: "patch",
      type: "merge",
      target: expect.objectContaining({ name: "pi", uid: "uid-pi", resourceVersion: "7" }),
      patch: {
        metadata: { labels: { "beta.kubernetes.io/os": "linux" } },
        spec: {
          taints: [
            { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule", timeAdded: "2026-03-01T12:00:00Z" },
          ],
        },
      },
    },
  ]);
});
