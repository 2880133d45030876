import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import { ConfigError } from "../base/errors.ts";
import { isRecord } from "../base/json.ts";
import { apiVersion, checkFile, kind } from "../config/load.ts";
import { readText } from "../config/read-text.ts";
import { parseYaml } from "../config/yaml.ts";
import { readCredentials } from "../fleet/mqtt/credentials.ts";
import type { WantedFile } from "./file-set.ts";
import { folderBelow } from "./root-folder.ts";

/** The settings and file contents that make a board part of its site and, optionally, of a fleet. */
export interface Enrolment {
  readonly kubeconfig: string;
  /** The site's name; undefined for the default. */
  readonly site: string | undefined;
  /** The board's name; undefined for the host name. */
  readonly board: string | undefined;
  /** The settings of the fleet link; undefined if the board belongs to no fleet. */
  readonly fleet: FleetEnrolment | undefined;
}

export interface FleetEnrolment {
  readonly url: string;
  readonly name: string;
  /** In PEM. Certificate, key and CA are needed for a broker with TLS. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
}

/**
 * Paths of all enrolment files. `root`: "/" on this board, or the mount point of its card. Throws a ConfigError if a
 * folder cannot be found below the root.
 */
export function places(root: string) {
  const below = (folder: string): string => (root === "/" ? `/${folder}` : folderBelow(root, folder));
  const credentials = below("etc/siteward/credentials");
  return {
    credentials: (name: string) => join(credentials, name),
    settings: join(below("etc/siteward/conf.d"), "20-enrolled.yaml"),
    dropIn: join(below("etc/systemd/system/siteward.service.d"), "20-fleet.conf"),
    ledger: join(credentials, ".enrolment"),
  };
}

const secret = 0o600;
const open = 0o644;

/**
 * All files of an enrolment. Credentials precede the systemd drop-in that names them, because the unit needs them to
 * start.
 */
export function enrolmentFiles(enrolment: Enrolment, root: string): readonly WantedFile[] {
  const at = places(root);
  const { fleet } = enrolment;
  const pems = Object.entries({ "mqtt.crt": fleet?.certificate, "mqtt.key": fleet?.key, "mqtt-ca.crt": fleet?.ca });
  const credentials = pems.flatMap(([name, text]) => (text === undefined ? [] : [{ name, text }]));
  return [
    { path: at.credentials("kubeconfig"), text: enrolment.kubeconfig, mode: secret },
    ...credentials.map(({ name, text }) => ({ path: at.credentials(name), text, mode: secret })),
    { path: at.settings, text: settingsText(enrolment), mode: open },
    ...(credentials.length > 0
      ? [{ path: at.dropIn, text: dropInText(credentials.map(({ name }) => name)), mode: open }]
      : []),
  ];
}

/**
 * Files of an earlier enrolment that this one does not need. The systemd drop-in comes first, because it names the
 * others.
 */
export function leftovers({ fleet }: Enrolment, root: string): readonly string[] {
  const at = places(root);
  return fleet ? [] : [at.dropIn, ...["mqtt.crt", "mqtt.key", "mqtt-ca.crt"].map(at.credentials)];
}

/**
 * Keeps the names of an earlier enrolment unless new ones are given. A board that only gets a new token must not lose
 * the name of its site, because it would then compete for another site's Lease.
 */
export function withFormerNames(enrolment: Enrolment, root: string): Enrolment {
  const found = readText(places(root).settings);
  const former = "text" in found ? parseYaml(found.text).value : undefined;
  const nameIn = (section: string): string | undefined => {
    const value = isRecord(former) ? former[section] : undefined;
    return isRecord(value) && typeof value.name === "string" ? value.name : undefined;
  };
  return { ...enrolment, site: enrolment.site ?? nameIn("site"), board: enrolment.board ?? nameIn("board") };
}

/** The systemd drop-in. Its paths are those on the running board, regardless of `root`. */
const dropInText = (names: readonly string[]): string =>
  [
    "# Written by siteward enroll. The unit does not start if one of these files is missing.",
    "[Service]",
    ...names.map((name) => `LoadCredential=${name}:/etc/siteward/credentials/${name}`),
    "",
  ].join("\n");

function settingsText({ site, board, fleet }: Enrolment): string {
  const settings = {
    apiVersion,
    kind,
    ...(site !== undefined && { site: { name: site } }),
    ...(board !== undefined && { board: { name: board } }),
    ...(fleet && { mqtt: { url: fleet.url, fleet: fleet.name } }),
  };
  return `# Written by siteward enroll.\n${dump(settings)}`;
}

/** Validates names and addresses as settings. Throws a ConfigError with all problems. */
export function checkSettings(enrolment: Enrolment): void {
  const folder = mkdtempSync(join(tmpdir(), "siteward-enroll-"));
  const file = join(folder, "settings.yaml");
  try {
    writeFileSync(file, settingsText(enrolment), { mode: secret });
    checkFile(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map((problem) => problem.replace(/^\S*settings\.yaml(:\d+)?: /, "")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Throws unless the certificate is for this board and the key belongs to the certificate. */
export function checkFleet(
  fleet: FleetEnrolment | undefined,
  names: { readonly site: string; readonly board: string },
): void {
  if (!fleet?.url.startsWith("mqtts:")) return;
  const { certificate, key, ca } = fleet;
  const missing = Object.entries({ certificate, key, "mqtt-ca": ca }).filter(([, text]) => text === undefined);
  if (missing.length > 0)
    throw new ConfigError([`a broker with TLS needs ${missing.map(([name]) => `--${name}`).join(", ")}`]);
  const folder = mkdtempSync(join(tmpdir(), "siteward-enroll-"));
  try {
    const files = {
      certificate: join(folder, "mqtt.crt"),
      key: join(folder, "mqtt.key"),
      ca: join(folder, "mqtt-ca.crt"),
    };
    writeFileSync(files.certificate, certificate ?? "", { mode: secret });
    writeFileSync(files.key, key ?? "", { mode: secret });
    writeFileSync(files.ca, ca ?? "", { mode: secret });
    readCredentials(files, { fleet: fleet.name, ...names });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ConfigError([error.message.replaceAll(`${folder}/`, "")]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
