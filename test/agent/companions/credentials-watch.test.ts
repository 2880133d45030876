import { expect, test } from "vitest";
import { CredentialsWatch } from "../../../agent/companions/credentials-watch.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

test("credentials that have become unusable are reported while the connection lasts, until they are corrected", async () => {
  const clock = new FakeClock();
  const world = { why: undefined as string | undefined, isUp: true };
  const watch = new CredentialsWatch(
    { clock, log: new RecordingLog(), random: new SeededRandom() },
    {
      isUp: () => world.isUp,
      checkCredentials: async () => {
        if (world.why !== undefined) throw new Error(world.why);
      },
    },
  );
  const problems = () => (watch.contribution().problems ?? []).map(({ type, message }) => [type, message]);
  const stop = new AbortController();
  const done = watch.run(stop.signal);
  await clock.advance("5m");
  expect(problems()).toEqual([]);
  world.why = "kubeconfig config holds no kubeconfig";
  await clock.advance("5m");
  expect(problems()).toEqual([
    ["CredentialsUnusable", expect.stringMatching(/^kubeconfig config holds no kubeconfig; /)],
  ]);
  world.isUp = false;
  expect(problems()).toEqual([]);
  world.isUp = true;
  world.why = undefined;
  await clock.advance("5m");
  expect(problems()).toEqual([]);
  stop.abort();
  await done;
  expect(clock.timers).toBe(0);
});
