import type { Instant } from "../base/clock.ts";
import type { Level } from "../base/logger.ts";
import type { Loaded } from "../config/load.ts";
import type { Kept } from "../config/remote-record.ts";

/** Why a process ends: a word for programs, and a sentence. */
export interface Ending {
  /** stop, memory, storage, command, failure, watchdog, unclean */
  readonly cause: string;
  readonly message?: string | undefined;
}

/** The process before this one, in the same boot. */
export interface PreviousProcess {
  readonly version: string;
  readonly ending: Ending;
}

/**
 * unchanged: it says what is in force. taken: in force now. begins: the life of the agent ends in good order, and another
 * one begins with it. refused: what was in force stays.
 */
export type Reload =
  | { readonly outcome: "unchanged" | "taken" | "begins" }
  | { readonly outcome: "refused"; readonly problems: readonly string[] };

/** Settings that are in force. A level of the log changes without a new life, and so may the number of the fleet's settings. */
export interface InForce extends Pick<Loaded, "config" | "origins"> {
  /** The number of the fleet's settings. */
  readonly remoteVersion: number | undefined;
}

/** What a part beside the agent may ask of the process that it lives in. */
export interface ProcessControls {
  readonly loaded: InForce;
  readonly startedAt: Instant;
  /** Undefined: there was none in this boot, or it left no word. */
  readonly previous: PreviousProcess | undefined;
  /** Why settings of the fleet do not go together with this board's own; nothing: they do. */
  problemsWith(remote: Kept): readonly string[];
  /** Undefined: as configured. Holds until the process ends, or the next call. `component`: a controller, or a resource. */
  setLogLevel(level: Level | undefined, component?: string): void;
  /** Ends in good order; the supervisor starts the next process. */
  restart(ending: Ending): void;
  /** Reads the configuration again, as SIGHUP does. */
  reload(): Reload;
  /** Reads the credentials for the API again, for the next connection. What is wrong with them, in a sentence: then the old connection stays. */
  reloadCredentials(): Promise<string | undefined>;
}
