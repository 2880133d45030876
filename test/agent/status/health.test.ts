import { expect, test } from "vitest";
import { isReady, levelOf, problems } from "../../../agent/status/health.ts";
import type { ApiPart, LeaderPart, Parts, WatchPart } from "../../../agent/status/parts.ts";
import { api, at, healthy, leading, nodesWatch } from "../../support/site-status.ts";

const conditionsOf = (changes: Partial<Parts>): string[] =>
  problems(healthy(changes)).map(({ type, severity, message }) => `${severity} ${type}: ${message}`);

const leader = leading();
const nodes = nodesWatch();

test("a healthy site has no conditions, and the agent is ready", () => {
  expect(conditionsOf({})).toEqual([]);
  expect(levelOf([])).toBe("ok");
  expect(isReady(healthy())).toBe(true);
});

test.each([
  ["unreachable", "warning ApiUnreachable", "degraded", "while the link is down"],
  ["credentials", "critical CredentialsInvalid", "critical", "until they are accepted"],
  ["certificate", "critical ServerNotTrusted", "critical", "until it is trusted"],
  ["forbidden", "critical PermissionMissing", "critical", "until it is granted"],
] as const)("a link that is down because of %s: %s, with a next step", (kind, expected, level, until) => {
  const down: ApiPart = { ...api, state: "down", since: at(3480), error: { kind, message: "no answer" } };
  const found = problems(healthy({ api: down }));
  expect(conditionsOf({ api: down })).toEqual([
    `${expected}: no answer (for 2m); ${until}, this board evicts nothing, and pods keep running`,
  ]);
  expect(found[0]?.hint).toBeTruthy();
  expect(levelOf(found)).toBe(level);
  expect(isReady(healthy({ api: down }))).toBe(false);
});

test("the hint of the part that saw the error goes before the general hint", () => {
  const error = { kind: "credentials", message: "token expired", hint: "run kubeadm token" } as const;
  expect(problems(healthy({ api: { ...api, state: "down", error } }))[0]?.hint).toBe("run kubeadm token");
});

test("credentials or a certificate that fail under an unset clock: the clock comes first", () => {
  const hintOf = (kind: "certificate" | "unreachable", state: "synced" | "unsynced") =>
    problems(healthy({ api: { ...api, state: "down", error: { kind, message: "no answer" } }, clock: { state } })).find(
      ({ type }) => type !== "ClockUnsynced",
    )?.hint;
  expect(hintOf("certificate", "unsynced")).toMatch(
    /^this board's clock has not been set since boot: .*; then: check the kube/,
  );
  expect(hintOf("certificate", "synced")).toMatch(/^check the kubeconfig/);
  expect(hintOf("unreachable", "unsynced")).toMatch(/^check the link/);
});

test("a link that was never up is reported with its error, without a duration", () => {
  const error = { kind: "unreachable", message: "connect 10.0.0.1:6443: refused" } as const;
  expect(conditionsOf({ api: { ...api, state: "starting", error } })).toEqual([
    "warning ApiUnreachable: connect 10.0.0.1:6443: refused",
  ]);
});

test("a missing leader is a condition once the Lease has expired, and critical after twice its duration", () => {
  const leaderless = (since: number): LeaderPart => ({
    ...leader,
    role: "standby",
    holder: undefined,
    leaderlessSince: at(since),
  });
  expect(conditionsOf({ leader: leaderless(3600 - 90) })).toEqual([]);
  expect(conditionsOf({ leader: leaderless(3600 - 150) })).toEqual([
    "warning NoLeader: no board holds the site's Lease (for 2m30s now), and the site has no leader until a board acquires the Lease",
  ]);
  expect(conditionsOf({ leader: leaderless(3600 - 151) })).toEqual([
    "critical NoLeader: no board has led the site for 2m31s: no board holds the site's Lease",
  ]);
  expect(isReady(healthy({ leader: leaderless(3500) }))).toBe(false);
});

test.each([3600, 2 ** 31 - 1])("a Lease of %i s that is not renewed is reported before it expires", (seconds) => {
  const long: LeaderPart = { ...leader, role: "standby", leaseAgeMs: 151_000, leaseDurationMs: seconds * 1000 };
  expect(conditionsOf({ leader: long })).toEqual([
    "warning NoLeader: the site's Lease has not been renewed for 2m31s: its holder set a duration of 1h, and no board takes the Lease over before that time has passed",
  ]);
  expect(conditionsOf({ leader: { ...long, leaseAgeMs: 90_000 } })).toEqual([]);
  expect(conditionsOf({ leader: { ...long, leaseAgeMs: 91_000 } })).toEqual([
    "warning NoLeader: the holder of the site's Lease does not renew it (for 1m31s now), and the site has no leader until a board acquires the Lease",
  ]);
  expect(conditionsOf({ leader: { ...long, leaseAgeMs: 7_231_000 } })).toEqual([
    "critical NoLeader: no board has led the site for 2h: the site's Lease has not been renewed, and no board has taken it over",
  ]);
});

test("a Lease that is neither renewed nor taken over is reported too, but not while the link is down", () => {
  const abandoned: LeaderPart = { ...leader, role: "standby", holder: undefined, leaseAgeMs: 600_000 };
  expect(conditionsOf({ leader: abandoned })).toEqual([
    "critical NoLeader: no board has led the site for 10m: the site's Lease has not been renewed, and no board has taken it over",
  ]);
  const error = { kind: "unreachable", message: "no answer" } as const;
  const cut = conditionsOf({ leader: abandoned, api: { ...api, state: "down", since: at(3000), error } });
  expect(cut).toEqual([
    "warning ApiUnreachable: no answer (for 10m); while the link is down, this board evicts nothing, and pods keep running",
  ]);
});

test("a standby is ready with its watches off; a leader only with all of them live", () => {
  const off: WatchPart = { ...nodes, state: "off" };
  expect(isReady(healthy({ leader: { ...leader, role: "standby", holder: "edge-05" }, watches: [off] }))).toBe(true);
  expect(isReady(healthy({ watches: [nodes, { ...nodes, state: "syncing" }] }))).toBe(false);
});

test("watches that fell silent are named with the length of their silence", () => {
  const silent: WatchPart = { ...nodes, state: "silent", heardMs: 125_000 };
  expect(conditionsOf({ watches: [silent] })).toEqual([
    "warning WatchStalled: nodes: silent for 2m5s; until the watch recovers, no board is judged by its silence",
  ]);
});

test("a silent watch of pods does not prevent boards from being judged", () => {
  const said = (resource: string) =>
    conditionsOf({ watches: [{ ...nodes, resource, state: "silent", heardMs: 125_000 }] });
  expect(said("pods")).toEqual([
    "warning WatchStalled: pods: silent for 2m5s; until the watch recovers, the controllers may act on stale objects",
  ]);
  expect(said("leases.coordination.k8s.io")[0]).toContain("no board is judged by its silence");
});

test("changes that wait to be applied for a minute are a problem, but a burst of a few seconds is not", () => {
  expect(conditionsOf({ watches: [{ ...nodes, behindMs: 59_000 }] })).toEqual([]);
  expect(conditionsOf({ watches: [{ ...nodes, behindMs: 185_000 }] })).toEqual([
    "warning CacheBehind: nodes: received changes have been waiting for 3m5s; until they are applied, the controllers act on stale objects",
  ]);
});

test("objects that could not be used are counted, and the last one is named", () => {
  const strange: WatchPart = { ...nodes, rejected: 7, rejectedWhy: ["a has no name", "b has no uid"] };
  expect(conditionsOf({ watches: [strange] })).toEqual([
    "warning ObjectsRejected: nodes: 7 could not be used, the last one: b has no uid",
  ]);
});

test("a disrupted zone is reported with its remaining boards and the reaction", () => {
  const zones = [
    { name: "a", state: "PartialDisruption", nodes: 4, ready: 1, rate: 0.01 },
    { name: "b", state: "FullDisruption", nodes: 2, ready: 0, rate: 0 },
    { name: "c", state: "Normal", nodes: 8, ready: 7, rate: 0.1 },
  ] as const;
  expect(conditionsOf({ zones })).toEqual([
    "warning ZoneDisrupted: a: PartialDisruption, 1 of 4 boards ready, evicting at 0.01 boards/s",
    "warning ZoneDisrupted: b: FullDisruption, 0 of 2 boards ready, evicting nothing",
  ]);
  const times = { at: undefined, period: 5000, isPaused: false, unwritten: 0, behindSince: undefined, qps: 20 };
  expect(conditionsOf({ zones, judgement: { ...times, isShadowed: true } })).toContain(
    "warning ZoneDisrupted: a: PartialDisruption, 1 of 4 boards ready, evicting nothing (shadow mode)",
  );
  const hints = problems(healthy({ zones, judgement: { ...times, isShadowed: true } })).map(({ hint }) => hint);
  expect(hints).toEqual(["check power and network of the zone", "check power and network of the zone"]);
});

test.each([
  [{}, "10 of 10 per hour used"],
  [{ acts: 3, boards: 2, mostBoards: 2 }, "3 of 10 per hour used; 2 of at most 2 silent boards are tainted"],
  [{ boards: 2, mostBoards: 2 }, "10 of 10 per hour used; 2 of at most 2 silent boards are tainted"],
  [
    { acts: 0, isUnknown: true },
    "the acts of the last hour are unknown, because the site's Lease did not contain them",
  ],
  // The operator has raised the limit since.
  [{ limit: 20 }, "10 of 20 per hour used; a namespace may have used its share"],
  [
    { acts: 8, kept: 2, isUnknown: true },
    "the acts of the last hour are unknown, because the site's Lease did not contain them",
  ],
  [{ acts: 8, kept: 2 }, "8 of 10 per hour used (2 of the 10 are reserved for taints)"],
  [
    {
      acts: 7,
      kept: 2,
      usedBy: [
        { namespace: "default", acts: 2 },
        { namespace: "tenant", acts: 2 },
      ],
    },
    "7 of 10 per hour used (2 of the 10 are reserved for taints; default 2, tenant 2); a namespace may have used its share",
  ],
])("a safety valve that holds acts is critical, and says why: %j", (facts, why) => {
  const held = { held: 12, heldSince: at(3540), heldOn: ["edge-03", "edge-07"] };
  const valve = { acts: 10, limit: 10, boards: 1, mostBoards: 2, ...held };
  const found = problems(
    healthy({ eviction: { queue: 0, pending: 0, held: undefined, valve: { ...valve, ...facts } } }),
  );
  expect(found).toMatchObject([
    {
      type: "SafetyValveShut",
      severity: "critical",
      message: expect.stringMatching(/^12 acts on edge-03, edge-07 have waited since 2026-11-20 12:59 UTC: /),
      hint: `siteward why node/edge-03 shows what is held there; if these boards are really lost: siteward cmd valve.release '{"ttl":3600}' --reason TEXT`,
    },
  ]);
  expect(found[0]?.message.endsWith(`: ${why}`)).toBe(true);
});

test("pods that stay on silent boards are named with their boards, and how to evict them", () => {
  const said = (pods: number, on: readonly string[]) =>
    problems(healthy({ eviction: { queue: 0, pending: 0, held: undefined, staying: { pods, on: [...on] } } }));
  expect(said(1, ["pi-3"])).toMatchObject([
    {
      type: "PodsStaying",
      severity: "info",
      message:
        "1 pod on silent boards (pi-3) stays, because an eviction would gain no second copy, or because an annotation says so",
      hint: expect.stringContaining(`siteward cmd board.confirm-dead '{"board":"pi-3"}' --reason TEXT`),
    },
  ]);
  expect(said(12, ["a", "b"])[0]?.message).toMatch(/^12 pods on silent boards \(a, b\) stay, because/);
});

test("acts that the safety valve holds are counted, and more boards than are named may be concerned", () => {
  const said = (held: number, heldOn: readonly string[]) => {
    const valve = { acts: 10, limit: 10, boards: 1, mostBoards: 2, heldSince: at(3540), held, heldOn: [...heldOn] };
    return conditionsOf({ eviction: { queue: 0, pending: 0, held: undefined, valve } })[0];
  };
  expect(said(1, ["a"])).toContain(": 1 act on a has waited since ");
  expect(said(4, ["a", "b", "c"])).toContain(": 4 acts on a, b, c and perhaps others have waited since ");
  expect(said(99, ["a"])).toContain(": 99 acts on a have waited since ");
  expect(said(100, ["a"])).toContain(": at least 100 acts on a have waited since ");
  expect(said(0, [])).toContain(": harmful acts have waited since ");
});

test("a safety valve that does not hold an act is not a problem, even at its limit", () => {
  const valve = { acts: 10, limit: 10, boards: 2, mostBoards: 2 };
  expect(conditionsOf({ eviction: { queue: 0, pending: 0, held: undefined, valve } })).toEqual([]);
});

test("a zone that evicts nothing names the command by which an operator confirms that boards are dead", () => {
  const hintOf = (ready: number, rate: number) =>
    problems(healthy({ zones: [{ name: "b", state: "PartialDisruption", nodes: 4, ready, rate }] }))[0]?.hint;
  expect(hintOf(1, 0.01)).toBe("check power and network of the zone");
  expect(hintOf(1, 0)).toMatch(/; if a board is certainly dead: siteward cmd board\.confirm-dead '{"board":"NODE"}' /);
  expect(hintOf(0, 0)).toMatch(
    /; if all its boards are certainly dead: siteward cmd zone\.confirm-dead '{"zone":"b","ttl":3600}' /,
  );
});

test("a quarantine names the boards that it waits for, and its latest end", () => {
  const said = (names: readonly string[], count = names.length, until = 3640) => {
    const held = {
      why: "quarantine",
      since: at(3590),
      awaited: { count, some: names },
      until: until === 0 ? undefined : at(until),
    };
    return conditionsOf({ eviction: { queue: 0, pending: 0, held } })[0];
  };
  const first = "warning QuarantineHold: no silent board is evicted for now: quarantine (for 10s)";
  expect(said(["edge-06"])).toBe(`${first}, waiting for edge-06, at the latest until 13:00:40 UTC`);
  expect(said(["a", "b", "c"], 9)).toBe(`${first}, waiting for a, b, c, others, at the latest until 13:00:40 UTC`);
  // While the watches are not live, the time does not run.
  expect(said(["edge-06"], 1, 0)).toBe(`${first}, waiting for edge-06`);
});

test("a Lease that was handed over is not critical while the others may not have read it yet", () => {
  // A release writes a duration of a second.
  const free = { ...leader, role: "standby", holder: undefined, leaseDurationMs: 1000 } as const;
  const said = (since: number) => conditionsOf({ leader: { ...free, leaderlessSince: at(3600 - since) } });
  expect(said(90)).toEqual([]);
  expect(said(91)).toEqual([expect.stringMatching(/^warning NoLeader: no board holds the site's Lease/)]);
  expect(said(151)).toEqual([expect.stringMatching(/^critical NoLeader/)]);
});

test("a quarantine, a conflict of sites and a failing controller each have a line, the gravest first", () => {
  const found = conditionsOf({
    eviction: { queue: 2, pending: 0, held: { why: "quarantine after an outage", since: at(3540) } },
    selectionConflicts: [
      { site: "plant8", lease: "kube-system/siteward-plant8", boards: 4, some: ["edge-07", "edge-08", "edge-09"] },
    ],
    controllers: [{ name: "taint-eviction", state: "failing", queue: 3, lastError: "forbidden" }],
    problems: [{ type: "StorageFull", severity: "critical", message: "no space on /var" }],
  });
  expect(found).toEqual([
    "critical SelectionConflict: the older site plant8 claims 4 of this site's boards too, " +
      "which are left alone: edge-07, edge-08, edge-09, …",
    "critical StorageFull: no space on /var",
    "warning QuarantineHold: no silent board is evicted for now: quarantine after an outage (for 1m)",
    "warning ControllerFailing: taint-eviction: forbidden",
  ]);
});

test("conditions that only a leader knows are marked as the site's, those of the board are not", () => {
  const none = { count: 0, some: [] };
  const found = problems(
    healthy({
      boards: { lost: { count: 1, some: [{ name: "pi-3", since: at(3000) }] }, off: none, notReady: none, tainted: 0 },
      zones: [{ name: "plant7-b", state: "PartialDisruption", nodes: 4, ready: 1, rate: 0.01 }],
      eviction: { queue: 0, pending: 0, held: { why: "quarantine", since: at(3540) } },
      holds: { freezes: [{ scope: "site", until: at(7200), by: "ops:alice" }], pauses: [], confirmed: [] },
      controllers: [{ name: "pod-gc", state: "failing", queue: 0 }],
    }),
  );
  const types = (isOfSite: boolean) =>
    found.filter((one) => (one.isOfSite ?? false) === isOfSite).map(({ type }) => type);
  expect(types(true)).toEqual(["ZoneDisrupted", "QuarantineHold", "BoardsLost", "EvictionFrozen"]);
  expect(types(false)).toEqual(["ControllerFailing"]);
});

test("objects that two sites select are reported: boards, namespaces, or all of them", () => {
  const conflict = { site: "a", lease: "kube-system/siteward-a", boards: 1, some: ["pi-1"] };
  const said = (more: object): readonly string[] => conditionsOf({ selectionConflicts: [{ ...conflict, ...more }] });
  const first = "critical SelectionConflict: the older site a claims ";
  expect(said({ namespaces: { count: 4, some: ["shop", "till", "wifi"] } })).toEqual([
    `${first}1 of this site's boards too, which are left alone: pi-1; ` +
      "and 4 of this site's namespaces, whose workloads are left alone: shop, till, wifi, …",
  ]);
  expect(said({ boards: 0, some: [], namespaces: "every" })).toEqual([
    `${first}every namespace, so workloads are left alone`,
  ]);
});

test("a restored server is reported as long as the agent is cautious, even by a process that started later", () => {
  const restored = { hint: "restart every API server" };
  const rebuilt = { at: at(0), why: "the server was restored" };
  expect(conditionsOf({ restored, rebuilt })).toEqual([
    "warning ServerRestored: the server was restored; this board deleted its cache 1h ago; this board still checks whether any server shows state that was undone",
  ]);
  expect(conditionsOf({ restored })).toEqual([
    "warning ServerRestored: the API server was recently restored from a backup; this board still checks whether any server shows state that was undone",
  ]);
  expect(conditionsOf({ rebuilt })).toEqual([]);
});

test("a rebuilt cache is reported for an hour, and is not a fault", () => {
  const rebuilt = (since: number): Partial<Parts> => ({ rebuilt: { at: at(since), why: "the file was damaged" } });
  expect(conditionsOf(rebuilt(1))).toEqual([
    "info CacheRebuilt: cache.db was recreated 59m59s ago: the file was damaged",
  ]);
  expect(conditionsOf(rebuilt(0))).toEqual([]);
  expect(levelOf(problems(healthy(rebuilt(1))))).toBe("ok");
});
