import { expect, test } from "vitest";
import { checkWriters, type ManagerActivity, type SeenBoard } from "../../../../agent/doctor/checks/judge.ts";

const clean: SeenBoard = { board: "pi-1", notes: [], taints: "" };
const marked = (stamp: string): SeenBoard => ({
  ...clean,
  notes: [{ manager: "kube-controller-manager", wrote: "Ready", stamp }],
});
const verdict = (before: SeenBoard, now: SeenBoard, manager: ManagerActivity = "none") =>
  checkWriters({ before: [before], now: [now], manager }, undefined);

test("if no board shows a trace of another judge, the check passes only if no kube-controller-manager runs", () => {
  expect(verdict(clean, clean)).toMatchObject({
    level: "ok",
    message: expect.stringContaining("is renewing its Lease"),
  });
});

test.each<[ManagerActivity, string]>([
  ["runs", "a kube-controller-manager is running: it would write only when a board falls silent or returns"],
  ["unknown", "kube-controller-manager's Lease cannot be read"],
])("boards without a trace prove nothing if the activity of kube-controller-manager is: %s", (manager, reason) => {
  const { level, message, hint } = verdict(clean, clean, manager);
  expect(level).toBe("info");
  expect(message).toContain(reason);
  expect(hint).toContain("-node-lifecycle-controller");
});

test("a write between the two readings is a failure; an older write is a warning", () => {
  expect(verdict(marked("1"), marked("2"), "runs")).toMatchObject({ level: "fail" });
  expect(verdict(marked("1"), marked("1"), "runs")).toMatchObject({
    level: "warn",
    message: expect.stringContaining("kube-controller-manager wrote Ready of pi-1"),
  });
});
