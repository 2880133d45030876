import { describe, expect, test } from "vitest";
import { type JudgeSight, judgedTaints, judgeNotes, otherJudge } from "../../../agent/api/judge-notes.ts";
import { node, taint } from "../../support/builders.ts";

const taints = { "f:spec": { "f:taints": {} } };
const ready = { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { "f:status": {}, "f:reason": {} } } } };
const entry = (manager: string, fieldsV1: object, time = "2026-11-20T12:00:00Z"): object => ({
  manager,
  fieldsV1,
  time,
});

describe("the notes of the API server", () => {
  test("that kube-controller-manager wrote taints or Ready are found; what else it writes of Nodes is not", () => {
    expect(judgeNotes([entry("kube-controller-manager", taints), entry("kube-controller-manager", ready)])).toEqual([
      { manager: "kube-controller-manager", wrote: "taints", stamp: "2026-11-20T12:00:00Z" },
      { manager: "kube-controller-manager", wrote: "Ready", stamp: "2026-11-20T12:00:00Z" },
    ]);
    const others = {
      "f:metadata": { "f:annotations": { "f:node.alpha.kubernetes.io/ttl": {} } },
      "f:spec": { "f:podCIDR": {} },
    };
    expect(judgeNotes([entry("kube-controller-manager", others)])).toEqual([]);
    const pressure = { "f:status": { "f:conditions": { 'k:{"type":"DiskPressure"}': { "f:status": {} } } } };
    expect(judgeNotes([entry("kube-controller-manager", pressure)])).toEqual([]);
  });

  test("of ourselves, of kubelets, of people and of autoscalers are no judge's", () => {
    const found = judgeNotes([
      entry("siteward", taints),
      entry("siteward", ready),
      entry("kubelet", ready),
      entry("kubelet", taints),
      entry("kubectl-taint", taints),
      entry("cluster-autoscaler", taints),
    ]);
    expect(found).toEqual([]);
  });

  test("of k3s, where the kubelet has the same name, count for taints only", () => {
    expect(judgeNotes([entry("k3s", ready)])).toEqual([]);
    expect(judgeNotes([entry("k3s", taints)])).toMatchObject([{ manager: "k3s", wrote: "taints" }]);
  });

  test("of a controller that nobody has heard of count where it writes Ready", () => {
    expect(judgeNotes([entry("edge-judge", ready)])).toMatchObject([{ manager: "edge-judge", wrote: "Ready" }]);
  });

  test.each([[undefined], ["x"], [[null, 7, "x", {}, { manager: 7 }, { manager: "a", fieldsV1: "f:spec" }]]])(
    "that are none say nothing: %j",
    (fields) => expect(judgeNotes(fields)).toEqual([]),
  );
});

describe("between two looks", () => {
  const sight = (fields: readonly object[], taints = ""): JudgeSight => ({ notes: judgeNotes(fields), taints });
  const manager = "kube-controller-manager";

  test("a note that was there before says nothing of today", () => {
    const seen = sight([entry(manager, taints), entry(manager, ready)], "a");
    expect(otherJudge(seen, seen)).toBeUndefined();
  });

  test("a note of Ready that is new, or that has another time, is another judge's", () => {
    expect(otherJudge(sight([]), sight([entry(manager, ready)]))).toMatchObject({ manager, wrote: "Ready" });
    const later = sight([entry(manager, ready, "1970-01-01T00:00:09Z")]);
    expect(otherJudge(sight([entry(manager, ready)]), later)).toMatchObject({ manager, wrote: "Ready" });
  });

  test("a note of taints counts only where the taints are not what they were: the same note tells of a board's ttl too", () => {
    const later = entry(manager, taints, "2026-11-20T13:00:00Z");
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([later], "a"))).toBeUndefined();
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([later], "b"))).toMatchObject({ wrote: "taints" });
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([entry(manager, taints)], "b"))).toBeUndefined();
  });
});

test("of the taints only a judge's are compared, with the times that their writers gave them", () => {
  const board = (timeAdded: string) =>
    node("pi-1", { taints: [taint("unreachable:NoExecute", timeAdded), taint("maintenance=disk:NoExecute")] });
  expect(judgedTaints(board("1"))).toBe("node.kubernetes.io/unreachable:NoExecute@1");
  expect(judgedTaints(board("1"))).not.toBe(judgedTaints(board("2")));
});
