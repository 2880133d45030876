import { expect, test } from "vitest";
import type { Node, Pod, Taint, Toleration } from "../../../agent/api/core.ts";
import { loadOf, placementOf } from "../../../simulator/cluster/scheduling.ts";

const meta = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  name,
  uid: name,
  resourceVersion: "1",
  labels: { "kubernetes.io/hostname": name, ...labels },
});

interface Board {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly cordoned?: boolean;
}

const board = (name: string, { labels, taints = [], cordoned = false }: Board = {}): Node => ({
  metadata: meta(name, labels),
  spec: { taints, unschedulable: cordoned },
});

const pod = (name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
  metadata: meta(name),
  spec: { containers: [], ...spec },
});

const selecting = (key: string, operator: string, values: readonly string[] = []): Pod =>
  pod("web", {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
        },
      },
    },
  });

const noLoad = new Map<string, number>();
const unreachable = (effect: string): Taint => ({ key: "node.kubernetes.io/unreachable", effect });

test("a pod goes to the board with the fewest pods, and among equals to the first by name", () => {
  const boards = [board("pi-2"), board("pi-1"), board("pi-3")];
  expect(placementOf(pod("web"), boards, noLoad)).toEqual({ board: "pi-1" });
  const load = loadOf([pod("a", { nodeName: "pi-1" }), pod("b", { nodeName: "pi-2" })]);
  expect(placementOf(pod("web"), boards, load)).toEqual({ board: "pi-3" });
});

test("terminated pods are no longer counted on their board", () => {
  const over: Pod = { ...pod("job", { nodeName: "pi-1" }), status: { phase: "Succeeded" } };
  expect(loadOf([over, pod("web", { nodeName: "pi-2" })])).toEqual(new Map([["pi-2", 1]]));
});

const untolerated: readonly [effect: string, toleration: Toleration | undefined, fits: boolean][] = [
  ["NoSchedule", undefined, false],
  ["NoExecute", undefined, false],
  ["PreferNoSchedule", undefined, true],
  ["NoSchedule", { operator: "Exists" }, true],
  ["NoSchedule", { key: "node.kubernetes.io/unreachable", operator: "Exists" }, true],
  ["NoSchedule", { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" }, false],
  ["NoSchedule", { key: "node.kubernetes.io/unreachable" }, true],
  ["NoSchedule", { key: "node.kubernetes.io/unreachable", value: "x" }, false],
  ["NoSchedule", { key: "other", operator: "Exists" }, false],
];

test.each(untolerated)("a taint %s with the toleration %j: does the pod fit? %s", (effect, toleration, fits) => {
  const web = pod("web", { tolerations: toleration ? [toleration] : [] });
  const { board: found } = placementOf(web, [board("pi-1", { taints: [unreachable(effect)] })], noLoad);
  expect(found !== undefined).toBe(fits);
});

test("a cordoned board takes only pods that tolerate being unschedulable", () => {
  const boards = [board("pi-1", { cordoned: true })];
  expect(placementOf(pod("web"), boards, noLoad).why).toBe("none of 1 boards fits: 1 cordoned");
  const daemon = pod("daemon", { tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] });
  expect(placementOf(daemon, boards, noLoad).board).toBe("pi-1");
});

test("nodeSelector and required node affinity choose boards", () => {
  const boards = [board("pi-1", { labels: { disk: "sd", size: "4" } }), board("pi-2", { labels: { disk: "ssd" } })];
  expect(placementOf(pod("web", { nodeSelector: { disk: "ssd" } }), boards, noLoad).board).toBe("pi-2");
  expect(placementOf(selecting("disk", "In", ["ssd", "nvme"]), boards, noLoad).board).toBe("pi-2");
  expect(placementOf(selecting("disk", "NotIn", ["sd"]), boards, noLoad).board).toBe("pi-2");
  expect(placementOf(selecting("size", "Exists"), boards, noLoad).board).toBe("pi-1");
  expect(placementOf(selecting("size", "DoesNotExist"), boards, noLoad).board).toBe("pi-2");
  expect(placementOf(selecting("size", "Gt", ["3"]), boards, noLoad).board).toBe("pi-1");
  expect(placementOf(selecting("size", "Lt", ["4"]), boards, noLoad).board).toBeUndefined();
});

test("a daemon's pod is pinned by the name of its board", () => {
  const terms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["pi-2"] }] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  const pinned = pod("daemon", { affinity: { nodeAffinity } });
  expect(placementOf(pinned, [board("pi-1"), board("pi-2")], noLoad).board).toBe("pi-2");
});

test("the reasons why a pod does not fit are given for each board", () => {
  const boards = [
    board("pi-1", { taints: [unreachable("NoSchedule")] }),
    board("pi-2", { taints: [unreachable("NoSchedule")] }),
    board("pi-3"),
  ];
  expect(placementOf(pod("web", { nodeSelector: { disk: "ssd" } }), boards, noLoad).why).toBe(
    "none of 3 boards fits: 1 not selected by the pod, 2 tainted node.kubernetes.io/unreachable",
  );
  expect(placementOf(pod("web"), [], noLoad).why).toBe("none of 0 boards fits");
});
