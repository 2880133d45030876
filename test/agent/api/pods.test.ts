import { expect, test } from "vitest";
import { controllerOf, isControlledBy } from "../../../agent/api/owners.ts";
import { boardOf, isFinished, isTerminating, podCondition } from "../../../agent/api/pods.ts";
import { node, pod } from "../../support/builders.ts";

test("a pod has a board once it is bound", () => {
  expect(boardOf(pod("web", { on: "pi" }))).toBe("pi");
  expect(boardOf(pod("web", { on: "" }))).toBeUndefined();
  expect(boardOf({ metadata: pod("web").metadata })).toBeUndefined();
});

test("a pod's stage in its life cycle is derived from its status", () => {
  expect(isTerminating(pod("web", { deletionTimestamp: "T" }))).toBe(true);
  expect(isTerminating(pod("web"))).toBe(false);
  expect(
    ["Succeeded", "Failed", "Running", "Odd"].map((phase) => isFinished({ ...pod("web"), status: { phase } })),
  ).toEqual([true, true, false, false]);
  expect(podCondition(pod("web"), "Ready")?.status).toBe("True");
});

test("a pod's controller is recognised by uid", () => {
  const owner = node("set");
  const references = [
    { apiVersion: "v1", kind: "Other", name: "set", uid: "else" },
    { apiVersion: "v1", kind: "Set", name: "set", uid: "uid-set", controller: true },
  ];
  const owned = { ...pod("web"), metadata: { ...pod("web").metadata, ownerReferences: references } };
  expect(controllerOf(owned)?.uid).toBe("uid-set");
  expect(isControlledBy(owned, owner)).toBe(true);
  expect(isControlledBy(owned, node("set", { uid: "another" }))).toBe(false);
  expect(controllerOf(pod("web"))).toBeUndefined();
});
