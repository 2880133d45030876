import { expect, test } from "vitest";
import { StartingLoops } from "../../../agent/leading/starting-loops.ts";
import { at } from "../../support/site-status.ts";

test("controllers that have not started a minute after the beginning of a term are reported with what they wait for", () => {
  const starting = new StartingLoops();
  const missing = { "node-taints": ["nodes"], "taint-eviction": ["pods"], "pod-gc": ["pods"] };
  for (const [name, waitsFor] of Object.entries(missing)) starting.waits(name, () => waitsFor, at(0));
  starting.over("node-taints");
  expect(starting.late(at(59.999))).toBeUndefined();
  expect(starting.late(at(60))).toEqual({
    since: at(0),
    loops: [{ names: ["taint-eviction", "pod-gc"], waitFor: ["pods"] }],
  });
  expect(["taint-eviction", "node-taints", "daemonset"].map((name) => starting.waitsFor(name))).toEqual([
    ["pods"],
    [],
    [],
  ]);
  starting.over("taint-eviction");
  expect(starting.late(at(600))?.loops).toEqual([{ names: ["pod-gc"], waitFor: ["pods"] }]);
  starting.over("pod-gc");
  expect(starting.late(at(600))).toBeUndefined();
});

test("controllers that wait for different caches are reported separately", () => {
  const starting = new StartingLoops();
  starting.waits("pod-gc", () => ["pods"], at(0));
  starting.waits("daemonset", () => ["pods", "daemonsets.apps"], at(0));
  expect(starting.late(at(60))?.loops).toEqual([
    { names: ["pod-gc"], waitFor: ["pods"] },
    { names: ["daemonset"], waitFor: ["pods", "daemonsets.apps"] },
  ]);
});
