import { sentenceOf } from "../base/errors.ts";
import { powerReading } from "../board/power.ts";
import { temperatureReading } from "../board/thermal.ts";
import { readText } from "../config/read-text.ts";
import { apiRbac, apiTls } from "./check-api.ts";
import { boardProfile, powerVerdict, temperatureVerdict } from "./check-board.ts";
import { cacheCurrent } from "./check-cache.ts";
import { clockSkew, clockSync } from "./check-clock.ts";
import { configParse } from "./check-configuration.ts";
import { credsFiles } from "./check-credentials.ts";
import { journalIntegrity } from "./check-journal.ts";
import { nodeJudge } from "./check-judge.ts";
import { leaseConflict } from "./check-lease.ts";
import { memoryCgroup } from "./check-memory.ts";
import { BrokerChecks } from "./check-mqtt.ts";
import { signKeys } from "./check-signing.ts";
import { nodeSite } from "./check-site.ts";
import { storageFsync, storagePersist, storageSpace, storageWear } from "./check-storage.ts";
import { sandboxScore, systemdNotify, systemdVersion, systemdWatchdog } from "./check-systemd.ts";
import { versionSkew } from "./check-version.ts";
import { configOf, type Patient } from "./patient.ts";
import { fail, skip, type Verdict } from "./verdict.ts";

export interface Finding extends Verdict {
  readonly id: string;
}

interface Check {
  readonly id: string;
  /** Skipped with --offline. */
  readonly asksOthers?: true;
  look(patient: Patient, broker: BrokerChecks): Verdict | Promise<Verdict>;
}

const notConfigured = skip("the configuration cannot be read");
const dropIn = "/etc/systemd/system/siteward.service.d/10-profile.conf";

/** In the order of the report: prerequisites come first. */
const checks: readonly Check[] = [
  { id: "config.parse", look: configParse },
  { id: "creds.files", look: credsFiles },
  { id: "api.tls", asksOthers: true, look: apiTls },
  { id: "api.rbac", asksOthers: true, look: apiRbac },
  { id: "mqtt.tls", asksOthers: true, look: (_, broker) => broker.tls() },
  { id: "mqtt.acl", asksOthers: true, look: (_, broker) => broker.acl() },
  { id: "clock.sync", look: clockSync },
  { id: "clock.skew", asksOthers: true, look: clockSkew },
  { id: "lease.conflict", asksOthers: true, look: leaseConflict },
  { id: "node.judge", asksOthers: true, look: nodeJudge },
  { id: "node.site", asksOthers: true, look: nodeSite },
  {
    id: "board.profile",
    look: ({ configuration, files }) => {
      if (!("loaded" in configuration)) return notConfigured;
      const written = readText(dropIn);
      return boardProfile(configuration.loaded.profile, files.read, "text" in written ? written.text : undefined);
    },
  },
  { id: "board.power", look: ({ files }) => powerVerdict(powerReading(files)) },
  {
    id: "board.temp",
    look: (patient) => {
      const config = configOf(patient);
      return config ? temperatureVerdict(temperatureReading(patient.files), config.board.temperature) : notConfigured;
    },
  },
  { id: "storage.persist", look: storagePersist },
  { id: "storage.space", look: storageSpace },
  { id: "storage.wear", look: storageWear },
  { id: "storage.fsync", look: storageFsync },
  { id: "mem.cgroup", look: ({ files }) => memoryCgroup(files.read) },
  { id: "systemd.version", look: ({ program }) => systemdVersion(program) },
  { id: "systemd.watchdog", look: ({ program }) => systemdWatchdog(program) },
  { id: "systemd.notify", look: ({ program }) => systemdNotify(program) },
  { id: "sandbox.score", look: ({ program }) => sandboxScore(program) },
  {
    id: "sign.keys",
    look: (patient) => {
      const config = configOf(patient);
      return config ? signKeys(config.commands.trust, config.mqtt.url !== undefined) : notConfigured;
    },
  },
  { id: "journal.integrity", look: journalIntegrity },
  { id: "cache.current", asksOthers: true, look: cacheCurrent },
  { id: "version.skew", asksOthers: true, look: versionSkew },
];

export const checkIds: readonly string[] = checks.map(({ id }) => id);

/** The checks selected by a word of --only: a single one, or a group such as "mqtt". */
export const checksNamed = (word: string): readonly string[] =>
  checkIds.filter((id) => id === word || id.startsWith(`${word}.`));

/** Runs all checks concurrently and reports them in order. A check that throws becomes a failed finding. */
export function examine(
  patient: Patient,
  { only, offline }: { readonly only?: readonly string[] | undefined; readonly offline: boolean },
): Promise<readonly Finding[]> {
  const broker = new BrokerChecks(patient);
  const chosen = checks.filter(({ id }) => only === undefined || only.includes(id));
  return Promise.all(
    chosen.map(async ({ id, asksOthers, look }): Promise<Finding> => {
      if (offline && asksOthers) return { id, ...skip("--offline") };
      try {
        return { id, ...(await look(patient, broker)) };
      } catch (error) {
        return { id, ...fail(`this check failed by itself: ${sentenceOf(error)}`) };
      }
    }),
  );
}
