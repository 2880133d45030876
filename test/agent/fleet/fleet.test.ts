import { expect, test } from "vitest";
import { Fleet, type FleetDeps } from "../../../agent/fleet/fleet.ts";
import { LinkError } from "../../../agent/fleet/mqtt/link.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const second = 1000;

/** A board without credential files whose broker cannot be reached. */
function setUp(url: string) {
  const clock = new FakeClock("2026-11-20T12:00:00Z");
  const attempts: number[] = [];
  let session = 0;
  // What a link that never comes up uses.
  const deps = {
    url: new URL(url),
    identity: { fleet: "f", site: "s", board: "pi-1" },
    config: { mqtt: { reconnect: { first: 10 * second, most: 300 * second, refused: 60 * second } } },
    open: async () => {
      attempts.push(clock.now().mono);
      throw new LinkError("unreachable", "connect ECONNREFUSED");
    },
    credentials: () => {
      throw new LinkError("credentials", "certificate /etc/siteward/credentials/mqtt.crt does not exist");
    },
    outbox: {
      last: () => session,
      count: () => ++session,
      oldest: () => undefined,
      usage: () => ({ rows: 0, bytes: 0 }),
      lost: 0,
    },
    states: { size: 0 },
    publisher: { rtt: undefined },
    gate: { begin: () => {}, end: () => {} },
    events: { note: () => {} },
    clockState: () => "synced",
    statusChanged: () => {},
    bootId: "boot-1",
    // No other member is used.
  } as unknown as FleetDeps;
  const fleet = new Fleet({ clock, random: new SeededRandom(5), log: new RecordingLog() }, deps);
  return { clock, fleet, attempts };
}

test("the credentials of a fleet without TLS are reloaded without a file, so that those of the API can be", async () => {
  const { fleet } = setUp("mqtt://broker:1883");
  const { signal } = new AbortController();
  for (const dryRun of [true, false])
    expect(await fleet.reloadCredentials(dryRun, signal)).toEqual({ outcome: "done", result: { changed: false } });
  const withTls = setUp("mqtts://broker:8883").fleet;
  expect(await withTls.reloadCredentials(false, signal)).toMatchObject({ outcome: "refused", error: "credentials" });
});

test("a board that waits to connect to its broker again knows when it will", async () => {
  const { clock, fleet, attempts } = setUp("mqtt://broker:1883");
  const end = new AbortController();
  const run = fleet.run(end.signal, { leftover: async () => {} } as never);
  expect(fleet.part(clock.now()).nextAttempt).toBeUndefined();
  for (let i = 0; i < 5; i++) {
    await clock.advance("100ms");
    const { nextAttempt } = fleet.part(clock.now());
    const made = attempts.length;
    if (nextAttempt === undefined) throw new Error("the board does not know when");
    await clock.advance(`${Math.ceil(nextAttempt.mono - clock.now().mono)}ms`);
    expect(attempts.length).toBe(made + 1);
    expect(Math.abs((attempts.at(-1) ?? 0) - nextAttempt.mono)).toBeLessThan(2);
  }
  end.abort();
  await run;
});
