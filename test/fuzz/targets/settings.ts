import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { profileFrom } from "../../../agent/board/profile/profile.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { judgeRemote } from "../../../agent/config/remote-judge.ts";
import { decodeRecord, encodeRecord, inForce, recordStart, returnTo } from "../../../agent/config/remote-record.ts";
import { parseYaml } from "../../../agent/config/yaml.ts";
import { verdictProblem } from "../../../agent/fleet/configuration/config-problems.ts";
import { parseDesired } from "../../../agent/fleet/configuration/desired.ts";
import { readScenario } from "../../../simulator/scenarios/scenario-reader.ts";
import { boardOutage } from "../../../simulator/scenarios/shipped/board-outage.ts";
import { ensure, jsonIn, type Session, type Target, taken } from "../target.ts";

const written = `apiVersion: siteward.dev/v1
kind: AgentConfiguration
site: { name: plant7, nodeSelector: "site=a,!b" }
api:
  kubeconfig: /etc/siteward/kubeconfig
leader: { duration: 60s }
nodeLifecycle:
  gracePeriod: 40s
quietHours: { windows: "0 22 * * 1-5 for 8h" }
mqtt:
  url: mqtts://broker.example.org:8883
  fleet: acme
`;

const config = {
  nodeLifecycle: { gracePeriod: "50s" },
  log: { level: "debug" },
  quietHours: { windows: "@daily for 1h" },
};

/** Refused settings have no effect: the settings in force stay. */
const layers: Target = {
  name: "settings",
  form: "text",
  share: 10,
  open: () =>
    inFolder((folder) => {
      const file = path.join(folder, "siteward.yaml");
      return {
        example: () => written,
        run: (input, random) => {
          writeFileSync(file, input);
          const remote = { version: 3, config: jsonIn(input) ?? (random.next() < 0.5 ? config : {}) };
          const sources = { file, env: { SITEWARD_LOG_LEVEL: "info" }, hostname: "pi-1", profile: undefined, remote };
          return taken(["ConfigError"], () => loadConfig(sources));
        },
      };
    }),
};

const yaml: Target = {
  name: "yaml",
  form: "text",
  open: () => ({
    example: () => written,
    run: (input) => {
      const { value, problems, lineOf } = parseYaml(input.toString());
      lineOf(["site", "name"]);
      JSON.stringify(value);
      return problems.length === 0;
    },
  }),
};

const desired: Target = {
  name: "desired",
  form: "json",
  open: () => ({
    example: (random) => JSON.stringify({ v: 1, version: 1 + random.integer(99), config, canarySeconds: 60 }),
    run: (input) => {
      const found = parseDesired(input);
      if (found.kind === "malformed") ensure(found.fault.message !== "", "a fault is named");
      if (found.kind !== "document") return false;
      const faults = judgeRemote(found.document.config, "leader.*, link.watchStall");
      ensure(faults.length <= 20, "faults are few");
      return faults.length === 0;
    },
  }),
};

const remote: Target = {
  name: "remote-record",
  form: "json",
  open: () => ({
    example: (random) => {
      const document = (version: number) => ({ version, hash: "a".repeat(64), config });
      const trial = {
        document: document(4),
        canaryMs: 60_000,
        before: { lease: true, api: true, mqtt: true },
        starts: random.integer(3),
      };
      const verdict = {
        version: 5,
        hash: "b",
        state: "rejected",
        faults: [{ path: "/x", code: "schema", message: "is none" }],
      };
      return JSON.stringify({
        v: 1,
        desired: document(5),
        trial,
        current: document(3),
        good: [document(2)],
        verdict,
      });
    },
    run: (input) => {
      const record = decodeRecord(input.toString());
      if (!record) return false;
      const next = recordStart(record);
      inForce(next);
      if (next.verdict) verdictProblem(next.verdict, 3);
      returnTo(next, undefined);
      ensure(decodeRecord(encodeRecord(next)) !== undefined, "a decoded record can be encoded");
      return true;
    },
  }),
};

const shippedProfile = readFileSync(
  path.resolve(import.meta.dirname, "../../../firmware-profiles/generic.json"),
  "utf8",
);

const profile: Target = {
  name: "profile",
  form: "json",
  open: () => ({
    example: () => shippedProfile,
    run: (input) => typeof profileFrom(jsonIn(input), "my-board.json") !== "string",
  }),
};

const scenario: Target = {
  name: "scenario",
  form: "text",
  open: () => ({
    example: () => boardOutage,
    run: (input) => taken(["ConfigError"], () => readScenario("x.yaml", parseYaml(input.toString()))),
  }),
};

export const settings: readonly Target[] = [layers, yaml, desired, remote, profile, scenario];

/** A folder in memory, so that writes do not wait for a disk. */
const inMemory = "/dev/shm";

/** A folder for the duration of the target. */
export function inFolder(open: (folder: string) => Session): Session {
  const folder = mkdtempSync(path.join(existsSync(inMemory) ? inMemory : tmpdir(), "siteward-fuzz-"));
  const session = open(folder);
  return {
    ...session,
    close: () => {
      session.close?.();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
