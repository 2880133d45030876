import { ConfigError } from "../base/errors.ts";
import { blank, type Kept, type RemoteRecord } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import type { LoadedConfig } from "./load-config.ts";
import { toldOf } from "./told-of.ts";

/**
 * level: only the log level changed, which applies to a running agent. other: a new life has to begin. refused: the
 * former configuration stays.
 */
export type Change = "nothing" | "level" | "other" | "refused";

export interface ConfigParts {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again, with the fleet's settings as stored or as given. Throws a ConfigError. */
  readonly load: (fleet?: RemoteRecord) => LoadedConfig;
}

/** The configuration of a process over its changes. An invalid new one never replaces the old one. */
export class ConfigInForce {
  readonly #load: ConfigParts["load"];
  #loaded: LoadedConfig;
  /** The configuration before the last change, until the new one has proved itself. */
  #former: LoadedConfig | undefined;
  #refused: readonly string[] = [];

  constructor({ loaded, load }: ConfigParts) {
    this.#loaded = loaded;
    this.#load = load;
  }

  get loaded(): LoadedConfig {
    return this.#loaded;
  }

  get config(): Config {
    return this.#loaded.config;
  }

  /** The problems of the last configuration that was refused. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** `isProven`: a life has begun with the configuration in force. */
  reload(isProven: boolean): Change {
    let next: LoadedConfig;
    try {
      next = this.#load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#refused = error.problems;
      return "refused";
    }
    const before = this.#loaded;
    this.#refused = [];
    this.#loaded = next;
    const change = changeOf(before.config, next.config);
    if (change === "other" && isProven) this.#former = before;
    return change;
  }

  /** Restores the configuration before the last change, if any, because no life could begin with the new one. */
  goBack(because: unknown): boolean {
    if (!this.#former) return false;
    this.#refused = because instanceof ConfigError ? because.problems : [toldOf(because).message];
    this.#loaded = this.#former;
    this.#former = undefined;
    return true;
  }

  /** Why settings of the fleet conflict with this board's own; empty: they do not. */
  problemsWith(remote: Kept): readonly string[] {
    const { remoteVersion, warnings } = this.#load({ ...blank, current: remote });
    return remoteVersion === remote.version ? [] : warnings.slice(-1);
  }
}

function changeOf(before: Config, after: Config): Exclude<Change, "refused"> {
  const rest = ({ log: { level: _, ...log }, ...config }: Config): string => JSON.stringify({ ...config, log });
  if (rest(before) !== rest(after)) return "other";
  return before.log.level === after.log.level ? "nothing" : "level";
}
