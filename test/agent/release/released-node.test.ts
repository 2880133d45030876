import { expect, test } from "vitest";
import { leavingOf, leavingText } from "../../../agent/release/released-node.ts";
import { node } from "../../support/builders.ts";

const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" } as const;
const tainted = node("pi-3", { taints: [unreachable, { key: "maintenance", effect: "NoSchedule" }] });
const board = {
  ...tainted,
  metadata: { ...tainted.metadata, annotations: { "siteward.dev/standby": "ready", "team.example/owner": "plant" } },
};

test("a release removes the taints of silent boards and siteward's annotations, and nothing of others", () => {
  expect(leavingText(leavingOf(board, { keepsTaints: false }))).toBe(
    "taint node.kubernetes.io/unreachable:NoExecute, annotation siteward.dev/standby",
  );
});

test.each([
  ["a command set", "siteward", "taint node.kubernetes.io/out-of-service:NoExecute"],
  ["was set by hand", "nodeshutdown", ""],
])("a release of a Node without the mark of a confirmation: an out-of-service taint that %s", (_, value, removed) => {
  const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value } as const];
  expect(leavingText(leavingOf(node("pi-3", { taints }), { keepsTaints: false }))).toBe(removed);
});

test("a release after a trial in shadow mode leaves the taints to the controller that set them", () => {
  expect(leavingText(leavingOf(board, { keepsTaints: true }))).toBe("annotation siteward.dev/standby");
});
