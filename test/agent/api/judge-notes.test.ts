import { describe, expect, test } from "vitest";
import { type JudgeReading, judgedTaints, judgeNotes, otherJudge } from "../../../agent/api/judge-notes.ts";
import { node, taint } from "../../support/builders.ts";

const taints = { "f:spec": { "f:taints": {} } };
const ready = { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { "f:status": {}, "f:reason": {} } } } };
const entry = (manager: string, fieldsV1: object, time = "2026-11-20T12:00:00Z"): object => ({
  manager,
  fieldsV1,
  time,
});

describe("managedFields", () => {
  test("show kube-controller-manager's writes of taints and Ready, not its other writes to Nodes", () => {
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

  test("of this agent, kubelets, people and autoscalers do not show another judge", () => {
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

  test("of k3s are evidence for taints only, because its kubelet writes under the same name", () => {
    expect(judgeNotes([entry("k3s", ready)])).toEqual([]);
    expect(judgeNotes([entry("k3s", taints)])).toMatchObject([{ manager: "k3s", wrote: "taints" }]);
  });

  test("of an unknown controller are evidence if it writes Ready", () => {
    expect(judgeNotes([entry("edge-judge", ready)])).toMatchObject([{ manager: "edge-judge", wrote: "Ready" }]);
  });

  test.each([[undefined], ["x"], [[null, 7, "x", {}, { manager: 7 }, { manager: "a", fieldsV1: "f:spec" }]]])(
    "that are malformed do not show anything: %j",
    (fields) => expect(judgeNotes(fields)).toEqual([]),
  );
});

describe("between two reads of managedFields", () => {
  const sight = (fields: readonly object[], taints = ""): JudgeReading => ({ notes: judgeNotes(fields), taints });
  const manager = "kube-controller-manager";

  test("an unchanged entry does not show a write", () => {
    const seen = sight([entry(manager, taints), entry(manager, ready)], "a");
    expect(otherJudge(seen, seen)).toBeUndefined();
  });

  test("an entry for Ready that is new, or has another time, shows another judge", () => {
    expect(otherJudge(sight([]), sight([entry(manager, ready)]))).toMatchObject({ manager, wrote: "Ready" });
    const later = sight([entry(manager, ready, "1970-01-01T00:00:09Z")]);
    expect(otherJudge(sight([entry(manager, ready)]), later)).toMatchObject({ manager, wrote: "Ready" });
  });

  test("an entry for taints is evidence only if the taints changed, because a change of the board's ttl renews the same entry", () => {
    const later = entry(manager, taints, "2026-11-20T13:00:00Z");
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([later], "a"))).toBeUndefined();
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([later], "b"))).toMatchObject({ wrote: "taints" });
    expect(otherJudge(sight([entry(manager, taints)], "a"), sight([entry(manager, taints)], "b"))).toBeUndefined();
  });
});

test("only the judge's taints are compared, with the times that their writers gave them", () => {
  const board = (timeAdded: string) =>
    node("pi-1", { taints: [taint("unreachable:NoExecute", timeAdded), taint("maintenance=disk:NoExecute")] });
  expect(judgedTaints(board("1"))).toBe("node.kubernetes.io/unreachable:NoExecute@1");
  expect(judgedTaints(board("1"))).not.toBe(judgedTaints(board("2")));
});
