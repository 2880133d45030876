import { expect, test } from "vitest";
import { controllerPart, standingProblems } from "../../../agent/assembly/agent-parts.ts";
import type { ControllerStats, LoopError } from "../../../agent/loop/controller-stats.ts";
import { at } from "../../support/site-status.ts";

const listPods = { user: "edge", verb: "list", resource: "pods", group: "", namespace: undefined };
const error: LoopError = { message: "pi-1: no answer", hint: undefined, at: at(0), missing: undefined };

function partOf(changes: Partial<ControllerStats>, seconds = 0, waitsFor: readonly string[] = []) {
  const usual = { queue: 1, syncs: 3, errorsLastHour: 1, syncP95: 3.4, lastError: undefined };
  const stats: ControllerStats = { name: "pod-gc", state: "running", ...usual, ...changes };
  return controllerPart({ stats: () => stats }, waitsFor, at(seconds));
}

test("a controller counts as failing for five minutes after an error", () => {
  expect(partOf({ lastError: error }, 299)).toMatchObject({ state: "failing", lastError: "pi-1: no answer" });
  expect(partOf({ lastError: error }, 300).state).toBe("running");
  expect(partOf({}).state).toBe("running");
  expect(partOf({ state: "starting" }).state).toBe("running");
});

test("a controller in shadow mode is shown as such, unless it fails", () => {
  expect(partOf({ state: "shadow" }).state).toBe("shadow");
  expect(partOf({ state: "shadow", lastError: error }, 1).state).toBe("failing");
});

test("a missing permission does not count as a failure of the controller, even just after it was granted", () => {
  expect(partOf({ lastError: { ...error, missing: listPods } }, 1).state).toBe("running");
});

test("a paused controller is shown as paused regardless of its last error; a waiting one names the resources it waits for", () => {
  expect(partOf({ state: "paused", lastError: error }).state).toBe("paused");
  const waiting = { state: "standby", lastError: "waits for pods, nodes" };
  expect(partOf({ state: "standby", lastError: error }, 0, ["pods", "nodes"])).toMatchObject(waiting);
});

test("a board that does not stand for election has a problem, unless an operator ordered that", () => {
  const problemsOf = (
    notStanding: string | undefined,
    orderedUntil?: number,
    isLeaderless = false,
    holder: string | null = "pi-2_a",
    {
      link = "up",
      isFree = holder === null,
    }: { readonly link?: "up" | "down" | "starting"; readonly isFree?: boolean } = {},
  ) => {
    const until = orderedUntil === undefined ? undefined : at(orderedUntil);
    const identity = "pi-1_b";
    return standingProblems(
      { notStanding, orderedUntil: until, isLeaderless, isFree, holder: holder ?? undefined, identity },
      link,
      at(60),
    );
  };
  const said = (notStanding: string | undefined, orderedUntil?: number) =>
    problemsOf(notStanding, orderedUntil).map(({ type, severity, message }) => `${severity} ${type}: ${message}`);
  expect(said(undefined)).toEqual([]);
  expect(said("undervolted")).toEqual(["warning NotStanding: this board does not stand for election: undervolted"]);
  expect(said("asked to step down by ops:jo", 360)).toEqual([
    "info NotStanding: this board does not stand for election for 5m more: asked to step down by ops:jo",
  ]);
  const hint = (...[until, isLeaderless]: [number | undefined, boolean]) =>
    problemsOf("why", until, isLeaderless)[0]?.hint;
  expect(hint(undefined, false)).toMatch(/^another board is leading/);
  expect(hint(360, false)).toMatch(/^as ordered: another board is leading/);
  expect(hint(undefined, true)).toMatch(/^no other board has taken the Lease yet/);
  expect(hint(360, true)).toMatch(/^as ordered: no other board has taken the Lease yet; if none does/);
  // Right after a handover, the Lease names no board, or still this one, and the named successor has not claimed it.
  for (const holder of [null, "pi-1_b"])
    expect(problemsOf("why", 360, false, holder)[0]?.hint).toMatch(
      /^as ordered: no other board has taken the Lease yet/,
    );
  // The order ends earlier than it says if no board takes the Lease, and the time is exact once the Lease is known to be free.
  expect(hint(360, true)).toMatch(/stands for election again at that time$/);
  expect(problemsOf("why", 360, false, null)[0]?.hint).toMatch(/stands for election again earlier$/);
  // A board that has not read the Lease, or whose API is not trusted, does not know who leads.
  for (const unknown of [{ isFree: false }, { link: "down" }, { link: "starting" }] as const)
    for (const holder of unknown.isFree === false ? [null] : [null, "pi-2_a"])
      expect(problemsOf("why", 360, false, holder, unknown)[0]?.hint).toBe(
        "as ordered: this board does not know at present whether another one leads; if none does, this board stands for election again earlier",
      );
  expect(problemsOf("why", undefined, true, null, { link: "down" })[0]?.hint).toMatch(
    /^this board does not know at present whether another one leads; this board will stand again/,
  );
});
