import { expect, test } from "vitest";
import { judgeRemote } from "../../../../agent/config/remote-judge.ts";
import type { Fault } from "../../../../agent/config/remote-record.ts";
import { verdictProblem } from "../../../../agent/fleet/configuration/config-problems.ts";

const verdict = (faults: readonly Fault[], state: "rejected" | "rolled-back" = "rejected") => ({
  version: 47,
  hash: "",
  state,
  faults,
});

test("a refused configuration is a problem that names the setting, the accepted values, and the next step", () => {
  const problem = verdictProblem(verdict(judgeRemote({ log: { level: "loud" } }, undefined)), 43);
  expect(problem).toMatchObject({ type: "FleetConfigRefused", severity: "warning" });
  expect(problem.message).toMatch(
    /^version 47 of the fleet settings is refused: log\.level takes .*; version 43 is in force$/,
  );
  expect(problem.hint).toBe("publish a corrected document with a higher version (siteward config explain log.level)");
});

test("the first three of many faults are named and the rest are counted", () => {
  const config = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, 1]));
  expect(verdictProblem(verdict(judgeRemote(config, undefined)), undefined).message).toBe(
    "version 47 of the fleet settings is refused: a is not a setting; b is not a setting; c is not a setting; " +
      "and 2 more; this board's own files are in force",
  );
});

test("a configuration that was rolled back after a trial is a problem that says what failed", () => {
  const why = "worked before the trial but not at its end: mqtt";
  const problem = verdictProblem(verdict([{ path: "", code: "unhealthy", message: why }], "rolled-back"), 43);
  expect(problem).toEqual({
    type: "FleetConfigTakenBack",
    severity: "warning",
    message: `version 47 of the fleet settings was rolled back: ${why}; version 43 is in force`,
    hint: "publish a corrected document with a higher version",
  });
});

test("a configuration that an operator rolled back is not a problem", () => {
  const problem = verdictProblem(verdict([{ path: "", code: "by-command" }], "rolled-back"), 43);
  expect(problem).toMatchObject({ type: "FleetConfigTakenBack", severity: "info" });
});
