import { expect, test } from "vitest";
import { pods } from "../../../agent/api/resources.ts";
import { elapsed } from "../../../agent/base/clock.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import { FailingRequests } from "../../../agent/client/failing-requests.ts";
import { neverConnected, type WatchHealth } from "../../../agent/informer/watch-health.ts";
import { Incapacity } from "../../../agent/leading/incapacity.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const second = 1000;
const limits = { stall: 90 * second, blip: 10 * second };

/** A leader whose deletions of pods fail every 5 s from the beginning, in namespaces a and b if `spread`. */
class Leader {
  readonly clock = new FakeClock();
  readonly #began = this.clock.now();
  readonly log = new RecordingLog();
  readonly failing = new FailingRequests(this.clock);
  /** When a new connection was opened, in seconds. */
  readonly renewed: number[] = [];
  readonly incapacity: Incapacity;
  restoredAt: WatchHealth["restoredAt"];

  constructor(timing = { sickFor: 60 * second, renewDeadline: 40 * second }) {
    const ambient = { clock: this.clock, random: new SeededRandom(1), log: this.log };
    const renewConnection = (): void => void this.renewed.push(this.seconds);
    this.incapacity = new Incapacity(ambient, { failing: this.failing, limits, leader: timing, renewConnection });
    this.incapacity.begin();
  }

  get seconds(): number {
    return elapsed(this.#began, this.clock.now()) / second;
  }

  async until(end: number, { fails = true, status = 503 } = {}): Promise<void> {
    while (this.seconds < end) {
      const error = new ApiError({ verb: "delete", target: "pod a/web" }, { status, reason: "", message: "failed" });
      if (fails) this.failing.failed({ verb: "delete", resource: pods, path: "/api/v1/namespaces/a/pods/web" }, error);
      const now = this.clock.now();
      const { restoredAt } = this;
      const live: WatchHealth = { ...neverConnected, connected: true, lastReceived: now, lastNews: now, restoredAt };
      this.incapacity.update({ nodes: live, leases: live }, now);
      await this.clock.advance(5 * second);
    }
  }

  get sick(): string | undefined {
    return this.incapacity.sickness(this.clock.now())?.why;
  }
}

test("a leader whose requests fail opens a new connection after a quarter of the time, and again whenever that has doubled", async () => {
  const leader = new Leader();
  await leader.until(200);
  expect(leader.renewed).toEqual([15, 30, 60, 120]);
  expect(JSON.stringify(leader.log)).toContain("requests of one kind fail");
});

test("a leader is unable to act after sickFor, or after the renew deadline if that is longer", async () => {
  for (const [timing, at] of [
    [{ sickFor: 60 * second, renewDeadline: 40 * second }, 60],
    [{ sickFor: 20 * second, renewDeadline: 40 * second }, 40],
  ] as const) {
    const leader = new Leader(timing);
    await leader.until(at);
    expect([leader.sick, leader.incapacity.failing(leader.clock.now())]).toEqual([undefined, undefined]);
    await leader.until(at + 5);
    expect(leader.sick).toBe("its requests to delete pods have failed");
    expect(leader.incapacity.failing(leader.clock.now())?.kind).toBe("delete pods");
  }
});

test("a leader is still able to act if the last failure came sooner, regardless of how long ago", async () => {
  const leader = new Leader();
  await leader.until(60);
  await leader.until(250, { fails: false });
  expect(leader.sick).toBeUndefined();
});

test("two failures may be chance, regardless of how far apart they are", async () => {
  const leader = new Leader();
  await leader.until(5);
  await leader.until(100, { fails: false });
  await leader.until(105);
  expect(leader.sick).toBeUndefined();
  await leader.until(110);
  expect(leader.sick).toBeDefined();
});

test("requests that failed during an outage do not count", async () => {
  const leader = new Leader();
  await leader.until(55);
  leader.restoredAt = leader.clock.now();
  await leader.until(120);
  expect(leader.sick).toBeUndefined();
  await leader.until(125);
  expect(leader.sick).toBeDefined();
});

test("a leader reports what fails, but keeps the Lease, if a tenant may be the cause", async () => {
  const leader = new Leader();
  const hang = { status: 0, reason: "Timeout", message: "no response" };
  for (let time = 0; time < 20; time++) {
    const error = new ApiError({ verb: "delete", target: "pod a/web" }, hang);
    leader.failing.failed({ verb: "delete", resource: pods, path: "/api/v1/namespaces/a/pods/web" }, error);
    await leader.clock.advance(5 * second);
  }
  expect(leader.sick).toBeUndefined();
  expect(leader.incapacity.failing(leader.clock.now())?.kind).toBe("delete pods");
});
