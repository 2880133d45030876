import { expect, test } from "vitest";
import { shifted } from "../../../../agent/base/clock.ts";
import { firstMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { outcomeRound } from "../../../../agent/controllers/node-lifecycle/outcome-round.ts";
import type { ActedPass } from "../../../../agent/controllers/node-lifecycle/pass.ts";
import { openValve } from "../../../../agent/controllers/safety-valve.ts";
import { noHolds } from "../../../../agent/holds/holds.ts";
import { defaults } from "../site-model.ts";

const now = { mono: 1_000_000, wall: 0 };
const link = { live: true, notLiveSince: undefined, restoredAt: undefined, proof: { nodes: now, leases: now } };

test.each([
  ["took no time", 0, 5000],
  ["took four seconds", 4000, 1000],
  ["took longer than a period", 7000, 0],
])("boards are judged every period, even after a pass that %s", (_, took, requeueAfter) => {
  const pass: ActedPass = {
    stage: "acts",
    roundEndedAt: shifted(now, took),
    link,
    holds: noHolds,
    valve: openValve,
    writes: new Map(),
    marks: new Map(),
  };
  const memory = { ...firstMemory, monitorAt: shifted(now, defaults.monitorPeriod) };
  expect(outcomeRound(pass, [], memory, { settings: defaults, now }).requeueAfter).toBe(requeueAfter);
});
