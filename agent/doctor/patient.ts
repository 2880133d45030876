import type { Ambient } from "../base/ambient.ts";
import type { BoardFiles } from "../board/board-files.ts";
import type { Profile } from "../board/profile.ts";
import type { Loaded } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { ApiProbe } from "./api-probe.ts";
import type { RunProgram } from "./programs.ts";

/**
 * Everything the checks read: this board, its configuration, and its agent's last status. Tests can replace all of it.
 */
export interface Patient {
  readonly ambient: Ambient;
  readonly signal: AbortSignal;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: BoardFiles;
  readonly program: RunProgram;
  /** /etc/siteward, with credentials and trusted keys. */
  readonly etc: string;
  readonly configuration:
    | { readonly loaded: Loaded & { readonly profile: Profile | undefined } }
    | { readonly problems: readonly string[] };
  /** The agent's last status; undefined: none that can be read. */
  readonly status: { readonly status: Status; readonly isFresh: boolean } | undefined;
  readonly api: ApiProbe | undefined;
}

export const configOf = ({ configuration }: Patient): Config | undefined =>
  "loaded" in configuration ? configuration.loaded.config : undefined;
