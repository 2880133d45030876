import type { DecisionRange } from "../../../storage/decision-log.ts";
import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { LogLevel } from "../../base/logger.ts";
import type { Effect } from "./controls.ts";

export interface DiagnosticsOptions {
  /** Sections to collect; undefined for all. */
  readonly sections: readonly string[] | undefined;
  /** How far back log lines are included; undefined for the default. */
  readonly logsSince: Millis | undefined;
  /** HTTPS PUT target for the archive, on a host that the policy allows; undefined if the archive is not uploaded. */
  readonly upload: URL | undefined;
}

/** Where a setting's value comes from. */
export type Source = "default" | "profile" | "file" | "remote" | "environment";

/**
 * The operations of this board that commands use. An operation is undefined if this agent has no such component; its
 * commands answer 404.
 */
export interface BoardControls {
  readonly version: string;
  readonly bootId: string;
  uptime(): Millis;
  /** The status document, shortened to at most 32 KiB, or a summary of it; undefined if there is none yet. */
  status(detail: "summary" | "full"): JsonRecord | undefined;
  /**
   * This board's decision records, oldest first: those of one pod, or of a Node and its pods, as named by `about`;
   * without `about`, the newest of all. At most 30 KiB.
   */
  decisions(about: string | undefined, most: number, range?: DecisionRange): JsonRecord;
  /** The version of the fleet's configuration in force; undefined if there is none. */
  configVersion(): number | undefined;
  /** The settings in force by dotted path, with secrets redacted, each with its source. */
  config(source: Source | undefined): JsonRecord;
  /** The capabilities of this agent; also publishes the birth message again if there is a fleet. */
  announce(): JsonRecord;
  /**
   * Sets the log level; `undefined` restores the configured one. `component` is a controller, or the resource of a
   * cache; without it the level applies to everything.
   */
  setLogLevel(level: LogLevel | undefined, component?: string): void;
  readonly collectDiagnostics:
    | ((options: DiagnosticsOptions, progress: (done: JsonRecord) => void, signal: AbortSignal) => Promise<Effect>)
    | undefined;
  compact(vacuum: boolean, dryRun: boolean): Promise<Effect>;
  /** Asks the process to restart; the next process sends the answer. */
  restart(cause: string): void;
  reloadCredentials(dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  readonly applyConfig: ((version: number, canary: Millis | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
  readonly rollbackConfig: ((toVersion: number | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
}
