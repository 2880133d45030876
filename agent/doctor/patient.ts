import type { Ambient } from "../base/ambient.ts";
import type { BoardFiles } from "../board/board-files.ts";
import type { Profile } from "../board/profile.ts";
import type { Loaded } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { ApiProbe } from "./api-probe.ts";
import type { RunProgram } from "./programs.ts";

/** What the checks look at: this board, its configuration, and what its agent last said. All of it can be played. */
export interface Patient {
  readonly ambient: Ambient;
  readonly signal: AbortSignal;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: BoardFiles;
  readonly program: RunProgram;
  /** /etc/siteward: credentials and trusted keys lie in it. */
  readonly etc: string;
  readonly configuration:
    | { readonly loaded: Loaded & { readonly profile: Profile | undefined } }
    | { readonly problems: readonly string[] };
  /** The last status of the agent; undefined: it left none that can be read. */
  readonly status: { readonly status: Status; readonly isFresh: boolean } | undefined;
  readonly api: ApiProbe | undefined;
}

export const configOf = ({ configuration }: Patient): Config | undefined =>
  "loaded" in configuration ? configuration.loaded.config : undefined;
