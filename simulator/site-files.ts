import { writeFileSync } from "node:fs";
import path from "node:path";
import { dump } from "js-yaml";
import { makeFolder } from "../storage/make-folder.ts";

/** The files of one board's agent. */
export interface BoardPaths {
  readonly config: string;
  readonly status: string;
  readonly log: string;
}

export type Sections = Readonly<Record<string, unknown>>;

export const siteName = "simulated";
export const fleetName = "demo";
const cluster = "siteward-up";

/** Whether an existing kubeconfig is one of ours, which may be overwritten. */
export const isOurKubeconfig = (text: string): boolean => text.includes(`current-context: ${cluster}`);

/** A kubeconfig for the site's API server, or for the link of one board to it. */
export function writeKubeconfig(file: string, port: number): void {
  const name = cluster;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  makeFolder(path.dirname(file));
  writeFileSync(file, dump(config), { mode: 0o600 });
}

const runFolderOf = (folder: string, board: string): string => path.join(folder, board, "run");

/** The status file of a board's agent. */
export const statusFileOf = (folder: string, board: string): string =>
  path.join(runFolderOf(folder, board), "status.json");

/** The configuration of an agent of the site: its own folders, its own link, and the scenario's settings. */
export function writeBoardFiles(
  folder: string,
  board: string,
  ports: { readonly api: number; readonly broker: number },
  sections: Sections,
): BoardPaths {
  const home = path.join(folder, board);
  const kubeconfig = path.join(home, "kubeconfig");
  const config = path.join(home, "siteward.yaml");
  const run = runFolderOf(folder, board);
  makeFolder(run);
  writeKubeconfig(kubeconfig, ports.api);
  const own: Sections = {
    apiVersion: "siteward.dev/v1",
    kind: "AgentConfiguration",
    site: { name: siteName },
    // The clock is trusted, because the machine need not have an NTP client.
    board: { name: board, clock: "trusted" },
    api: { kubeconfig },
    state: { folder: path.join(home, "state") },
    run: { folder: run },
    mqtt: { url: `mqtt://127.0.0.1:${ports.broker}`, fleet: fleetName },
    // All boards are on one machine, where a board whose link is cut would still answer.
    judgement: { witness: "off" },
    // The table must be current, not ten seconds old, and these files are not on flash that could wear out.
    status: { minInterval: "500ms", every: "5s" },
  };
  writeFileSync(config, dump(merged(sections, own)));
  return { config, status: statusFileOf(folder, board), log: path.join(home, "agent.log") };
}

/**
 * Merges the sections of a configuration. `own` takes precedence over the scenario, so that a scenario cannot redirect
 * an agent to another site.
 */
function merged(sections: Sections, own: Sections): Sections {
  const all = { ...sections, ...own };
  for (const [name, section] of Object.entries(sections)) {
    const ours = own[name];
    if (isSection(section) && isSection(ours)) all[name] = { ...section, ...ours };
  }
  return all;
}

const isSection = (value: unknown): value is Sections =>
  typeof value === "object" && value !== null && !Array.isArray(value);
