import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import type { Io } from "../base/io.ts";
import { compatibles, type ReadFact, ramBytes } from "../board/facts.ts";
import { type BoardFacts, type Profile, type Profiles, profileFor, readProfiles } from "../board/profile.ts";
import { readFact } from "../board/read-fact.ts";
import { etc, type Loaded, loadConfig, type Sources } from "../config/load.ts";
import { readRemote } from "../config/remote-file.ts";
import { judgeRemote } from "../config/remote-judge.ts";
import { inForce, type RemoteRecord } from "../config/remote-record.ts";

/** The folder of the agent's status and its socket, as far as it is known without the configuration. */
export const runFolder = ({ env }: Pick<Io, "env">): string => env.SITEWARD_RUN_FOLDER || "/run/siteward";

/** Profiles of this board's own: an upgrade leaves them alone. */
export const ownProfiles = `${etc}/profiles.d`;

export interface LoadedConfig extends Loaded {
  readonly profile: Profile | undefined;
  /** Version of the fleet settings in force. */
  readonly remoteVersion: number | undefined;
}

/** The configuration of this board with the firmware profile that fits it. Throws a ConfigError with every problem. */
export function configOf(
  io: Pick<Io, "env" | "hostname" | "home">,
  file: string | undefined,
  read: ReadFact = readFact,
  recordIn: (folder: string) => RemoteRecord = readRemote,
): LoadedConfig {
  const { profiles, problems } = profilesOf(io);
  const fitting = profileFor(factsOf(read), profiles);
  const sources = { file, env: io.env, hostname: io.hostname, profile: fitting };
  const load: Load = (from) => {
    const loaded = loadConfig(from);
    return { ...loaded, warnings: [...problems, ...loaded.warnings] };
  };
  const first = load(sources);
  const named = first.config.board.profile;
  if (named === undefined || named === fitting?.id)
    return { ...withRemote(sources, first, { load, recordIn }), profile: fitting };
  const profile = profiles.find(({ id }) => id === named);
  if (!profile)
    throw new ConfigError([
      `board.profile: there is no profile ${named}; siteward profile list names them`,
      ...problems,
    ]);
  const again = { ...sources, profile };
  return { ...withRemote(again, load(again), { load, recordIn }), profile };
}

/** Installed profiles are in profiles.d; in the source tree they are in firmware-profiles. */
export function profilesOf({ home }: Pick<Io, "home">): Profiles {
  const installed = join(home, "profiles.d");
  return readProfiles(existsSync(installed) ? installed : join(home, "firmware-profiles"), ownProfiles);
}

/** The facts that select a profile. */
export function factsOf(read: ReadFact): BoardFacts {
  const ram = ramBytes(read);
  return { compatible: compatibles(read), ramMiB: ram && Math.round(ram / 2 ** 20) };
}

type Load = (sources: Sources) => Loaded;

/** Fleet settings that no longer fit the board's own are left out, with a warning. */
function withRemote(
  sources: Sources,
  own: Loaded,
  { load, recordIn }: { readonly load: Load; readonly recordIn: (folder: string) => RemoteRecord },
) {
  const { remote: may, state } = own.config;
  const remote = may.enabled ? inForce(recordIn(state.folder)) : undefined;
  if (!remote) return { ...own, remoteVersion: undefined };
  const { version } = remote;
  try {
    const faults = judgeRemote(remote.config, may.locked).map(({ path, code }) => `${path}: ${code}`);
    if (faults.length > 0) throw new ConfigError(faults);
    return { ...load({ ...sources, remote }), remoteVersion: version };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const warning = `the fleet's settings, version ${version}, are left out: ${error.problems.join("; ")}`;
    return { ...own, warnings: [...own.warnings, warning], remoteVersion: undefined };
  }
}
