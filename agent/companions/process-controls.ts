import type { Instant } from "../base/clock.ts";
import type { LogLevel } from "../base/logger.ts";
import type { Loaded } from "../config/load.ts";
import type { LeftOut } from "../config/remote-fit.ts";
import type { Fault, Kept } from "../config/remote-record.ts";

/** Why a process ended. */
export interface Ending {
  /** One of stop, memory, storage, command, failure, watchdog, unclean. */
  readonly cause: string;
  /** The reason in words. */
  readonly message?: string | undefined;
}

/** The process that ran before this one in the same boot. */
export interface PreviousProcess {
  readonly version: string;
  readonly ending: Ending;
}

/**
 * The outcome of reading the configuration again. unchanged: the settings are the same. taken: the new settings are in
 * force now. begins: the agent is being restarted within this process with the new settings. refused: the new settings
 * are invalid or would keep some of the fleet's from taking effect, so the previous ones stay in force.
 */
export type Reload =
  | { readonly outcome: "unchanged" | "taken" | "begins" }
  | { readonly outcome: "refused"; readonly problems: readonly string[] };

/** The settings in force. */
export interface InForce extends Pick<Loaded, "config" | "origins"> {
  /** The version of the fleet's settings if all of them are in force; undefined otherwise. */
  readonly remoteVersion: number | undefined;
  /** Stored fleet settings that are not in force; undefined if there are none. */
  readonly leftOut: LeftOut | undefined;
}

/** Operations on the process that runs the agent, for companions. */
export interface ProcessControls {
  readonly loaded: InForce;
  readonly startedAt: Instant;
  /** The process before this one; undefined if there was none in this boot, or it left no record. */
  readonly previous: PreviousProcess | undefined;
  /** The faults of the fleet settings on this board; empty if all of them can take effect. */
  faultsOf(remote: Kept): readonly Fault[];
  /**
   * Sets the log level until the next call or the end of the process; undefined restores the configured level.
   * `component`: the controller or resource to set it for; undefined for all.
   */
  setLogLevel(level: LogLevel | undefined, component?: string): void;
  /** Shuts the process down cleanly; the service manager starts another one. */
  restart(ending: Ending): void;
  /** Reloads the configuration, as SIGHUP does. */
  reload(): Reload;
  /**
   * Reads the API credentials again and uses them for the next connection. If they are unusable, keeps the current
   * connection and returns the reason.
   */
  reloadCredentials(): Promise<string | undefined>;
}
