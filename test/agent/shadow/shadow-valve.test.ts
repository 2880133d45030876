import { expect, test } from "vitest";
import { isPostponed } from "../../../agent/base/postponed.ts";
import type { ActLimits } from "../../../agent/holds/act-limit.ts";
import { ShadowValve } from "../../../agent/shadow/shadow-valve.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const limits: ActLimits = { acts: () => 2, namespaces: () => new Set(["default"]), shareOf: () => 1 };

function setUp() {
  const clock = new FakeClock();
  const valve = new ShadowValve({ clock, random: new SeededRandom(), log: new RecordingLog() });
  const act = async (name: string) => (await valve.admit(name, limits))("done");
  return { clock, valve, act };
}

test("what would be done counts against the limit, from one term of this process to the next, for an hour", async () => {
  const { clock, valve, act } = setUp();
  valve.begin();
  await act("a");
  await act("b");
  await expect(act("c")).rejects.toSatisfy(isPostponed);
  expect(valve.view(limits, clock.now())).toMatchObject({ acts: 2, isUnknown: false });
  valve.end();
  await clock.advance("10m");
  valve.begin();
  await expect(act("c")).rejects.toSatisfy(isPostponed);
  await clock.advance("55m");
  await act("c");
  expect(valve.view(limits, clock.now())).toMatchObject({ acts: 1, isUnknown: false });
});

test("a long time without leading does not make the acts of the last hour unknown", async () => {
  const { clock, valve, act } = setUp();
  valve.begin();
  await act("a");
  valve.end();
  await clock.advance("30m");
  valve.begin();
  expect(valve.view(limits, clock.now())).toMatchObject({ acts: 1, isUnknown: false });
});
