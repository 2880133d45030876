import { ConfigError } from "../base/errors.ts";
import type { LeftOut } from "../config/remote-fit.ts";
import { blank, type Fault, type Kept, type RemoteRecord } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import { leftOutText } from "../fleet/configuration/config-problems.ts";
import type { LoadedConfig } from "./load-config.ts";
import { userMessageOf } from "./user-message.ts";

/**
 * The effect of a reload. level: only the log level changed, which a running agent can apply. other: the agent must be
 * restarted within this process. refused: the new configuration is invalid, or would leave out fleet settings that are
 * in force; the previous one remains in force.
 */
export type ConfigChange = "nothing" | "level" | "other" | "refused";

export interface ConfigInForceDeps {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again, with the fleet's settings as stored or as given. Throws a ConfigError. */
  readonly load: (fleet?: RemoteRecord) => LoadedConfig;
}

/** The configuration in force, which reloads may change. An invalid one never replaces it. */
export class ConfigInForce {
  readonly #load: ConfigInForceDeps["load"];
  #loaded: LoadedConfig;
  /** The configuration to return to if the agent cannot start with the current one. */
  #former: LoadedConfig | undefined;
  #refused: readonly string[] = [];

  constructor({ loaded, load }: ConfigInForceDeps) {
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

  /** Reads the configuration again. `isProven`: whether an agent has started with the configuration in force. */
  reload(isProven: boolean): ConfigChange {
    let next: LoadedConfig;
    try {
      next = this.#load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#refused = error.problems;
      return "refused";
    }
    const before = this.#loaded;
    if (next.leftOut && isLessOf(next.leftOut, before.leftOut)) {
      this.#refused = [leftOutText(next.leftOut)];
      return "refused";
    }
    this.#refused = [];
    this.#loaded = next;
    const change = changeOf(before.config, next.config);
    if (change === "other" && isProven) this.#former = before;
    return change;
  }

  /**
   * Returns to the previous configuration, because the agent cannot start with the current one. Returns false if there
   * is no previous one.
   */
  goBack(because: unknown): boolean {
    if (!this.#former) return false;
    this.#refused = because instanceof ConfigError ? because.problems : [userMessageOf(because).message];
    this.#loaded = this.#former;
    this.#former = undefined;
    return true;
  }

  /** The faults of the fleet settings on this board; empty if all of them can take effect. */
  faultsOf(remote: Kept): readonly Fault[] {
    return this.#load({ ...blank, current: remote }).leftOut?.faults ?? [];
  }
}

/** Whether the new configuration would leave out a setting of the fleet that is in force now. */
const isLessOf = ({ faults }: LeftOut, before: LeftOut | undefined): boolean =>
  faults.some(({ path }) => !before?.faults.some((known) => known.path === path));

function changeOf(before: Config, after: Config): Exclude<ConfigChange, "refused"> {
  const rest = ({ log: { level: _, ...log }, ...config }: Config): string => JSON.stringify({ ...config, log });
  if (rest(before) !== rest(after)) return "other";
  return before.log.level === after.log.level ? "nothing" : "level";
}
