import { join } from "node:path";
import { compatibles, type ReadFact, ramBytes } from "../board/facts.ts";
import { type Profile, profileFor, readProfiles } from "../board/profile.ts";
import { readFact } from "../board/read-fact.ts";
import { type Loaded, loadConfig } from "../config/load.ts";
import type { Io } from "./io.ts";

export const ownProfiles = "/etc/siteward/profiles.d";

/** The configuration of this board with the firmware profile that fits it. Throws a ConfigError with every problem. */
export function configOf(
  io: Pick<Io, "env" | "hostname" | "home">,
  file: string | undefined,
  read: ReadFact = readFact,
): Loaded & { readonly profile: Profile | undefined } {
  const ram = ramBytes(read);
  const board = { compatible: compatibles(read), ramMiB: ram && Math.round(ram / 2 ** 20) };
  const profile = profileFor(board, readProfiles([join(io.home, "firmware-profiles"), ownProfiles]));
  return { ...loadConfig({ file, env: io.env, hostname: io.hostname, profile }), profile };
}
