import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Level } from "../../base/logger.ts";
import type { Effect } from "./controls.ts";

export interface DiagnosticsOptions {
  readonly sections: readonly string[] | undefined;
  readonly logsSince: Millis | undefined;
  /** HTTPS PUT target of the archive. Its host has been checked against the policy. */
  readonly upload: URL | undefined;
}

/** Where a setting's value comes from. */
export type Source = "default" | "profile" | "file" | "remote" | "environment";

/**
 * What commands need of the receiving board. Members that do not run here are `undefined`; their commands answer 404.
 */
export interface BoardControls {
  readonly version: string;
  readonly bootId: string;
  uptime(): Millis;
  /** The status document, at most 32 KiB; the summary has only a few of its members. undefined: none exists yet. */
  status(detail: "summary" | "full"): JsonRecord | undefined;
  /** The version of the desired configuration in force. */
  configVersion(): number | undefined;
  /** The settings in force by dotted path, secrets redacted, each with its source. */
  config(source: Source | undefined): JsonRecord;
  /** The capabilities of this agent; also publishes the birth message again if there is a fleet. */
  announce(): JsonRecord;
  /**
   * `undefined` restores the configured level. `component` limits the level to one controller or one resource's cache.
   */
  setLogLevel(level: Level | undefined, component?: string): void;
  readonly collectDiagnostics:
    | ((options: DiagnosticsOptions, progress: (done: JsonRecord) => void, signal: AbortSignal) => Promise<Effect>)
    | undefined;
  compact(vacuum: boolean, dryRun: boolean): Promise<Effect>;
  /** Asks the process to end and be started again; the next process sends the answer. */
  restart(cause: string): void;
  reloadCredentials(dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  readonly applyConfig: ((version: number, canary: Millis | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
  readonly rollbackConfig: ((toVersion: number | undefined, dryRun: boolean) => Promise<Effect>) | undefined;
}
