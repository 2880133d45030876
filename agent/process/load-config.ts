import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import type { Io } from "../base/io.ts";
import { compatibles, type ReadFact, ramBytes } from "../board/facts.ts";
import { type BoardFacts, type Profile, type Profiles, profileFor, readProfiles } from "../board/profile/profile.ts";
import { readFact } from "../board/read-fact.ts";
import { etc, type Loaded, loadConfig, type Sources } from "../config/load.ts";
import { readRemote } from "../config/remote-file.ts";
import { fitRemote, type LeftOut } from "../config/remote-fit.ts";
import { blank, inForce, type RemoteRecord } from "../config/remote-record.ts";

/** The default folder of the agent's status and socket. */
export const runFolder = ({ env }: Pick<Io, "env">): string => env.SITEWARD_RUN_FOLDER || "/run/siteward";

/** The folder for profiles added by an operator, which upgrades do not change. */
export const ownProfiles = `${etc}/profiles.d`;

export interface LoadedConfig extends Loaded {
  readonly profile: Profile | undefined;
  /** The version of the fleet's settings if all of them are in force; otherwise undefined. */
  readonly remoteVersion: number | undefined;
  /** Stored fleet settings that are not in force; undefined if there are none. */
  readonly leftOut: LeftOut | undefined;
}

/** The configuration of this board, with its board profile. Throws a ConfigError with all problems. */
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
      `board.profile: there is no profile ${named}; siteward profile list shows all of them`,
      ...problems,
    ]);
  const again = { ...sources, profile };
  return { ...withRemote(again, load(again), { load, recordIn }), profile };
}

/**
 * All profiles: the installed ones in profiles.d (in a source tree: firmware-profiles), and those added by an operator.
 */
export function profilesOf({ home }: Pick<Io, "home">): Profiles {
  const installed = join(home, "profiles.d");
  return readProfiles(existsSync(installed) ? installed : join(home, "firmware-profiles"), ownProfiles);
}

/** The facts by which a profile is selected. */
export function factsOf(read: ReadFact): BoardFacts {
  const ram = ramBytes(read);
  return { compatible: compatibles(read), ramMiB: ram && Math.round(ram / 2 ** 20) };
}

type Load = (sources: Sources) => Loaded;

/** Adds the fleet settings that are compatible with this board's own settings. */
function withRemote(
  sources: Sources,
  own: Loaded,
  { load, recordIn }: { readonly load: Load; readonly recordIn: (folder: string) => RemoteRecord },
) {
  const { remote: may, state } = own.config;
  const record = may.enabled ? recordIn(state.folder) : blank;
  const remote = inForce(record);
  if (!remote) return { ...own, remoteVersion: undefined, leftOut: allLeftOut(record) };
  const { loaded, leftOut } = fitRemote(remote, {
    locked: may.locked,
    load: (fleet) => load({ ...sources, remote: fleet }),
  });
  return { ...loaded, remoteVersion: leftOut ? undefined : remote.version, leftOut };
}

function allLeftOut({ lost }: RemoteRecord): LeftOut | undefined {
  if (lost === undefined) return undefined;
  return { version: undefined, faults: [{ path: "", code: "not-stored", message: lost }] };
}
