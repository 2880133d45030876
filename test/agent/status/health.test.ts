import { expect, test } from "vitest";
import { isReady, levelOf, problems } from "../../../agent/status/health.ts";
import type { ApiPart, LeaderPart, Parts, WatchPart } from "../../../agent/status/parts.ts";
import { api, at, healthy, leading, nodesWatch } from "../../support/site-status.ts";

const told = (changes: Partial<Parts>): string[] =>
  problems(healthy(changes)).map(({ type, severity, message }) => `${severity} ${type}: ${message}`);

const leader = leading();
const nodes = nodesWatch();

test("a healthy site has nothing to say, and the agent is ready", () => {
  expect(told({})).toEqual([]);
  expect(levelOf([])).toBe("ok");
  expect(isReady(healthy())).toBe(true);
});

test.each([
  ["unreachable", "warning ApiUnreachable", "degraded"],
  ["credentials", "critical CredentialsInvalid", "critical"],
  ["certificate", "critical ServerNotTrusted", "critical"],
  ["forbidden", "critical PermissionMissing", "critical"],
] as const)("a link that is down because of %s: %s, with a next step", (kind, expected, level) => {
  const down: ApiPart = { ...api, state: "down", since: at(3480), error: { kind, message: "no answer" } };
  const found = problems(healthy({ api: down }));
  expect(told({ api: down })).toEqual([
    `${expected}: no answer (for 2m); this board evicts nothing meanwhile, and pods keep running`,
  ]);
  expect(found[0]?.hint).toBeTruthy();
  expect(levelOf(found)).toBe(level);
  expect(isReady(healthy({ api: down }))).toBe(false);
});

test("the hint of who saw the error goes before our general one", () => {
  const error = { kind: "credentials", message: "token expired", hint: "run kubeadm token" } as const;
  expect(problems(healthy({ api: { ...api, state: "down", error } }))[0]?.hint).toBe("run kubeadm token");
});

test("a link that was never up yet is told with its error, without a duration", () => {
  const error = { kind: "unreachable", message: "connect 10.0.0.1:6443: refused" } as const;
  expect(told({ api: { ...api, state: "starting", error } })).toEqual([
    "warning ApiUnreachable: connect 10.0.0.1:6443: refused",
  ]);
});

test("nobody leads: silent up to twice the lease and a retry, critical after that", () => {
  const nobody = (since: number): LeaderPart => ({
    ...leader,
    role: "standby",
    holder: undefined,
    leaderlessSince: at(since),
  });
  expect(told({ leader: nobody(3600 - 150) })).toEqual([]);
  expect(told({ leader: nobody(3600 - 151) })).toEqual([
    "critical NoLeader: no board has led the site for 2m31s: nobody holds its Lease",
  ]);
  expect(isReady(healthy({ leader: nobody(3500) }))).toBe(false);
});

test.each([3600, 2 ** 31 - 1])("a Lease of %i s that nobody renews is told before it is over", (seconds) => {
  const long: LeaderPart = { ...leader, role: "standby", renewed: at(3600 - 151), duration: seconds * 1000 };
  expect(told({ leader: long })).toEqual([
    "warning NoLeader: the site's Lease is not renewed for 2m31s: it was written for 1h, and no board takes it over before",
  ]);
  expect(told({ leader: { ...long, renewed: at(3600 - 150) } })).toEqual([]);
  expect(told({ leader: { ...long, renewed: at(3600 - 7231) } })).toEqual([
    "critical NoLeader: no board has led the site for 2h: its Lease is not renewed, and no board took it over",
  ]);
});

test("a Lease that nobody renews or takes over is told too, but not while the link is down", () => {
  const abandoned: LeaderPart = { ...leader, role: "standby", holder: undefined, renewed: at(3000) };
  expect(told({ leader: abandoned })).toEqual([
    "critical NoLeader: no board has led the site for 10m: its Lease is not renewed, and no board took it over",
  ]);
  const error = { kind: "unreachable", message: "no answer" } as const;
  const cut = told({ leader: abandoned, api: { ...api, state: "down", since: at(3000), error } });
  expect(cut).toEqual([
    "warning ApiUnreachable: no answer (for 10m); this board evicts nothing meanwhile, and pods keep running",
  ]);
});

test("a standby is ready with its watches off; a leader only with all of them live", () => {
  const off: WatchPart = { ...nodes, state: "off" };
  expect(isReady(healthy({ leader: { ...leader, role: "standby", holder: "edge-05" }, watches: [off] }))).toBe(true);
  expect(isReady(healthy({ watches: [nodes, { ...nodes, state: "syncing" }] }))).toBe(false);
});

test("watches that fell silent are named with their silence", () => {
  const silent: WatchPart = { ...nodes, state: "silent", heard: at(3475) };
  expect(told({ watches: [silent] })).toEqual([
    "warning WatchStalled: nodes: silent for 2m5s; nothing is concluded from silence meanwhile",
  ]);
});

test("changes that wait to be applied for a minute are a problem; a burst of a few seconds is none", () => {
  expect(told({ watches: [{ ...nodes, behind: 59_000 }] })).toEqual([]);
  expect(told({ watches: [{ ...nodes, behind: 185_000 }] })).toEqual([
    "warning CacheBehind: nodes: received changes have been waiting for 3m5s; until they are applied the controllers act on older objects",
  ]);
});

test("objects that could not be used are counted, and the last one is named", () => {
  const strange: WatchPart = { ...nodes, rejected: 7, rejectedWhy: ["a has no name", "b has no uid"] };
  expect(told({ watches: [strange] })).toEqual([
    "warning ObjectsRejected: nodes: 7 could not be used, the last: b has no uid",
  ]);
});

test("a disrupted zone says how many boards are left and what is done about it", () => {
  const zones = [
    { name: "a", state: "PartialDisruption", nodes: 4, ready: 1, rate: 0.01 },
    { name: "b", state: "FullDisruption", nodes: 2, ready: 0, rate: 0 },
    { name: "c", state: "Normal", nodes: 8, ready: 7, rate: 0.1 },
  ] as const;
  expect(told({ zones })).toEqual([
    "warning ZoneDisrupted: a: PartialDisruption, 1 of 4 boards ready, evicting at 0.01/s",
    "warning ZoneDisrupted: b: FullDisruption, 0 of 2 boards ready, evicting nothing",
  ]);
});

test("a quarantine, a conflict of sites and a failing controller each have a line, the gravest first", () => {
  const found = told({
    eviction: { queue: 2, pending: 0, held: { why: "quarantine after an outage", since: at(3540) } },
    selectionConflicts: [
      { site: "plant8", lease: "kube-system/siteward-plant8", boards: 4, some: ["edge-07", "edge-08", "edge-09"] },
    ],
    controllers: [{ name: "taint-eviction", state: "failing", queue: 3, lastError: "forbidden" }],
    problems: [{ type: "StorageFull", severity: "critical", message: "no space on /var" }],
  });
  expect(found).toEqual([
    "critical SelectionConflict: site plant8 was here first and claims 4 of this site's boards too; " +
      "nothing is done with them: edge-07, edge-08, edge-09, …",
    "critical StorageFull: no space on /var",
    "warning QuarantineHold: no silent board is evicted for now: quarantine after an outage (for 1m)",
    "warning ControllerFailing: taint-eviction: forbidden",
  ]);
});

test("what two sites both select is told: boards, namespaces, or all there are", () => {
  const conflict = { site: "a", lease: "kube-system/siteward-a", boards: 1, some: ["pi-1"] };
  const said = (more: object): readonly string[] => told({ selectionConflicts: [{ ...conflict, ...more }] });
  const first = "critical SelectionConflict: site a was here first and claims ";
  expect(said({ namespaces: { count: 4, some: ["shop", "till", "wifi"] } })).toEqual([
    `${first}1 of this site's boards too; nothing is done with them: pi-1; ` +
      "and 4 of this site's namespaces; nothing is done with their workloads: shop, till, wifi, …",
  ]);
  expect(said({ boards: 0, some: [], namespaces: "every" })).toEqual([
    `${first}every namespace; nothing is done with workloads`,
  ]);
});

test("a rebuilt cache is news for an hour, and no reason to worry", () => {
  const rebuilt = (since: number): Partial<Parts> => ({ rebuilt: { at: at(since), why: "the file was damaged" } });
  expect(told(rebuilt(1))).toEqual(["info CacheRebuilt: cache.db was made anew 59m59s ago: the file was damaged"]);
  expect(told(rebuilt(0))).toEqual([]);
  expect(levelOf(problems(healthy(rebuilt(1))))).toBe("ok");
});
