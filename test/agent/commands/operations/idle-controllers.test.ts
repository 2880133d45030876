import { expect, test } from "vitest";
import { shifted } from "../../../../agent/base/clock.ts";
import type { Effect } from "../../../../agent/commands/desk/controls.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { AgentSiteControls } from "../../../../agent/commands/operations/site-controls.ts";
import { noHolds } from "../../../../agent/holds/holds.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { TestTerm } from "../../../support/small-api.ts";

type Mode = "act" | "shadow" | "off";
const alice = { by: "ops:alice", reason: undefined };
const { signal } = new AbortController();

/** A leader that knows no board: an order that is not refused for another reason ends with 404. */
function controls(
  nodeLifecycle: Mode,
  taintEviction: Mode,
  podGC: Mode,
  paused: readonly string[] = [],
): AgentSiteControls {
  const clock = new FakeClock();
  const end = shifted(clock.now(), 60_000);
  const pauses = new Map(paused.map((name) => [name, { end, by: "ops:alice", reason: undefined, foreign: {} }]));
  const deps = {
    ambient: { clock },
    holds: { ordered: { ...noHolds, pauses } },
    config: {
      board: { node: "pi-1" },
      controllers: {
        nodeLifecycle: { mode: nodeLifecycle },
        taintEviction: { mode: taintEviction },
        podGC: { mode: podGC },
      },
    },
    elector: { view: () => ({ role: "leader", holder: "pi-1", term: 3 }) },
    current: { term: new TestTerm() },
    caches: { informer: () => ({ lister: { get: () => undefined, list: () => [].values() } }) },
  } as unknown as OperationsDeps;
  return new AgentSiteControls(deps);
}

const codeOf = (effect: Effect): string => ("code" in effect ? `${effect.code} ${effect.error}` : effect.outcome);

test("orders that a controller in shadow mode would have to carry out are refused, before anything is looked up", async () => {
  const shadowed = controls("shadow", "shadow", "shadow");
  const zone = await shadowed.confirmZoneDead("zone-a", 1000, alice, false, signal);
  expect(zone).toMatchObject({
    code: 409,
    error: "shadow",
    message:
      "controllers.nodeLifecycle.mode, controllers.taintEviction.mode are shadow: siteward writes nothing for them, so this order would have no effect",
    result: { settings: ["controllers.nodeLifecycle.mode", "controllers.taintEviction.mode"] },
  });
  expect(codeOf(await shadowed.confirmBoardDead("pi-3", alice, true, signal))).toBe("409 shadow");
});

test("an order is refused if one of the controllers that it needs is in shadow mode, and not because of others", async () => {
  const zone = async (...modes: [Mode, Mode, Mode]) =>
    codeOf(await controls(...modes).confirmZoneDead("zone-a", 1000, alice, false, signal));
  const board = async (...modes: [Mode, Mode, Mode]) =>
    codeOf(await controls(...modes).confirmBoardDead("pi-3", alice, false, signal));
  expect(await zone("act", "shadow", "act")).toBe("409 shadow");
  expect(await zone("act", "act", "shadow")).toMatch(/^404/);
  expect(await board("act", "act", "shadow")).toBe("409 shadow");
  expect(await board("act", "shadow", "act")).toMatch(/^404/);
});

test("while node-lifecycle is paused, confirmations of dead boards are refused with that reason", async () => {
  const paused = controls("act", "act", "act", ["node-lifecycle"]);
  const refused = {
    code: 409,
    error: "not-proven",
    message:
      "the silence is not proven: node-lifecycle is paused, so no board is judged; resume it first (controllers.resume)",
    result: { paused: ["node-lifecycle"] },
  };
  expect(await paused.confirmBoardDead("pi-3", alice, false, signal)).toMatchObject(refused);
  expect(await paused.confirmZoneDead("zone-a", 1000, alice, false, signal)).toMatchObject(refused);
  const other = controls("act", "act", "act", ["taint-eviction"]);
  expect(codeOf(await other.confirmBoardDead("pi-3", alice, false, signal))).toMatch(/^404/);
});
