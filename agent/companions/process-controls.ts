import type { Instant } from "../base/clock.ts";
import type { Level } from "../base/logger.ts";
import type { Loaded } from "../config/load.ts";
import type { Kept } from "../config/remote-record.ts";

/** Why a process ended: a machine-readable cause and a sentence. */
export interface Ending {
  /** stop, memory, storage, command, failure, watchdog, unclean */
  readonly cause: string;
  readonly message?: string | undefined;
}

/** The previous process in the same boot. */
export interface PreviousProcess {
  readonly version: string;
  readonly ending: Ending;
}

/**
 * unchanged: the settings equal those in force. taken: in force now. begins: this run of the agent ends in good order,
 * and another starts with the new settings. refused: the former settings stay.
 */
export type Reload =
  | { readonly outcome: "unchanged" | "taken" | "begins" }
  | { readonly outcome: "refused"; readonly problems: readonly string[] };

/** Settings in force. The log level changes without a new run, and so may the version of the fleet's settings. */
export interface InForce extends Pick<Loaded, "config" | "origins"> {
  /** Version of the fleet's settings. */
  readonly remoteVersion: number | undefined;
}

/** Operations of the enclosing process for companions. */
export interface ProcessControls {
  readonly loaded: InForce;
  readonly startedAt: Instant;
  /** undefined: there was none in this boot, or it left no record. */
  readonly previous: PreviousProcess | undefined;
  /** Why the fleet's settings conflict with this board's own; empty: they do not. */
  problemsWith(remote: Kept): readonly string[];
  /**
   * undefined: the configured level. Holds until the process ends or the next call. `component`: a controller or a
   * resource.
   */
  setLogLevel(level: Level | undefined, component?: string): void;
  /** Ends the process in good order; the service manager starts the next one. */
  restart(ending: Ending): void;
  /** Reloads the configuration, as SIGHUP does. */
  reload(): Reload;
  /**
   * Reloads the API credentials for the next connection. Returns what is wrong with them; then the old connection
   * stays.
   */
  reloadCredentials(): Promise<string | undefined>;
}
