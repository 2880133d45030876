import { sentenceOf } from "../base/errors.ts";
import { powerReading } from "../board/sensors/power.ts";
import { temperatureReading } from "../board/sensors/thermal.ts";
import { readText } from "../config/read-text.ts";
import { type CheckResult, fail, skip } from "./check-result.ts";
import { agentState } from "./checks/agent-state.ts";
import { apiRbac, apiTls } from "./checks/api.ts";
import { boardProfile, checkPower, checkTemperature } from "./checks/board.ts";
import { cacheCurrent } from "./checks/cache.ts";
import { clockSkew, clockSync } from "./checks/clock.ts";
import { configParse } from "./checks/configuration.ts";
import { credsFiles } from "./checks/credentials.ts";
import { nodeIdentity } from "./checks/identity.ts";
import { journalIntegrity } from "./checks/journal.ts";
import { nodeJudge } from "./checks/judge.ts";
import { leaseConflict } from "./checks/lease.ts";
import { memoryCgroup } from "./checks/memory.ts";
import { BrokerChecks } from "./checks/mqtt.ts";
import { signKeys } from "./checks/signing.ts";
import { nodeSite } from "./checks/site.ts";
import { storageFsync, storagePersist, storageSpace, storageWear } from "./checks/storage.ts";
import { sandboxScore, systemdNotify, systemdVersion, systemdWatchdog } from "./checks/systemd.ts";
import { versionSkew } from "./checks/version.ts";
import { witnessLan, witnessSite } from "./checks/witness.ts";
import { configOf, type Patient } from "./patient.ts";

/** The verdict of one check. */
export interface Finding extends CheckResult {
  readonly id: string;
}

interface Check {
  readonly id: string;
  /** Uses the network; skipped with --offline. */
  readonly usesNetwork?: true;
  run(patient: Patient, broker: BrokerChecks): CheckResult | Promise<CheckResult>;
}

const notConfigured = skip("the configuration cannot be read");
const dropIn = "/etc/systemd/system/siteward.service.d/10-profile.conf";

/** All checks, in the order of the report: each check follows those that it depends on. */
const checks: readonly Check[] = [
  { id: "config.parse", run: configParse },
  { id: "agent.state", run: agentState },
  { id: "creds.files", run: credsFiles },
  { id: "api.tls", usesNetwork: true, run: apiTls },
  { id: "api.rbac", usesNetwork: true, run: apiRbac },
  { id: "mqtt.tls", usesNetwork: true, run: (_, broker) => broker.tls() },
  { id: "mqtt.acl", usesNetwork: true, run: (_, broker) => broker.acl() },
  { id: "clock.sync", run: clockSync },
  { id: "clock.skew", usesNetwork: true, run: clockSkew },
  { id: "lease.conflict", usesNetwork: true, run: leaseConflict },
  { id: "node.identity", usesNetwork: true, run: nodeIdentity },
  { id: "node.judge", usesNetwork: true, run: nodeJudge },
  { id: "node.site", usesNetwork: true, run: nodeSite },
  { id: "witness.lan", run: (patient) => witnessLan(patient) },
  { id: "witness.site", run: witnessSite },
  {
    id: "board.profile",
    run: ({ configuration, files }) => {
      if (!("loaded" in configuration)) return notConfigured;
      const written = readText(dropIn);
      return boardProfile(configuration.loaded.profile, files.read, "text" in written ? written.text : undefined);
    },
  },
  { id: "board.power", run: ({ files }) => checkPower(powerReading(files)) },
  {
    id: "board.temp",
    run: (patient) => {
      const config = configOf(patient);
      return config ? checkTemperature(temperatureReading(patient.files), config.board.temperature) : notConfigured;
    },
  },
  { id: "storage.persist", run: storagePersist },
  { id: "storage.space", run: storageSpace },
  { id: "storage.wear", run: storageWear },
  { id: "storage.fsync", run: storageFsync },
  { id: "mem.cgroup", run: ({ files }) => memoryCgroup(files.read) },
  { id: "systemd.version", run: ({ program }) => systemdVersion(program) },
  { id: "systemd.watchdog", run: ({ program }) => systemdWatchdog(program) },
  { id: "systemd.notify", run: ({ program }) => systemdNotify(program) },
  { id: "sandbox.score", run: ({ program }) => sandboxScore(program) },
  {
    id: "sign.keys",
    run: (patient) => {
      const config = configOf(patient);
      return config ? signKeys(config.commands.trust, config.mqtt.url !== undefined) : notConfigured;
    },
  },
  { id: "journal.integrity", run: journalIntegrity },
  { id: "cache.current", usesNetwork: true, run: cacheCurrent },
  { id: "version.skew", usesNetwork: true, run: versionSkew },
];

export const checkIds: readonly string[] = checks.map(({ id }) => id);

/** The ids of the checks that a word of --only selects, which is one check or a group such as "mqtt". */
export const checksNamed = (word: string): readonly string[] =>
  checkIds.filter((id) => id === word || id.startsWith(`${word}.`));

const interrupted = skip("interrupted");

/**
 * Runs the selected checks concurrently and returns their findings in order. A check that throws has failed. A check
 * that an interrupt ends counts as skipped, regardless of its findings, because it did not examine everything.
 */
export function examine(
  patient: Patient,
  { only, offline }: { readonly only?: readonly string[] | undefined; readonly offline: boolean },
): Promise<readonly Finding[]> {
  const broker = new BrokerChecks(patient);
  const chosen = checks.filter(({ id }) => only === undefined || only.includes(id));
  return Promise.all(
    chosen.map(async ({ id, usesNetwork, run }): Promise<Finding> => {
      if (offline && usesNetwork) return { id, ...skip("--offline") };
      try {
        const found = await run(patient, broker);
        return { id, ...(patient.signal.aborted ? interrupted : found) };
      } catch (error) {
        if (patient.signal.aborted) return { id, ...interrupted };
        return { id, ...fail(`this check could not be completed: ${sentenceOf(error)}`) };
      }
    }),
  );
}
