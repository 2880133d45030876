import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { JsonRecord } from "../../../agent/base/json.ts";
import { check } from "../../../agent/cli/commands/config.ts";
import { readRemote, startRemote, writeRemote } from "../../../agent/config/remote-file.ts";
import { whyNotToLeadWithout } from "../../../agent/config/remote-fit.ts";
import { blank } from "../../../agent/config/remote-record.ts";
import { leftOutProblem } from "../../../agent/fleet/configuration/config-problems.ts";
import { configOf } from "../../../agent/process/load-config.ts";
import { recordingIo } from "../../support/recording-io.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const head = "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n";

/** A board with a file, a drop-in, and settings of its fleet. */
function board(
  config: JsonRecord,
  { own = "", dropIn = "", env = {} }: { own?: string; dropIn?: string; env?: Record<string, string> } = {},
) {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-layers-"));
  folders.push(folder);
  const file = path.join(folder, "siteward.yaml");
  writeFileSync(file, `${head}state: { folder: ${folder} }\n${own}`);
  mkdirSync(path.join(folder, "conf.d"));
  writeFileSync(path.join(folder, "conf.d/10.yaml"), `${head}${dropIn}`);
  writeRemote(folder, { ...blank, current: { version: 7, hash: "x", config } });
  return { folder, load: () => configOf({ env, hostname: "pi-1", home: folder }, file, () => undefined) };
}

const grace = (value: string): string => `nodeLifecycle: { gracePeriod: ${value} }\n`;

describe("fleet settings", () => {
  test("override the board's files and are overridden by its environment", () => {
    const config = { nodeLifecycle: { gracePeriod: "70s" }, log: { level: "debug" }, status: { every: "20s" } };
    const env = { SITEWARD_LOG_LEVEL: "warn" };
    const {
      config: found,
      origins,
      remoteVersion,
    } = board(config, { own: grace("50s"), dropIn: grace("60s"), env }).load();
    expect(found.nodeLifecycle.gracePeriod).toBe(70_000);
    expect(found.log.level).toBe("warn");
    expect(remoteVersion).toBe(7);
    expect(origins.get("nodeLifecycle.gracePeriod")).toBe("fleet, version 7");
    expect(origins.get("log.level")).toBe("SITEWARD_LOG_LEVEL");
  });

  test.each([
    [
      "the board has since locked one of them",
      "remote: { locked: leader.renewDeadline }\n",
      { path: "/leader/renewDeadline", code: "locked" },
    ],
    [
      "they no longer fit the board's own settings",
      "leader: { duration: 20s, renewDeadline: 10s, retry: 2s }\n",
      { path: "/leader/renewDeadline", code: "schema" },
    ],
    [
      "a version of the agent refuses one of them",
      "",
      { path: "/nodeLifecycle/gracePeriod", code: "schema" },
      { nodeLifecycle: { gracePeriod: "15s" } },
    ],
    ["a version of the agent does not know one of them", "", { path: "/odd", code: "unknown-key" }, { odd: {} }],
  ])("stay in force except for the conflict if %s", (_, own, fault, more: JsonRecord = {}) => {
    const config = {
      leader: { renewDeadline: "30s" },
      site: { nodeSelector: "plant=7" },
      controllers: { daemonSet: { mode: "off" } },
      ...more,
    };
    const { config: found, leftOut, warnings, remoteVersion } = board(config, { own }).load();
    expect(remoteVersion).toBeUndefined();
    expect([found.site.nodeSelector, found.controllers.daemonSet.mode]).toEqual(["plant=7", "off"]);
    expect(leftOut).toMatchObject({ version: 7, faults: [fault] });
    expect(warnings).toEqual([]);
    expect(whyNotToLeadWithout(leftOut)).toBeUndefined();
  });

  test("lose only the value in conflict, which the problem names", () => {
    const memory = { memory: { soft: "120MiB" }, log: { level: "debug" } };
    const { config, leftOut } = board(memory, { dropIn: "memory: { soft: 90MiB, hard: 100MiB }\n" }).load();
    expect([config.memory.soft, config.memory.hard, config.log.level]).toEqual([90 * 2 ** 20, 100 * 2 ** 20, "debug"]);
    expect(leftOut && leftOutProblem(leftOut)).toMatchObject({
      type: "FleetConfigLeftOut",
      severity: "warning",
      message: expect.stringMatching(
        /version 7 .* memory\.soft 120MiB must not be more than memory\.hard \(100MiB\); the other settings/,
      ),
    });
    const against = board({ memory: { hard: "100MiB" } }, { own: "memory: { soft: 110MiB, hard: 200MiB }\n" }).load();
    expect(against.leftOut?.faults).toMatchObject([
      { path: "/memory/hard", message: expect.stringContaining("memory.soft") },
    ]);
  });

  test("cannot set less memory than a leader needs, unlike the board's own files", () => {
    const { config, leftOut } = board(
      { memory: { hard: "32MiB" } },
      { own: "memory: { soft: 60MiB, hard: 80MiB }\n" },
    ).load();
    expect([config.memory.hard, leftOut?.faults]).toMatchObject([
      80 * 2 ** 20,
      [{ path: "/memory/hard", code: "schema" }],
    ]);
  });

  test("are part of what config check checks", async () => {
    const { folder } = board({ memory: { soft: "120MiB" } }, { dropIn: "memory: { soft: 90MiB, hard: 100MiB }\n" });
    const io = recordingIo();
    const args = {
      flags: new Set<string>(),
      values: new Map<string, string>(),
      words: [path.join(folder, "conf.d/10.yaml")],
    };
    await expect(check(io, args)).rejects.toThrow(/10\.yaml: version 7 of the fleet settings .* memory\.soft 120MiB/);
    writeFileSync(path.join(folder, "conf.d/10.yaml"), `${head}memory: { soft: 90MiB, hard: 130MiB }\n`);
    expect(await check(io, args)).toBe(0);
  });

  test.each([
    ["site.nodeSelector", { site: { nodeSelector: "plant=7" } }],
    ["controllers.podGC.*", { controllers: { podGC: { mode: "off" } } }],
    ["leader.namespace", { leader: { namespace: "plant-7" } }],
    ["*", { quietHours: { windows: [] } }],
  ])("keep the board from leading if %s, which the fleet set, is locked", (locked, config) => {
    const { leftOut } = board(config, { own: `remote: { locked: "${locked}" }\n` }).load();
    expect(whyNotToLeadWithout(leftOut)).toBeDefined();
    expect(leftOut && leftOutProblem(leftOut)).toMatchObject({
      severity: "critical",
      message: expect.stringContaining("this board does not stand for election"),
    });
  });

  test("that are lost keep the board from leading", () => {
    const lost = board({ site: { nodeSelector: "plant=7" } });
    for (const name of ["remote.json", "remote.copy.json"])
      writeFileSync(path.join(lost.folder, name), Buffer.alloc(500));
    const { leftOut } = lost.load();
    expect(whyNotToLeadWithout(leftOut)).toBeDefined();
    expect(leftOut && leftOutProblem(leftOut)).toMatchObject({
      type: "FleetConfigLeftOut",
      severity: "critical",
      message: expect.stringMatching(
        /and their version are unknown: .*remote\.json is damaged; this board does not stand/,
      ),
    });
  });

  test("are not even read on a board that accepts none", () => {
    const { config, warnings } = board({ log: { level: "debug" } }, { own: "remote: { enabled: false }\n" }).load();
    expect([config.log.level, warnings]).toEqual(["info", []]);
  });

  test("on trial are left out if their starts cannot be counted", () => {
    const { folder } = board({});
    const record = readRemote(folder);
    const trial = {
      document: { version: 8, hash: "y", config: {} },
      canaryMs: 5000,
      before: { lease: true, api: true, mqtt: true },
      starts: 0,
    };
    writeRemote(folder, { ...record, trial });
    expect(startRemote(folder).record.trial?.starts).toBe(1);
    expect(readRemote(folder).trial?.starts).toBe(1);
    // In the way of the new file.
    mkdirSync(path.join(folder, ".remote.json.tmp"));
    expect(startRemote(folder).record.trial).toBeUndefined();
    expect(readRemote(folder).trial?.starts).toBe(1);
  });
});
