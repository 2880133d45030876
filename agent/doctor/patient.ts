import type { Ambient } from "../base/ambient.ts";
import type { Profile } from "../board/profile/profile.ts";
import type { BoardFiles } from "../board/sensors/board-files.ts";
import type { Loaded } from "../config/load.ts";
import type { LeftOut } from "../config/remote-fit.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { ApiProbe } from "./api-probe.ts";
import type { RunProgram } from "./programs.ts";

/** Everything that the checks read: this board, its configuration, and the last status of its agent. */
export interface Patient {
  readonly ambient: Ambient;
  readonly signal: AbortSignal;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: BoardFiles;
  readonly program: RunProgram;
  /** The folder of credentials and trusted keys: /etc/siteward. */
  readonly etc: string;
  readonly configuration:
    | { readonly loaded: Loaded & { readonly profile: Profile | undefined; readonly leftOut: LeftOut | undefined } }
    | { readonly problems: readonly string[] };
  /** The agent's last status; undefined if there is no readable one. `isFresh`: the agent is running. */
  readonly status: SeenStatus | undefined;
  /** Access to the API server; undefined if the configuration cannot be read. */
  readonly api: ApiProbe | undefined;
}

/** The patient's configuration; undefined if it cannot be read. */
export const configOf = ({ configuration }: Patient): Config | undefined =>
  "loaded" in configuration ? configuration.loaded.config : undefined;

interface SeenStatus {
  readonly status: Status;
  readonly isFresh: boolean;
  /** Why the agent is not running; absent if it is. `isGone`: its process has ended; otherwise it hangs. */
  readonly stale?: { readonly why: string; readonly isGone: boolean };
}
