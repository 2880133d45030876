import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../../../../agent/base/errors.ts";
import type { Profile } from "../../../../agent/board/profile/profile.ts";
import { checkFile } from "../../../../agent/config/load.ts";
import { agentState } from "../../../../agent/doctor/checks/agent-state.ts";
import { boardProfile, checkPower, checkTemperature } from "../../../../agent/doctor/checks/board.ts";
import { checkSkew, clockSync } from "../../../../agent/doctor/checks/clock.ts";
import { configParse } from "../../../../agent/doctor/checks/configuration.ts";
import { nodeJudge } from "../../../../agent/doctor/checks/judge.ts";
import { checkConflict, type ObservedLease } from "../../../../agent/doctor/checks/lease.ts";
import { memoryCgroup } from "../../../../agent/doctor/checks/memory.ts";
import { checkLoop } from "../../../../agent/doctor/checks/mqtt.ts";
import { neededPermissions } from "../../../../agent/doctor/checks/needed-permissions.ts";
import { signKeys } from "../../../../agent/doctor/checks/signing.ts";
import {
  checkNotify,
  checkScore,
  sandboxScore,
  systemdVersion,
  systemdWatchdog,
} from "../../../../agent/doctor/checks/systemd.ts";
import { checkAgentVersion, checkBoardVersions, checkServerVersion } from "../../../../agent/doctor/checks/version.ts";
import { programRunner } from "../../../../agent/doctor/programs.ts";
import { snapshot } from "../../../../agent/status/snapshot.ts";
import { permitted } from "../../../support/rbac.ts";
import { healthy } from "../../../support/site-status.ts";
import { ambient, Folder, patient } from "../patient.ts";

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const facts =
  (table: Readonly<Record<string, string>>) =>
  (file: string): string | undefined =>
    table[file];

test("an unknown setting fails config.parse with its line and the nearest name", () => {
  const file = folder.file("siteward.yaml");
  writeFileSync(file, "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\nleader:\n  durration: 60s\n");
  let problems: readonly string[] = [];
  try {
    checkFile(file);
  } catch (error) {
    if (error instanceof ConfigError) problems = error.problems;
  }
  const verdict = configParse({ ...patient(folder), configuration: { problems } });
  expect(verdict.level).toBe("fail");
  expect(verdict.message).toMatch(/siteward\.yaml:4: .*durration.*duration/);
});

test("a configuration that this user may not read is a matter of permission, not of its settings", () => {
  const problem =
    "/etc/siteward/siteward.yaml cannot be read: no permission; the agent's user must be allowed to read it";
  const { level, hint } = configParse({ ...patient(folder), configuration: { problems: [problem] } });
  expect([level, hint]).toEqual([
    "fail",
    "Run this as root or as the agent's user, or give this user the permission to read the file.",
  ]);
});

test.each(["AgentHeld", "AgentEnded"])(
  "an agent whose status says %s fails, with the cause and the next step",
  async (type) => {
    const problem = { type, severity: "critical", message: "state.db cannot be written", hint: "free space" } as const;
    const checked = (problems: readonly (typeof problem)[], isFresh: boolean) =>
      agentState({
        status: { status: snapshot(healthy({ problems }), undefined), isFresh },
        program: async () => undefined,
      });
    const failure = { level: "fail", message: `${type}: state.db cannot be written`, hint: "free space" };
    expect(await Promise.all([checked([problem], true), checked([problem], false)])).toMatchObject([failure, failure]);
    expect(await checked([], true)).toMatchObject({ level: "ok" });
  },
);

describe("an agent that does not work", () => {
  const last = (ending?: { readonly cause: string; readonly message?: string }) => ({
    ...snapshot(healthy(), undefined),
    ...(ending && { ending }),
  });

  test.each([
    ["was killed", last(), true, "pid 812 gone", "it was killed or crashed, and journalctl -u siteward may say why"],
    ["was stopped", last({ cause: "stop" }), true, "pid 812 gone", "it was stopped"],
    ["failed", last({ cause: "failure", message: "disk full" }), true, "pid 812 gone", "it ended: disk full"],
    ["has not started since a boot", last(), true, "the agent has not started since", "it was killed or crashed"],
  ])("because it %s fails, with the cause and the next step", async (_what, status, isGone, why, cause) => {
    const seen = { status, isFresh: false, stale: { why, isGone } };
    const { level, message, hint } = await agentState({ status: seen, program: async () => undefined });
    expect(level).toBe("fail");
    expect(message).toContain(`the agent is not running (${why}): ${cause}`);
    expect(hint).toContain("systemctl status siteward");
  });

  test("because it hangs fails", async () => {
    const stale = { why: "pid 812 exists but hangs", isGone: false };
    const seen = { status: last(), isFresh: false, stale };
    expect(await agentState({ status: seen, program: async () => undefined })).toMatchObject({
      level: "fail",
      message: "the agent does not respond (pid 812 exists but hangs)",
    });
  });

  test.each([
    ["never ran", "ActiveState=inactive\nResult=success\n", "skip"],
    ["fails at each start", "ActiveState=activating\nResult=exit-code\n", "fail"],
    ["was given up by systemd", "ActiveState=failed\nResult=exit-code\n", "fail"],
  ])("and has no status because it %s", async (_what, stdout, level) => {
    const program = async () => ({ code: 0, stdout, stderr: "" });
    expect(await agentState({ status: undefined, program })).toMatchObject({ level });
  });
});

describe("the clock", () => {
  test("is trusted if timesyncd or another client set it, and not otherwise", async () => {
    const board = patient(folder);
    const files = (table: Readonly<Record<string, string>>) => ({ ...board.files, read: facts(table) });
    const says = (stdout: string) => async () => ({ code: 0, stdout, stderr: "" });
    const marked = files({ "/run/systemd/timesync/synchronized": "" });
    expect(await clockSync({ ...board, files: marked })).toMatchObject({ level: "ok" });
    expect(await clockSync({ ...board, files: files({}), program: says("yes\n") })).toMatchObject({ level: "ok" });
    for (const program of [says("no\n"), async () => undefined])
      expect(await clockSync({ ...board, files: files({}), program })).toMatchObject({
        level: "warn",
        hint: expect.stringContaining("timedatectl set-ntp true"),
      });
  });

  test("gives a warning beyond 30 seconds of difference from the API server's, and a failure beyond five minutes", () => {
    const level = (seconds: number): string => checkSkew(seconds * 1000).level;
    expect([0, 30, -30, 31, -31, 300, -300, 301, -301].map(level)).toEqual(
      ["ok", "ok", "ok", "warn", "warn", "warn", "warn", "fail", "fail"], // biome-ignore format: one row
    );
    expect(checkSkew(-3_600_000).message).toBe("this board's clock is 1h behind the API server's");
  });
});

describe("memory", () => {
  const firmware = { "/boot/firmware/cmdline.txt": "root=…" };

  test("of a kernel without the controller is reported with the missing words for the command line, and no others", () => {
    const none = { ...firmware, "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io pids\n" };
    expect(memoryCgroup(facts({ ...none, "/proc/cmdline": "console=tty1 cgroup_disable=memory\n" }))).toEqual({
      level: "warn",
      message:
        "the kernel does not limit memory: MemoryHigh= and MemoryMax= have no effect; the agent still keeps its own limit",
      hint: "Add to the one line of /boot/firmware/cmdline.txt, then restart the board: cgroup_enable=memory cgroup_memory=1",
    });
    expect(memoryCgroup(facts({ ...none, "/proc/cmdline": "cgroup_enable=memory\n" })).hint).toMatch(
      /: cgroup_memory=1$/,
    );
    const both = "cgroup_enable=memory cgroup_memory=1\n";
    expect(memoryCgroup(facts({ ...none, "/proc/cmdline": both })).hint).toContain("newer kernel");
  });

  test("of a kernel with the controller passes, and is skipped if the kernel reports nothing", () => {
    expect(memoryCgroup(facts({ "/sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n" })).level).toBe("ok");
    expect(memoryCgroup(facts({ "/proc/cgroups": "memory\t0\t88\t1\n" })).level).toBe("info");
    expect(memoryCgroup(facts({})).level).toBe("skip");
  });
});

describe("the site's Lease", () => {
  const seen = (...holders: readonly string[]): readonly ObservedLease[] =>
    holders.map((holder, at) => ({ holder, transitions: at, renewTime: String(at) }));

  test("that two boards take from each other is a failure; one that changes hands once shows an election", () => {
    expect(checkConflict(seen("pi-1_a", "pi-2_b", "pi-1_a", "pi-2_b"), undefined, "s")).toMatchObject({
      level: "fail",
      message:
        "pi-1_a and pi-2_b keep taking the site's Lease from each other: it changed hands 3 times during this check",
    });
    expect(checkConflict(seen("pi-1_a", "pi-2_b", "pi-2_b"), undefined, "s")).toMatchObject({
      level: "ok",
      message: "pi-2 leads, term 2",
    });
  });

  test("that two processes of one board take from each other is reported as a copy of its card", () => {
    const { level, hint } = checkConflict(seen("pi-1_a", "pi-1_b", "pi-1_a"), undefined, "s");
    expect(level).toBe("fail");
    expect(hint).toContain("copy of this board's card");
  });

  test("that names a holder other than the board that considers itself the leader is a failure", () => {
    const status = snapshot(
      healthy({ identity: { site: "s", board: "pi-1", node: "pi-1", profile: undefined } }),
      undefined,
    );
    expect(checkConflict(seen("pi-2_b", "pi-2_b"), status, "s")).toMatchObject({
      level: "fail",
      message: "the agent of this board reports that it leads, but the Lease names pi-2_b",
    });
    expect(checkConflict(seen("pi-1_b", "pi-1_b"), status, "s")).toMatchObject({ level: "ok" });
    // Enrolled for another site a moment ago: the agent still leads the former one, which this Lease does not show.
    expect(checkConflict(seen("pi-2_b", "pi-2_b"), status, "other")).toMatchObject({ level: "ok" });
  });

  test("that another process renews under the name of a board that follows is a failure", () => {
    const leader = { role: "standby", holder: "pi-3", term: 5, leaseDurationMs: 60_000, ownDuration: 60_000 } as const;
    const status = snapshot(
      healthy({ leader, identity: { site: "s", board: "pi-3", node: "pi-3", profile: undefined } }),
      undefined,
    );
    const lease = (second: number, transitions = 5, holder = "pi-3_a") => ({
      holder,
      transitions,
      renewTime: String(second),
    });
    expect(checkConflict([lease(1), lease(1), lease(3)], status, "s")).toMatchObject({
      level: "fail",
      message: expect.stringContaining("pi-3_a renews the Lease"),
      hint: expect.stringContaining("copy of this board's card"),
    });
    // Its own former process does not renew it; in the next term, its agent may have begun to lead.
    expect(checkConflict([lease(1), lease(1)], status, "s").level).toBe("ok");
    expect(checkConflict([lease(1, 6), lease(3, 6)], status, "s").level).toBe("ok");
    expect(checkConflict([lease(1, 5, "pi-30_a"), lease(3, 5, "pi-30_a")], status, "s").level).toBe("ok");
    expect(checkConflict([lease(1), lease(3)], status, "other").level).toBe("ok");
  });

  test("without a holder is a warning; the agent's own findings come first", () => {
    expect(checkConflict([], undefined, "s").level).toBe("warn");
    const message = "another process writes the site's Lease under this agent's identity, pi-1_a";
    const problems = [{ type: "IdentityCollision", severity: "critical", message } as const];
    const status = snapshot(healthy({ problems }), undefined);
    expect(checkConflict(seen("pi-1_a"), status, "s")).toMatchObject({ level: "fail", message });
  });
});

describe("systemd", () => {
  const says =
    (stdout: string, code = 0) =>
    async () => ({ code, stdout, stderr: "" });

  test("of an old version is reported with the features that it lacks, and a missing one is skipped", async () => {
    expect(await systemdVersion(says("systemd 257 (257.8-1~deb13u2)\n"))).toMatchObject({ level: "ok" });
    expect(await systemdVersion(says("systemd 252 (252.39-1~deb12u1)\n"))).toMatchObject({
      level: "info",
      message: expect.stringMatching(/252 lacks features of newer versions: 253: OpenFile=; 254: RestartSteps=/),
    });
    expect((await systemdVersion(says("systemd 249 (249.11)\n"))).message).toContain("250: encrypted credentials");
    expect(await systemdVersion(async () => undefined)).toMatchObject({ level: "skip" });
  });

  test("without its hardware watchdog is reported with the two lines that turn it on", async () => {
    expect(await systemdWatchdog(says("15s\n"))).toMatchObject({ level: "ok" });
    expect(await systemdWatchdog(says("0\n"))).toMatchObject({
      level: "info",
      hint: expect.stringContaining("RuntimeWatchdogSec=15s"),
    });
    expect(await systemdWatchdog(says("", 1))).toMatchObject({ level: "skip" });
  });

  const unit = {
    LoadState: "loaded",
    Type: "notify",
    NotifyAccess: "main",
    ExecStart: "",
    OpenFile: "",
    StatusText: "x",
  };
  test.each<[what: string, changes: Partial<typeof unit>, level: string, said: string]>([
    ["the launcher", { ExecStart: "{ argv[]=/usr/bin/perl /usr/lib/siteward/launch.pl node }" }, "ok", "launch.pl"],
    ["OpenFile=", { OpenFile: "/run/systemd/notify:notify" }, "ok", "OpenFile="],
    ["systemd-notify", { NotifyAccess: "all" }, "ok", "systemd-notify"],
    ["nothing", {}, "warn", "the agent cannot reach systemd"],
    ["no notifications", { Type: "simple" }, "warn", "Type=simple"],
    ["no unit", { LoadState: "not-found" }, "skip", "no siteward.service is installed"],
  ])("a unit with %s is reported", (_, changes, level, said) => {
    const verdict = checkNotify(new Map(Object.entries({ ...unit, ...changes })));
    expect(verdict.level).toBe(level);
    expect(verdict.message).toContain(said);
  });

  test("a sandbox that a drop-in weakened is reported with its score", () => {
    const printed = (score: string): string => `→ Overall exposure level for siteward.service: ${score} 🙂\n`;
    expect(checkScore(printed("1.1 OK"))).toMatchObject({
      level: "ok",
      message: expect.stringContaining("1.1 (OK)"),
    });
    expect(checkScore(printed("6.3 MEDIUM"))).toMatchObject({
      level: "info",
      hint: expect.stringContaining("systemctl cat"),
    });
  });

  test("a board without systemd-analyze, or a machine without systemd, is skipped", async () => {
    expect((await sandboxScore(async () => undefined)).level).toBe("skip");
    expect(checkScore("Unit siteward.service not found.\n").level).toBe("skip");
  });
});

test("a missing program, or one that does not end, has no result; a failing program is reported", async () => {
  const run = programRunner(ambient.clock, {
    path: process.env.PATH,
    signal: new AbortController().signal,
    limit: 300,
  });
  expect(await run("no-such-program-at-all", [])).toBeUndefined();
  expect(await run("sleep", ["30"])).toBeUndefined();
  expect(await run("sh", ["-c", "echo out; echo err >&2; exit 3"])).toEqual({
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
});

test("an interrupt of the doctor does not wait for the programs that it runs", async () => {
  const interrupted = new AbortController();
  const asked = programRunner(ambient.clock, { path: process.env.PATH, signal: interrupted.signal })("sleep", ["30"]);
  interrupted.abort();
  expect(await asked).toBeUndefined();
});

describe("the board", () => {
  const profile: Profile = {
    id: "raspberry-pi-4",
    title: "Raspberry Pi 4",
    match: { compatible: ["raspberrypi,4-model-b"], ramMiB: [0, 4096] },
    runtime: { oldSpaceMiB: 64, semiSpaceMiB: 1, jitless: false, memoryHighMiB: 160, memoryMaxMiB: 210 },
    settings: {},
    file: "/usr/lib/siteward/profiles.d/raspberry-pi-4.json",
  };
  const pi4 = facts({
    "/sys/firmware/devicetree/base/compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0",
    "/proc/meminfo": "MemTotal:        1924188 kB\n",
  });

  test("that matches a profile passes, if the unit was set up for it", () => {
    expect(boardProfile(profile, pi4, undefined)).toEqual({
      level: "ok",
      message: "raspberry-pi-4 (raspberrypi,4-model-b, 1879 MiB)",
    });
    expect(boardProfile(profile, pi4, "[Service]\nMemoryMax=210M\n").level).toBe("ok");
    expect(boardProfile(profile, pi4, "[Service]\nMemoryMax=128M\n")).toMatchObject({
      level: "warn",
      hint: expect.stringContaining("siteward profile apply"),
    });
  });

  test("that matches no profile is reported", () => {
    expect(boardProfile(undefined, pi4, undefined).level).toBe("warn");
    const generic = { ...profile, id: "generic", match: { compatible: [], ramMiB: [0, 4096] as const } };
    expect(boardProfile(generic, pi4, undefined).level).toBe("info");
    expect(boardProfile(generic, facts({}), undefined).level).toBe("ok");
  });

  test("with undervoltage, now or since its boot, needs a better supply", () => {
    const levels = [
      undefined,
      { now: [], sinceBoot: [] },
      { now: [], sinceBoot: ["undervoltage"] as const },
      { now: ["undervoltage"] as const, sinceBoot: ["undervoltage"] as const },
    ].map((power) => checkPower(power));
    expect(levels.map(({ level }) => level)).toEqual(["skip", "ok", "warn", "warn"]);
    expect(levels[2]?.message).toBe("since boot, but not now: undervoltage");
    expect(levels[3]?.hint).toContain("5.1 V");
  });

  test("is judged too warm by its own trip points if the kernel reports them", () => {
    const limits = { warn: 75, critical: 85, belowTrip: 5 };
    const at = (celsius: number, slowsAt?: number): string =>
      checkTemperature({ zone: "cpu-thermal", celsius, slowsAt, stopsAt: undefined }, limits).level;
    expect([at(74), at(75), at(94, 100), at(95, 100)]).toEqual(["ok", "warn", "ok", "warn"]);
    expect(checkTemperature(undefined, limits).level).toBe("skip");
  });
});

test("a fleet that does not require signed commands gets a warning", () => {
  expect(signKeys(folder.path, false).level).toBe("ok");
  expect(signKeys(folder.path, true)).toMatchObject({
    level: "warn",
    hint: expect.stringContaining("siteward keygen"),
  });
  mkdirSync(folder.file("trust.d"));
  writeFileSync(folder.file("trust.d/ops.pub"), "");
  expect(signKeys(folder.file("trust.d"), true)).toMatchObject({
    level: "ok",
    message: "commands must be signed by ops",
  });
});

test("different versions of the running agent, of the API server and of other boards are reported", () => {
  expect(checkAgentVersion("0.2.0", "0.1.0")).toMatchObject({ level: "warn", hint: "systemctl restart siteward" });
  expect([undefined, "0.2.0"].map((running) => checkAgentVersion("0.2.0", running).level)).toEqual(["ok", "ok"]);
  const servers = ["v1.29.9", "v1.30.0", "v1.36.3", "v1.37.0-rc.1", "v1.33.4+k3s1", undefined];
  expect(servers.map((server) => checkServerVersion(server).level)).toEqual(["warn", "ok", "ok", "warn", "ok", "ok"]);
  const boards = [["pi-1", "0.2.0"], ["pi-2", "0.1.0"]] as const; // biome-ignore format: one row
  expect(checkBoardVersions("0.2.0", "pi-1", boards)).toMatchObject({
    level: "warn",
    message: "this board runs 0.2.0, and other boards run different versions: pi-2 0.1.0",
  });
  expect(checkBoardVersions("0.2.0", "pi-3", boards.slice(0, 1))).toMatchObject({
    level: "ok",
    message: "the only other board that reports a version runs 0.2.0 too",
  });
  // Right after an upgrade, its own Node shows the version from before.
  expect(checkBoardVersions("0.2.0", "pi-2", boards).level).toBe("ok");
  expect(checkBoardVersions("0.2.0", "pi-1", boards.slice(0, 1)).message).toBe("no other board reports its version");
});

test("a board's message to itself that is refused, or accepted and not delivered, is a failure of the broker's ACL", () => {
  const topic = "sw1/acme/plant7/pi-3/res/_doctor";
  expect(checkLoop({ kind: "closed", topic, took: 61 })).toMatchObject({ level: "ok" });
  for (const kind of ["refused", "lost"] as const)
    expect(checkLoop({ kind, topic, why: "not authorized (0x87)" })).toMatchObject({
      level: "fail",
      hint: expect.stringContaining("siteward broker-acl"),
    });
  expect(checkLoop({ kind: "queued" }).level).toBe("skip");
});

test("the checked permissions are those that systemd/rbac.yaml grants, in any configuration", () => {
  const words = (settings: Readonly<Record<string, string>>): readonly string[] => {
    const { configuration } = patient(folder, {}, settings);
    if (!("loaded" in configuration)) throw new Error("no configuration");
    return neededPermissions(configuration.loaded.config).map(({ verb, group, resource, subresource, namespace }) =>
      [
        `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`,
        ...(namespace === undefined ? [] : [`in ${namespace}`]),
      ].join(" "),
    );
  };
  const everything = words({
    SITEWARD_SITE_NODE_SELECTOR: "site=a",
    SITEWARD_SITE_NAMESPACE_SELECTOR: "site=a",
    SITEWARD_DAEMON_SET_BIND: "true",
  });
  const granted = new Set(permitted());
  expect(everything.filter((one) => !granted.has(one))).toEqual([]);
  expect([...granted].filter((one) => !everything.includes(one))).toEqual([]);
  expect(words({ SITEWARD_SITE_NODE_SELECTOR: "site=a" })).not.toContain("create pods");
  for (const fewer of [{ SITEWARD_SITE_NODE_SELECTOR: "site=a" }, { SITEWARD_CONTROLLERS_DAEMON_SET_MODE: "off" }]) {
    const ofDrain = ["get nodes", "patch nodes", "list pods", "create pods/eviction", "get daemonsets.apps"];
    const few = words(fewer);
    expect(ofDrain.filter((one) => !few.includes(one))).toEqual([]);
    expect(few).not.toContain("list daemonsets.apps");
  }
  expect(words({ SITEWARD_CONTROLLERS_ENDPOINTS_MODE: "off" })).not.toContain("patch endpoints");
});

test("controllers in shadow mode need no permission to write, and read what they would read anyway", () => {
  const modes = ["NODE_LIFECYCLE", "TAINT_EVICTION", "POD_GC"].map((name) => `SITEWARD_CONTROLLERS_${name}_MODE`);
  const needs = (mode: string, others: Readonly<Record<string, string>> = {}) => {
    const { configuration } = patient(
      folder,
      {},
      {
        ...Object.fromEntries(modes.map((name) => [name, mode])),
        SITEWARD_CONTROLLERS_DAEMON_SET_MODE: "off",
        ...others,
      },
    );
    if (!("loaded" in configuration)) throw new Error("no configuration");
    return neededPermissions(configuration.loaded.config);
  };
  const required = (found: ReturnType<typeof needs>): readonly string[] =>
    found.flatMap(({ verb, resource, subresource, optional }) =>
      optional === undefined && ["nodes", "pods"].includes(resource)
        ? [`${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`]
        : [],
    );
  const reads = ["nodes", "pods"].flatMap((of) => ["get", "list", "watch"].map((verb) => `${verb} ${of}`));
  expect(required(needs("shadow")).toSorted()).toEqual(reads.toSorted());
  expect(needs("shadow").map(({ resource }) => resource)).toContain("persistentvolumeclaims");
  const evicting = required(needs("shadow", { SITEWARD_CONTROLLERS_TAINT_EVICTION_MODE: "act" }));
  expect(evicting).toContain("delete pods");
  expect(evicting).not.toContain("patch nodes/status");
});

test("beside a kube-controller-manager, the check of other judges passes while all controllers of boards are in shadow mode", async () => {
  const found = (others: Readonly<Record<string, string>>) =>
    nodeJudge({
      ...patient(
        folder,
        {},
        {
          SITEWARD_CONTROLLERS_NODE_LIFECYCLE_MODE: "shadow",
          SITEWARD_CONTROLLERS_POD_GC_MODE: "shadow",
          ...others,
        },
      ),
      api: {} as never,
    });
  expect(await found({ SITEWARD_CONTROLLERS_TAINT_EVICTION_MODE: "shadow" })).toMatchObject({
    level: "ok",
    message: expect.stringContaining("another program should judge the boards"),
  });
  expect(await found({})).toMatchObject({
    level: "info",
    message: expect.stringContaining("taintEviction is act and podGC shadow"),
  });
});
