import { describe, expect, test } from "vitest";
import { besideProblems, holdProblems } from "../../../agent/status/beside-health.ts";
import { problems } from "../../../agent/status/health.ts";
import { judgeProblem } from "../../../agent/status/judge-problems.ts";
import type { HoldsPart, MqttPart, Parts } from "../../../agent/status/parts.ts";
import { readStatus } from "../../../agent/status/schema.ts";
import { significantState, snapshot } from "../../../agent/status/snapshot.ts";
import { at, healthy } from "../../support/site-status.ts";

const mqtt: MqttPart = {
  state: "up",
  since: at(14),
  server: "mqtts://broker.site.test:8883",
  session: 312,
  rttMs: 60.7,
  outbox: { state: 0, response: 0, event: 3, oldestMs: 900 },
  dropped: 0,
};
const types = (changes: Partial<Parts>): readonly string[] => besideProblems(healthy(changes)).map(({ type }) => type);

test("a healthy board has no problems besides those of the site", () => {
  expect(types({ mqtt, clock: { state: "synced", apiSkewMs: 120 } })).toEqual([]);
});

test("a lost broker is a warning that says that the site continues; the broker's own hint goes before ours", () => {
  const down = {
    ...mqtt,
    state: "down",
    since: at(3000),
    error: { message: "the broker broker:8883 cannot be reached" },
  } as const;
  const [problem] = besideProblems(healthy({ mqtt: down }));
  expect(problem).toMatchObject({
    type: "BrokerUnreachable",
    severity: "warning",
    message: "the broker broker:8883 cannot be reached (for 10m); the site itself is managed as usual",
    hint: expect.stringContaining("siteward doctor --only mqtt"),
  });
  const waiting = { ...down, nextAttempt: at(3780) };
  expect(besideProblems(healthy({ mqtt: waiting }))[0]?.message).toBe(
    "the broker broker:8883 cannot be reached (for 10m); next attempt at 13:03:00 UTC; the site itself is managed as usual",
  );
  const refused = { ...down, error: { message: "no", hint: "ask the operator" } };
  expect(besideProblems(healthy({ mqtt: refused }))[0]?.hint).toBe("ask the operator");
});

test("a clock that differs from the API server's by half a minute or more is reported with its direction", () => {
  const skewProblem = (apiSkewMs: number) =>
    besideProblems(healthy({ clock: { state: "synced", apiSkewMs } }))[0]?.message;
  expect([0, 30_000, -30_000].map(skewProblem)).toEqual([undefined, undefined, undefined]);
  expect(skewProblem(31_000)).toBe("this board's clock is 31s behind the API server's");
  expect(skewProblem(-3_600_000)).toBe("this board's clock is 1h ahead of the API server's");
});

test("a state folder in memory is a warning, and so is a kernel without memory limits", () => {
  const { journal, memory } = healthy();
  if (!journal || !memory) throw new Error("no parts");
  expect(types({ journal: { ...journal, persistence: "volatile" } })).toEqual(["StateVolatile"]);
  expect(types({ memory: { ...memory, cgroup: "off" } })).toEqual(["MemoryCgroupOff"]);
});

describe("an operator's hold", () => {
  const holds: HoldsPart = {
    freezes: [
      { scope: "zone", target: "plant7-a", until: at(7200), by: "ops:alice", reason: "radio maintenance CHG-1182" },
      { scope: "site", until: at(5400), by: "local:1000" },
    ],
    pauses: [{ controller: "pod-gc", until: at(9000), by: "ops:bob" }],
    confirmed: [{ target: "plant7-b", until: at(9000), by: "ops:bob", reason: "burnt down" }],
    quietUntil: at(3660),
  };

  test("is reported with author, reason and remaining time, and is not a fault", () => {
    const found = holdProblems(healthy({ holds }));
    expect(found.map(({ severity, message }) => [severity, message])).toEqual([
      [
        "info",
        "evictions from lost or not-ready boards of zone plant7-a are frozen for 1h more, by ops:alice (radio maintenance CHG-1182)",
      ],
      ["info", "evictions from lost or not-ready boards of the site are frozen for 30m more, by local:1000"],
      ["info", "pod-gc is paused for 1h30m more, by ops:bob"],
      [
        "info",
        "boards of zone plant7-b that have been silent since the confirmation count as dead for 1h30m more, by ops:bob (burnt down)",
      ],
      ["info", "no evictions from lost or not-ready boards for 1m more"],
    ]);
    expect(found.slice(0, 3).map(({ hint }) => hint?.replace(/^drains.* still take effect; /, ""))).toEqual([
      `to lift the freeze: siteward cmd eviction.thaw '{"scope":"zone","target":"plant7-a"}' --reason TEXT`,
      "to lift the freeze: siteward cmd eviction.thaw --reason TEXT",
      `to resume it: siteward cmd controllers.resume '{"controller":"pod-gc"}' --reason TEXT`,
    ]);
    expect(found.find(({ type }) => type === "ZoneConfirmedDead")?.hint).toBe(
      `to withdraw it: siteward cmd zone.unconfirm-dead '{"zone":"plant7-b"}' --reason TEXT`,
    );
  });

  test("is shown at the affected zones, evictions and controllers", () => {
    const controllers = [{ name: "pod-gc", state: "running", queue: 0 }] as const;
    const status = snapshot(healthy({ holds, controllers }), undefined);
    expect(status.zones?.[0]?.frozenUntil).toBe("2026-11-20T14:00:00.000Z");
    expect(status.eviction?.frozen).toHaveLength(2);
    expect(status.controllers?.[0]).toMatchObject({
      state: "paused",
      until: "2026-11-20T14:30:00.000Z",
      by: "ops:bob",
    });
    expect(status.holds).toMatchObject({ quietUntil: "2026-11-20T13:01:00.000Z" });
    expect(status.health.level).toBe("ok");
  });

  test("keeps its end while time passes, and is a change only when it begins or ends", () => {
    const one = snapshot(healthy({ holds }), undefined);
    const later = snapshot(healthy({ holds }, at(3630)), one);
    expect(later.holds?.freezes[0]?.until).toBe(one.holds?.freezes[0]?.until);
    expect(significantState(later)).toBe(significantState(one));
    const ended = snapshot(healthy({ holds: { ...holds, freezes: [] } }), one);
    expect(significantState(ended)).not.toBe(significantState(one));
  });
});

test("a second node lifecycle controller is a critical problem, and the hint gives the flags that disable it", () => {
  const found = (manager: string) => judgeProblem({ manager, wrote: "taints", board: "pi-2", at: at(0) }, at(90));
  expect(found("kube-controller-manager")).toMatchObject({
    severity: "critical",
    message: "kube-controller-manager judges the boards of this site too: it wrote taints of pi-2 (seen 1m30s ago)",
    hint: expect.stringMatching(
      /^add -node-lifecycle-controller,-taint-eviction-controller to the --controllers of kube-controller-manager/,
    ),
  });
  expect(found("k3s").hint).toContain("k3s server with --kube-controller-manager-arg=controllers+=-node-lifecycle");
  expect(found("edge-judge").hint).toContain("edge-judge");
  expect(problems(healthy({ problems: [found("k3s")] }))[0]?.type).toBe("SecondJudge");
});

test("a status with every member is accepted by a reader, and so is a status without optional members", () => {
  const full = healthy({
    mqtt,
    clock: { state: "synced", source: "timesyncd", apiSkewMs: -120.4 },
    holds: { freezes: [], pauses: [], confirmed: [] },
    commands: [{ id: "01JCZK6Q", name: "controllers.pause", state: "succeeded", at: at(3500), by: "ops:alice" }],
    board: {
      model: "Raspberry Pi 4 Model B Rev 1.5",
      compatible: "raspberrypi,4-model-b",
      ramBytes: 1_970_368_512,
      tempC: 61.2,
      tempZone: "cpu-thermal",
      throttled: { now: [], sinceBoot: ["undervoltage"] },
      storage: { dev: "mmcblk0", kind: "sd", wear: undefined, freeBytes: 9_126_805_504, readOnly: false },
      loadavg1: 0.42,
    },
    config: { files: [], warnings: [], desiredVersion: 42, appliedVersion: 42, state: "in-sync" },
  });
  for (const parts of [full, healthy()]) {
    const status = snapshot(parts, undefined);
    const read = readStatus(JSON.stringify(status));
    expect(typeof read, String(read)).toBe("object");
  }
  const { link, clock, board, commands } = snapshot(full, undefined);
  expect(link?.mqtt).toMatchObject({ session: 312, rttMs: 61, outbox: { event: 3, oldestMs: 900 } });
  expect(clock).toEqual({ state: "synced", source: "timesyncd", apiSkewMs: -120 });
  expect(board).toMatchObject({ loadavg1: 0.42, throttled: { sinceBoot: ["undervoltage"] } });
  expect(commands?.[0]?.at).toBe("2026-11-20T12:58:20.000Z");
});

test("a WAL that another process keeps from being checkpointed is a problem; its size alone is not", () => {
  const journal = { path: "/var/lib/siteward/cache.db", depth: 0, dbBytes: 2 ** 20, walExpected: 2 ** 25 };
  expect(types({ journal: { ...journal, walBytes: 2 ** 25 } })).toEqual([]);
  expect(types({ journal: { ...journal, walBytes: 2 ** 25 + 1 } })).toEqual(["CacheLogHeld"]);
  const text = (walBytes: number) => besideProblems(healthy({ journal: { ...journal, walBytes } }))[0]?.message;
  expect(text(2 ** 26)).toBe(text(2 ** 30));
  expect(text(2 ** 26)).toContain("/var/lib/siteward/cache.db has grown beyond 32 MiB");
});
