import { afterEach, expect, test } from "vitest";
import type { Node } from "../../../agent/api/core.ts";
import type { nodes } from "../../../agent/api/resources.ts";
import type { WantedCondition } from "../../../agent/board/node-conditions.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import { NodeReport } from "../../../agent/companions/node-report.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const running: Story[] = [];
afterEach(async () => {
  for (const story of running.splice(0)) await story.stop();
});

interface Patched {
  readonly metadata: { readonly uid: string; readonly annotations?: Record<string, string | null> };
  readonly status?: { readonly conditions: readonly (WantedCondition & { readonly lastTransitionTime: string })[] };
}

/** An API server with one Node, and the board that reports to it. */
class Story {
  clock = new FakeClock("2026-11-20T12:00:00Z");
  readonly log = new RecordingLog();
  readonly kept = new Map<string, string>();
  /** "status: ClockUnsynced=False", "annotation: ready", in the order in which they came, with the minute. */
  readonly writes: string[] = [];
  reads = 0;
  uid = "node-1";
  annotation: string | undefined;
  states: Record<string, "True" | "False"> = { PowerUndervoltage: "False", ClockUnsynced: "False" };
  obstacle: string | undefined;
  isResting = false;
  announcement: string | undefined;
  /** The Node's witness annotation. */
  announced: string | undefined;
  /** The Node's resourceVersion; it counts changes of its annotations. */
  version = 100;
  /** Whether the agent has a cache that shows the Node, as it was at this version. */
  cache: { readonly version: number; readonly announced: string | undefined } | "current" | undefined;
  isLedByCopy = false;
  failure: ApiError | undefined;
  /** Why its conditions cannot be written. */
  conditionsRefused: ApiError | undefined;
  #report: NodeReport | undefined;
  #end = new AbortController();
  #run: Promise<void> = Promise.resolve();
  #begun = 0;

  constructor() {
    running.push(this);
    this.start();
  }

  start(): void {
    this.#end = new AbortController();
    this.#begun = this.clock.now().mono;
    const report = new NodeReport(
      { clock: this.clock, log: this.log, random: new SeededRandom(3) },
      {
        client: {
          get: async () => {
            this.reads++;
            this.#mayFail();
            const annotations = {
              ...(this.annotation !== undefined && { "siteward.dev/standby": this.annotation }),
              ...(this.announced !== undefined && { "siteward.dev/witness": this.announced }),
            };
            return { metadata: { name: "pi-1", uid: this.uid, resourceVersion: String(this.version), annotations } };
          },
          patch: async (
            _: typeof nodes,
            at: { readonly name: string; readonly subresource?: "status" },
            type: string,
            patch: object,
          ) => {
            expect([at.name, type]).toEqual(["pi-1", "strategic"]);
            this.#mayFail();
            if (at.subresource === "status" && this.conditionsRefused) throw this.conditionsRefused;
            this.#take(patch as Patched);
            return { metadata: { name: "pi-1", resourceVersion: String(this.version) } };
          },
        } as never,
        node: "pi-1",
        version: "0.1.0",
        lease: "kube-system/siteward-plant7",
        conditions: () =>
          Object.entries(this.states).map(([type, status]) => ({ type, status, reason: "R", message: "m" })),
        obstacle: () => this.obstacle,
        isResting: () => this.isResting,
        announcement: () => this.announcement,
        cached: () => this.#cached(),
        isLedByCopy: () => this.isLedByCopy,
        facts: {
          get: (area, key) => this.kept.get(`${area}/${key}`),
          set: (area, key, value) => void this.kept.set(`${area}/${key}`, value),
        },
      },
    );
    this.#report = report;
    this.#run = report.run(this.#end.signal);
  }

  /** Another process announces itself on this Node. */
  announceOther(text: string): void {
    this.announced = text;
    this.version++;
  }

  collisions(): readonly string[] {
    const { problems = [] } = this.#report?.contribution(this.clock.now()) ?? {};
    return problems.map(({ type, severity }) => `${severity} ${type}`);
  }

  #cached(): Node | undefined {
    if (this.cache === undefined) return undefined;
    const { version, announced } = this.cache === "current" ? this : this.cache;
    const annotations = announced === undefined ? {} : { "siteward.dev/witness": announced };
    return { metadata: { name: "pi-1", uid: this.uid, resourceVersion: String(version), annotations } } as Node;
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#run;
  }

  #mayFail(): void {
    if (this.failure) throw this.failure;
  }

  #take({ metadata, status }: Patched): void {
    if (metadata.uid !== this.uid) throw refusal(409, "Conflict");
    this.version++;
    const minute = Math.floor((this.clock.now().mono - this.#begun) / 60_000);
    if (status) {
      expect(status.conditions.every(({ lastTransitionTime }) => /^\d{4}-.*:\d\dZ$/.test(lastTransitionTime))).toBe(
        true,
      );
      this.writes.push(`${minute}: ${status.conditions.map((one) => `${one.type}=${one.status}`).join(" ")}`);
    }
    const { "siteward.dev/standby": standby, "siteward.dev/witness": announced } = metadata.annotations ?? {};
    this.annotation = standby ?? this.annotation;
    if (standby) this.writes.push(`${minute}: ${standby}`);
    if (announced === undefined) return;
    this.announced = announced ?? undefined;
    this.writes.push(`${minute}: announced ${announced}`);
  }
}

const refusal = (status: number, reason: string): ApiError =>
  new ApiError({ verb: "patch", target: "node pi-1" }, { status, reason, message: reason });

test("a healthy board reports its conditions once, and writes nothing for a day", async () => {
  const site = new Story();
  await site.clock.advance("1d");
  expect(site.writes).toEqual(["0: PowerUndervoltage=False ClockUnsynced=False", "0: ready"]);
  expect(site.reads).toBeLessThanOrEqual(25);
});

test.each([
  ["a leader, or a warm standby, announces itself within seconds", "current", "76s"],
  ["a cold standby announces itself within an hour", undefined, "61m"],
] as const)("after a person deleted the Node of a running board, %s", async (_, cache, within) => {
  const site = new Story();
  site.announcement = "key at 192.168.7.3";
  site.cache = cache;
  await site.clock.advance("10m");
  site.uid = "node-2";
  site.announced = undefined;
  site.annotation = undefined;
  site.version++;
  await site.clock.advance(within);
  expect([site.announced, site.annotation]).toEqual(["key at 192.168.7.3", "ready"]);
});

test("only changes are written, and at most every five minutes", async () => {
  const site = new Story();
  await site.clock.advance("20m");
  site.writes.length = 0;
  for (let i = 0; i < 60; i++) {
    site.states.PowerUndervoltage = i % 2 === 0 ? "True" : "False";
    await site.clock.advance("30s");
  }
  expect(site.writes.length).toBeGreaterThan(2);
  expect(site.writes.length).toBeLessThanOrEqual(6);
  expect(site.writes.every((write) => !write.includes("ClockUnsynced"))).toBe(true);
});

test("a restart of the agent costs one small read, and two writes: for its stop and for its return", async () => {
  const site = new Story();
  await site.clock.advance("20m");
  await site.stop();
  expect(site.annotation).toBe("stopped");
  site.writes.length = 0;
  site.reads = 0;
  site.start();
  await site.clock.advance("20m");
  expect(site.writes).toEqual(["0: ready"]);
  expect(site.reads).toBe(1);
});

test("conditions from before a restart are kept until the sensors have been watched for long enough", async () => {
  const site = new Story();
  site.states.PowerUndervoltage = "True";
  await site.clock.advance("20m");
  await site.stop();
  site.writes.length = 0;
  site.states.PowerUndervoltage = "False";
  site.start();
  await site.clock.advance("10m");
  expect(site.writes).toEqual(["0: ready"]);
  await site.clock.advance("10m");
  expect(site.writes).toEqual(["0: ready", "11: PowerUndervoltage=False"]);
});

test("a Node that was recreated gets all conditions again", async () => {
  const site = new Story();
  await site.clock.advance("20m");
  site.uid = "node-2";
  site.annotation = undefined;
  site.writes.length = 0;
  site.states.ClockUnsynced = "True";
  await site.clock.advance("20m");
  // The write for the former Node is refused; then it is looked at.
  expect(site.writes).toEqual(
    ["20: PowerUndervoltage=False ClockUnsynced=True", "20: ready"].map((one) => expect.stringContaining(one.slice(4))),
  );
});

test("a board announces once where it answers on the LAN, and again when that changes, at most once a minute", async () => {
  const site = new Story();
  site.announcement = "key at 192.168.7.3";
  await site.clock.advance("1h");
  expect(site.writes.filter((write) => write.includes("announced"))).toEqual(["0: announced key at 192.168.7.3"]);
  for (let i = 0; i < 20; i++) {
    site.announcement = `key at 192.168.7.${i}`;
    await site.clock.advance("15s");
  }
  expect(site.writes.filter((write) => write.includes("announced")).length).toBeLessThanOrEqual(7);
  await site.clock.advance("1m");
  expect(site.announced).toBe("key at 192.168.7.19");
});

test("a board announces a new address within seconds, and within a minute after a long outage", async () => {
  const site = new Story();
  site.announcement = "key at 192.168.7.3";
  await site.clock.advance("10m");
  site.announcement = "key at 192.168.7.4";
  await site.clock.advance("16s");
  expect(site.announced).toBe("key at 192.168.7.4");
  site.failure = refusal(0, "Timeout");
  site.announcement = "key at 192.168.7.5";
  await site.clock.advance("3h");
  site.failure = undefined;
  await site.clock.advance("46s");
  expect(site.announced).toBe("key at 192.168.7.5");
});

test("a board whose conditions are refused announces itself all the same", async () => {
  const site = new Story();
  site.conditionsRefused = refusal(403, "Forbidden");
  site.announcement = "key at 192.168.7.3";
  await site.clock.advance("2m");
  expect(site.announced).toBe("key at 192.168.7.3");
});

test("a board announces itself again after its Node was recreated, and withdraws what no longer holds", async () => {
  const site = new Story();
  site.announcement = "key at 192.168.7.3";
  await site.clock.advance("20m");
  site.uid = "node-2";
  site.announced = undefined;
  site.annotation = undefined;
  site.states.ClockUnsynced = "True";
  await site.clock.advance("20m");
  expect(site.announced).toBe("key at 192.168.7.3");
  await site.stop();
  expect(site.announced).toBe("key at 192.168.7.3");
  site.announcement = undefined;
  site.start();
  await site.clock.advance("5m");
  expect(site.announced).toBe(undefined);
});

test("an annotation removed by hand is restored within half a day", async () => {
  const site = new Story();
  await site.clock.advance("1h");
  site.annotation = undefined;
  await site.clock.advance("13h");
  expect(site.annotation).toBe("ready");
});

test("an unwell board does not count as a standby, and counts as one again a minute later at the earliest", async () => {
  const site = new Story();
  await site.clock.advance("5m");
  site.writes.length = 0;
  for (let i = 0; i < 8; i++) {
    site.obstacle = i % 2 === 0 ? "undervolted" : undefined;
    await site.clock.advance("15s");
  }
  expect(site.writes.length).toBeLessThanOrEqual(3);
  site.obstacle = "undervolted";
  await site.clock.advance("2m");
  expect(site.annotation).toBe("unwell");
});

test("a board that was ordered not to lead does not count as a standby during that time", async () => {
  const site = new Story();
  site.isResting = true;
  await site.clock.advance("5m");
  expect(site.annotation).toBe("resting");
  site.isResting = false;
  await site.clock.advance("5m");
  expect(site.annotation).toBe("ready");
});

test("with the link down, or the Node missing, retries become less frequent", async () => {
  const site = new Story();
  site.failure = refusal(404, "NotFound");
  await site.clock.advance("6h");
  expect(site.reads).toBeGreaterThan(10);
  expect(site.reads).toBeLessThan(40);
  expect(site.log.said("warn")).toEqual(["report on the board's Node not written"]);
  site.failure = undefined;
  await site.clock.advance("30m");
  expect(site.annotation).toBe("ready");
});

test("an agent that stops while the link is down does not wait to report it", async () => {
  const site = new Story();
  await site.clock.advance("5m");
  site.failure = refusal(0, "Timeout");
  const before = site.clock.now().mono;
  await site.stop();
  expect(site.clock.now().mono - before).toBeLessThan(2000);
});

test("an unreadable memory of a previous process is ignored", async () => {
  for (const left of ["{", "[]", '{"uid":1}', '{"uid":"x","conditions":7}', '{"uid":"node-1","conditions":{"A":{}}}']) {
    const site = new Story();
    site.kept.set("node-report/written", left);
    await site.stop();
    site.start();
    await site.clock.advance("5m");
    expect(site.writes.at(-1), left).toContain("ready");
  }
});

const [own, other] = ["key at 192.168.7.3", "key at 192.168.7.9"];
const collision = ["critical IdentityCollision"];

test("a leader whose Node a copy of its card announces as its own reports it once the copy has done so twice", async () => {
  const site = new Story();
  site.cache = "current";
  site.announcement = own;
  await site.clock.advance("1h");
  expect(site.collisions()).toEqual([]);
  site.announceOther(other);
  await site.clock.advance("2m");
  // A single foreign announcement may have been delayed for long, or edited by hand.
  expect([site.announced, site.collisions()]).toEqual([own, []]);
  site.announceOther(other);
  await site.clock.advance("15s");
  expect(site.collisions()).toEqual(collision);
  await site.clock.advance("2m");
  expect(site.announced).toBe(own);
  await site.clock.advance("20m");
  expect(site.collisions()).toEqual(collision);
  await site.clock.advance("10m");
  expect(site.collisions()).toEqual([]);
});

test("a standby without a cache finds the announcement of a copy too, and then looks every ten minutes", async () => {
  const site = new Story();
  site.announcement = own;
  await site.clock.advance("1h");
  site.announceOther(other);
  await site.clock.advance("12h");
  expect([site.announced, site.collisions()]).toEqual([own, []]);
  site.announceOther(other);
  await site.clock.advance("11m");
  expect([site.announced, site.collisions()]).toEqual([own, collision]);
});

test("a copy that the Lease shows to lead is reported from there, and its announcement is found within minutes", async () => {
  const site = new Story();
  site.announcement = own;
  await site.clock.advance("1h");
  site.isLedByCopy = true;
  for (let i = 0; i < 2; i++) {
    site.announceOther(other);
    await site.clock.advance("11m");
    expect(site.announced).toBe(own);
  }
  expect(site.collisions()).toEqual([]);
  site.isLedByCopy = false;
  expect(site.collisions()).toEqual(collision);
});

test("a board that moves, gets a new key, or sees an older state of its Node in a slow cache is no collision", async () => {
  const site = new Story();
  site.announcement = own;
  await site.clock.advance("1h");
  for (const text of ["key at 192.168.7.4", "key at 192.168.7.5", "another key at 192.168.7.5", own]) {
    site.cache = { version: site.version, announced: site.announced };
    site.announcement = text;
    await site.clock.advance("10m");
    await site.stop();
    site.start();
    await site.clock.advance("2m");
    site.cache = "current";
    await site.clock.advance("2m");
    expect(site.announced).toBe(text);
    expect(site.collisions(), text).toEqual([]);
  }
  expect(site.log.said("warn")).toEqual([]);
});

test("a card that was restored from an image finds what its board announced since once, which is no collision", async () => {
  const site = new Story();
  site.announcement = own;
  await site.clock.advance("1h");
  const image = new Map(site.kept);
  site.announcement = other;
  await site.clock.advance("1h");
  await site.stop();
  for (const [key, value] of image) site.kept.set(key, value);
  site.announcement = own;
  site.start();
  await site.clock.advance("1d");
  expect([site.announced, site.collisions()]).toEqual([own, []]);
});
