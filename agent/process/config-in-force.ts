import { ConfigError } from "../base/errors.ts";
import { blank, type Kept, type RemoteRecord } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import type { LoadedConfig } from "./load-config.ts";
import { toldOf } from "./told-of.ts";

/** nothing; level: what can be taken over while the agent runs; other: a life has to begin with it. refused: it stays as it was. */
export type Change = "nothing" | "level" | "other" | "refused";

export interface ConfigParts {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again, with what the fleet has set or with something else in its place. Throws a ConfigError. */
  readonly load: (fleet?: RemoteRecord) => LoadedConfig;
}

/** The configuration of a process over its changes. What is wrong in a new one never takes the old one away. */
export class ConfigInForce {
  readonly #load: ConfigParts["load"];
  #loaded: LoadedConfig;
  /** What was in force before the last change, for as long as that has not proved itself. */
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

  /** Why what was to be taken over was not. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** `isProven`: a life has begun with what is in force. */
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

  /** What was in force before is again, where there is something: with this one nothing could begin. */
  goBack(because: unknown): boolean {
    if (!this.#former) return false;
    this.#refused = because instanceof ConfigError ? because.problems : [toldOf(because).message];
    this.#loaded = this.#former;
    this.#former = undefined;
    return true;
  }

  /** Why settings of the fleet do not go together with this board's own; nothing: they do. */
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
