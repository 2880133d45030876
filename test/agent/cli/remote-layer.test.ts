import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { JsonRecord } from "../../../agent/base/json.ts";
import { readRemote, startRemote, writeRemote } from "../../../agent/config/remote-file.ts";
import { blank } from "../../../agent/config/remote-record.ts";
import { configOf } from "../../../agent/process/load-config.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A board with a file, a drop-in, and settings of its fleet. */
function board(
  config: JsonRecord,
  { own = "", dropIn = "", env = {} }: { own?: string; dropIn?: string; env?: Record<string, string> } = {},
) {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-layers-"));
  folders.push(folder);
  const head = "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n";
  const file = path.join(folder, "siteward.yaml");
  writeFileSync(file, `${head}state: { folder: ${folder} }\n${own}`);
  mkdirSync(path.join(folder, "conf.d"));
  writeFileSync(path.join(folder, "conf.d/10.yaml"), `${head}${dropIn}`);
  writeRemote(folder, { ...blank, current: { version: 7, hash: "x", config } });
  return { folder, load: () => configOf({ env, hostname: "pi-1", home: folder }, file, () => undefined) };
}

const grace = (value: string): string => `nodeLifecycle: { gracePeriod: ${value} }\n`;

describe("settings of the fleet", () => {
  test("lie over the board's files and under its environment", () => {
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
    ["the board locked one of them meanwhile", "remote: { locked: log.* }\n"],
    ["they no longer go together with its own", "leader: { duration: 20s, renewDeadline: 10s, retry: 2s }\n"],
  ])("are left out as a whole, with a word about it, where %s", (_, own) => {
    const config = { leader: { renewDeadline: "30s" }, log: { level: "debug" } };
    const { config: found, warnings, remoteVersion } = board(config, { own }).load();
    expect(remoteVersion).toBeUndefined();
    expect(found.log.level).toBe("info");
    expect(warnings.join()).toContain("the fleet's settings, version 7, are left out");
  });

  test("are not even read where the board takes none", () => {
    const { config, warnings } = board({ log: { level: "debug" } }, { own: "remote: { enabled: false }\n" }).load();
    expect([config.log.level, warnings]).toEqual(["info", []]);
  });

  test("that are on trial are left out where their start cannot be counted", () => {
    const { folder } = board({});
    const record = readRemote(folder);
    const trial = {
      document: { version: 8, hash: "y", config: {} },
      canaryMs: 5000,
      before: { lease: true, api: true, mqtt: true },
      starts: 0,
    };
    writeRemote(folder, { ...record, trial });
    expect(startRemote(folder).trial?.starts).toBe(1);
    expect(readRemote(folder).trial?.starts).toBe(1);
    // In the way of the new file.
    mkdirSync(path.join(folder, ".remote.json.tmp"));
    expect(startRemote(folder).trial).toBeUndefined();
    expect(readRemote(folder).trial?.starts).toBe(1);
  });
});
